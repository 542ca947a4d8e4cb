package client

import "time"

const (
	// maxDelay bounds how far in the past frames are, whatever the link does,
	// and so the states that are kept for them.
	maxDelay = 500 * time.Millisecond
	// The clock of the frames runs slower or faster by at most these parts of
	// passing time while its delay changes. A player sees a slow world sooner
	// than a stuttering one; but a world that has nothing to show stutters.
	slowShare = 4
	fastShare = 10
)

// renderer is the clock of the frames that a game shows. It lags behind the
// server's by as much as snapshots need to arrive, and never goes back (C4).
type renderer struct {
	on      bool
	delay   allowance
	shown   time.Duration // the server's time of the newest frame
	updated time.Duration
}

// snapshot takes the arrival of the first snapshot of a tick. Until then the one
// before was the newest: frames that lag by less had nothing to move towards.
// What is late, lost, or sent seldom counts alike.
func (r *renderer) snapshot(now time.Duration, c *clock, before uint32) {
	if before != 0 {
		r.delay.add(now, min(c.server(now)-c.timeOf(before), maxDelay))
	}
}

// frame moves the clock to now and returns the server's time to show.
func (r *renderer) frame(now time.Duration, c *clock) time.Duration {
	target := c.server(now) - r.delay.value
	passed := max(now-r.updated, 0)
	r.updated = now
	ahead := r.shown + passed - target
	switch {
	case !r.on:
		r.on, r.shown = true, target
	case ahead < -maxDelay: // too far to be caught up with
		r.shown = target
	case ahead > maxDelay: // the server's time went back: wait for it
	default:
		r.shown += passed - min(max(ahead, -passed/fastShare), passed/slowShare)
	}
	return r.shown
}
