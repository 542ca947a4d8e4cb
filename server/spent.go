package server

import (
	"errors"
	"math"
	"time"

	"go.uber.org/zap"
)

// The protocol counts a run's ticks in 32 bits: 828 days at 60 Hz. They never wrap;
// the run ends before, and the next one begins below half of them.
const (
	// lastRunTick leaves room for the inputs that are for later ticks.
	lastRunTick = math.MaxUint32 - 1<<16
	// spentAnnounced is for how long the end is announced, once a day.
	spentAnnounced = 30 * 24 * time.Hour
)

// ErrTicksSpent is the end of a run that has made all ticks that the protocol can
// count. The server's next run, from its image, has as many again.
var ErrTicksSpent = errors.New("server: the run has made all ticks that the protocol can count: start the server again, from its image")

// tickBase is what to take off a world's ticks in a run that begins at the given
// one: nothing for most worlds, so that clients and logs name the same ticks, and
// else so much that at least half of the numbers are left.
func tickBase(tick uint64) uint64 { return tick &^ (1<<31 - 1) }

// TicksLeft is for how many more ticks the run can go on. At 0 all sessions are
// ended, with Draining, and nobody may join; a Server ends then.
func (c *Core) TicksLeft() uint64 {
	made := c.world.Tick() - c.replicator.Config().TickBase
	return lastRunTick - min(made, lastRunTick)
}

// announce warns of the end of the run, once a day in its last month.
func (l *loop) announce(left uint64) {
	hz := uint64(l.core.world.TickHz())
	if day := 24 * 3600 * hz; left <= uint64(spentAnnounced.Seconds())*hz && left%day == 0 {
		l.log.Warn("the protocol's ticks are nearly used up, and then the server ends: start it again, from its image, at a time of your choice",
			zap.Duration("left", time.Duration(left/hz)*time.Second))
	}
}
