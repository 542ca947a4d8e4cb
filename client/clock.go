package client

import (
	"math"
	"time"
)

// Clock is what a client knows of the server's time. Times that the estimate is
// made of are those that the caller passes in, so that it can be replayed.
type Clock struct {
	// RTT is the least round trip of the last four seconds: from an Input sent
	// to the snapshot that echoes it, less the time that the server held it.
	RTT time.Duration
	// Jitter is by how much snapshots come later than the swiftest did, on
	// average.
	Jitter time.Duration
	// Tick is the tick that the server is at, fractions included; 0 before the
	// first snapshot. It runs evenly: what is learned of it moves it by at most
	// a sixteenth of the time that passes, unless it is wrong by more than a
	// quarter second.
	Tick float64
	// TickHz is how many ticks a second has.
	TickHz float64
}

const (
	// slewShare is the part of passing time by which the clock is put right.
	slewShare = 16
	// stepAbove is the error from which on it is put right at once: after the
	// server stood still, say.
	stepAbove = 250 * time.Millisecond
	// lostAbove is the lateness of a snapshot from which on the earlier ones say
	// nothing of the present.
	lostAbove = 500 * time.Millisecond
	// jitterShare is the weight of the newest lateness in Jitter, as in RTP.
	jitterShare = 16
	// apartShare is the weight of the newest two snapshots in how far they are apart.
	apartShare = 8
)

// clock estimates the server's time from when snapshots arrive. A snapshot that
// waited in no queue took half the least round trip; which did not is told by
// the least of what arrival and tick differ by (as NTP's clock filter takes the
// sample of the least delay).
type clock struct {
	hz      int
	trips   leastOf
	early   leastOf       // arrivals less the times of their ticks
	offset  time.Duration // the caller's time less the server's, when a snapshot
	updated time.Duration // arrived last
	wrong   time.Duration // how wrong offset was found then
	jitter  time.Duration
	tick    uint32        // newest of which a snapshot arrived; 0: none
	apart   time.Duration // the server's time between two snapshots, on average
}

// timeOf is the server's time of a tick.
func (c *clock) timeOf(tick uint32) time.Duration {
	return time.Duration(uint64(tick) * uint64(time.Second) / uint64(c.hz))
}

// ticks is a time in ticks.
func (c *clock) ticks(t time.Duration) float64 {
	return t.Seconds() * float64(c.hz)
}

// offsetAt is the offset at now: it is put right as time passes.
func (c *clock) offsetAt(now time.Duration) time.Duration {
	most := max(now-c.updated, 0) / slewShare
	return c.offset + min(max(c.wrong, -most), most)
}

// server is the server's time at now.
func (c *clock) server(now time.Duration) time.Duration { return now - c.offsetAt(now) }

// trip takes a measured round trip.
func (c *clock) trip(now, trip time.Duration) { c.trips.add(now, trip) }

// snapshot takes the arrival of a snapshot.
func (c *clock) snapshot(now time.Duration, tick uint32) {
	behind := now - c.timeOf(tick)
	if c.tick != 0 && behind-c.early.least() > lostAbove {
		c.early = leastOf{}
	}
	c.early.add(now, behind)
	late := behind - c.early.least()
	c.jitter += (late - c.jitter) / jitterShare
	c.offset, c.updated = c.offsetAt(now), now
	c.wrong = c.early.least() - c.trips.least()/2 - c.offset
	if c.tick == 0 || c.wrong.Abs() > stepAbove {
		c.offset, c.wrong = c.offset+c.wrong, 0
	}
	if c.tick != 0 && tick > c.tick {
		c.apart += (c.timeOf(tick-c.tick) - c.apart) / apartShare
	}
	c.tick = max(c.tick, tick)
}

// estimate is the clock at now.
func (c *clock) estimate(now time.Duration) Clock {
	e := Clock{RTT: c.trips.least(), Jitter: c.jitter, TickHz: float64(c.hz)}
	if c.tick != 0 {
		e.Tick = max(c.ticks(c.server(now)), 0)
	}
	return e
}

const (
	leastSlots = 8
	leastSlot  = 500 * time.Millisecond
)

// leastOf is the least value of the last four seconds, to half a second.
type leastOf struct {
	values [leastSlots]time.Duration
	newest int64 // number of the newest slot, counted by time
	any    bool
}

func (l *leastOf) add(now, v time.Duration) {
	slot := int64(now / leastSlot)
	if !l.any || slot-l.newest >= leastSlots {
		l.any, l.newest = true, slot
		for i := range l.values {
			l.values[i] = math.MaxInt64
		}
	}
	for l.newest < slot {
		l.newest++
		l.values[l.newest%leastSlots] = math.MaxInt64
	}
	at := &l.values[l.newest%leastSlots]
	*at = min(*at, v)
}

// least is 0 before the first value.
func (l *leastOf) least() time.Duration {
	if !l.any {
		return 0
	}
	least := l.values[0]
	for _, v := range l.values[1:] {
		least = min(least, v)
	}
	return least
}
