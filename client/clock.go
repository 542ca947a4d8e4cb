package client

import (
	"math"
	"time"
)

// Clock is the estimate of the server's time. It depends only on the times that the
// caller passes in, so it can be replayed.
type Clock struct {
	// RTT is the least round trip of the last four seconds: the time from sending an Input to
	// the arrival of the snapshot that echoes it, minus the time that the server held it.
	RTT time.Duration
	// Jitter is the mean delay of snapshots beyond the fastest one.
	Jitter time.Duration
	// Tick is the server's current tick, with fractions; 0 before the first snapshot.
	// It advances evenly: corrections slew by at most a sixteenth of passing time,
	// and step only if the error exceeds a quarter second.
	Tick float64
	// TickHz is the tick rate in Hz.
	TickHz float64
}

const (
	// slewShare is the part of passing time by which the clock is corrected.
	slewShare = 16
	// stepAbove is the error above which the clock steps, for example after a server stall.
	stepAbove = 250 * time.Millisecond
	// lostAbove is the lateness of a snapshot that invalidates earlier arrivals.
	lostAbove = 500 * time.Millisecond
	// jitterShare is the inverse weight of the newest lateness in Jitter, as in RTP.
	jitterShare = 16
	// intervalShare is the inverse weight of the newest snapshot interval.
	intervalShare = 8
	// maxTickGap is how far the tick of a held snapshot may be from the newest one, in seconds.
	maxTickGap = 2
)

// clock estimates the server's time from the arrivals of snapshots. A snapshot that waited in
// no queue took half the least round trip. Its difference between arrival and tick is the
// least, as in NTP's clock filter.
type clock struct {
	hz       int
	trips    leastOf
	early    leastOf       // arrival time minus tick time
	behind   time.Duration // arrival time minus tick time of the newest tick
	offset   time.Duration // the caller's time minus the server's, at updated
	updated  time.Duration // when the last snapshot arrived
	wrong    time.Duration // error of offset, found at updated
	jitter   time.Duration
	tick     uint32        // of the newest snapshot; 0: none
	interval time.Duration // mean server time between snapshots
}

func (c *clock) timeOf(tick uint32) time.Duration {
	return time.Duration(uint64(tick) * uint64(time.Second) / uint64(c.hz))
}

func (c *clock) ticksIn(t time.Duration) float64 {
	return t.Seconds() * float64(c.hz)
}

// offsetAt returns the offset at now: the error is slewed away as time passes.
func (c *clock) offsetAt(now time.Duration) time.Duration {
	most := max(now-c.updated, 0) / slewShare
	return c.offset + min(max(c.wrong, -most), most)
}

func (c *clock) serverTime(now time.Duration) time.Duration { return now - c.offsetAt(now) }

func (c *clock) addTrip(now, trip time.Duration) { c.trips.addValue(now, trip) }

// addSnapshot records the arrival of a snapshot of tick.
func (c *clock) addSnapshot(now time.Duration, tick uint32) {
	behind := now - c.timeOf(tick)
	if c.tick != 0 && behind-c.early.leastValue() > lostAbove {
		c.early = leastOf{}
	}
	c.early.addValue(now, behind)
	late := behind - c.early.leastValue()
	c.jitter += (late - c.jitter) / jitterShare
	c.offset, c.updated = c.offsetAt(now), now
	c.wrong = c.early.leastValue() - c.trips.leastValue()/2 - c.offset
	if c.tick == 0 || c.wrong.Abs() > stepAbove {
		c.offset, c.wrong = c.offset+c.wrong, 0
	}
	if tick > c.tick {
		c.behind = behind
	}
	c.tick = max(c.tick, tick)
}

// addInterval records the ticks of two snapshots, one after the other; before is 0 if there was
// none.
func (c *clock) addInterval(before, tick uint32) {
	if before != 0 {
		c.interval += (c.timeOf(tick-before) - c.interval) / intervalShare
	}
}

// isDistant reports whether a held snapshot's tick is far from the newest one: it may be of the
// next room, and have overtaken the Welcome of the move.
func (c *clock) isDistant(tick uint32) bool {
	away := int64(tick) - int64(c.tick)
	return c.tick != 0 && max(away, -away) > maxTickGap*int64(c.hz)
}

func (c *clock) estimateAt(now time.Duration) Clock {
	e := Clock{RTT: c.trips.leastValue(), Jitter: c.jitter, TickHz: float64(c.hz)}
	if c.tick != 0 {
		e.Tick = max(c.ticksIn(c.serverTime(now)), 0)
	}
	return e
}

const (
	leastSlots = 8
	leastSlot  = 500 * time.Millisecond
)

// leastOf measures the least value of the last four seconds, to within half a second.
type leastOf struct {
	values [leastSlots]time.Duration
	newest int64 // number of the newest slot: time / leastSlot
	any    bool
}

func (l *leastOf) addValue(now, v time.Duration) {
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

// leastValue returns the least value, 0 before the first.
func (l *leastOf) leastValue() time.Duration {
	if !l.any {
		return 0
	}
	least := l.values[0]
	for _, v := range l.values[1:] {
		least = min(least, v)
	}
	return least
}
