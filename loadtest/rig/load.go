package rig

import (
	"time"

	"github.com/worldd/worldd/server/session"
)

// Load is other work on the server's machine. The zero value leaves the server enough time.
type Load struct {
	// Stall is the longest stall of the server, and Every the mean time between stalls. After a
	// stall the due ticks follow at once, as many as a server makes up for.
	Stall, Every time.Duration
	// Snapshots is the number of snapshots for which a tick has time, besides overdue ones; 0:
	// all.
	Snapshots int
}

// maxDebtTicks is the number of ticks that a server makes up for after a stall. It skips the
// others.
const maxDebtTicks = 5

// shortage is the effect of Load so far.
type shortage struct {
	until   time.Duration // end of the newest stall
	skipped time.Duration // time of ticks that were skipped
}

// tickTime returns when the next tick is due.
func (r *Rig) tickTime() time.Duration {
	return r.shortage.skipped + time.Duration(r.ticks+1)*time.Second/time.Duration(r.core.World().TickHz())
}

// tick makes the due tick, and may begin a stall.
func (r *Rig) tick(due time.Duration) {
	interval := time.Second / time.Duration(r.core.World().TickHz())
	r.shortage.skipped += max((r.now-due)/interval-maxDebtTicks, 0) * interval
	r.tickCore(r.core)
	for _, c := range r.rooms {
		r.tickCore(c)
	}
	r.ticks++
	if l := r.config.Load; l.Stall > 0 && r.random.Float64() < float64(interval)/float64(l.Every) {
		r.shortage.until = r.now + time.Duration(r.random.Int64N(int64(l.Stall)))
	}
}

func (r *Rig) tickCore(c *session.Core) {
	left := r.config.Load.Snapshots
	c.Receive()
	c.Step()
	c.Send(func() bool {
		left--
		return left < 0 && r.config.Load.Snapshots > 0
	})
}
