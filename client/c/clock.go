package main

import (
	"math"
	"sync"
	"time"
)

// hostClock is the host's clock: at each wd_update it shows the host's time, between them it runs as time does. Packets that
// arrive between two updates are stamped by it. It never goes back.
type hostClock struct {
	mu     sync.Mutex
	begun  bool          // the host has set the clock, and origin is known
	origin float64       // what the host's time is, in seconds, when this clock shows 0
	at     time.Duration // when the host last set it
	since  time.Time     // when that was
	last   time.Duration // the latest time shown
}

// maxSeconds bounds what the clock shows: 30 years. The host's own time may be eight times as much, such as the time of Unix.
const maxSeconds = 1e9

// set sets the clock to the host's time. It returns false if now is no time.
func (c *hostClock) set(now float64) bool {
	if math.IsNaN(now) || math.Abs(now) > 8*maxSeconds {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	shown := c.shown()
	if !c.begun {
		c.begun, c.origin = true, now-shown.Seconds()
	}
	c.at, c.since = max(seconds(now-c.origin), shown), time.Now()
	return true
}

// now returns the time.
func (c *hostClock) now() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.shown()
}

func (c *hostClock) shown() time.Duration {
	c.last = max(c.last, c.at+time.Since(c.since))
	return c.last
}

// seconds converts seconds.
func seconds(s float64) time.Duration {
	return time.Duration(min(max(s, -maxSeconds), maxSeconds) * float64(time.Second))
}
