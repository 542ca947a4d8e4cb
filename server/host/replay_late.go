package host

import (
	"fmt"
	"time"

	"github.com/worldd/worldd/world"
)

// lateness sums up which ticks of a recording began late on the server that recorded it.
type lateness struct {
	ticks   int
	longest time.Duration
	at      uint64 // tick of longest
	unknown bool   // the recording does not say
}

// addTick adds the newest tick of a replay, and returns how late it began.
func (l *lateness) addTick(r *world.Replay, tick uint64) time.Duration {
	by, known := r.Late()
	l.unknown = !known
	if by > 0 {
		l.ticks++
	}
	if by > l.longest {
		l.longest, l.at = by, tick
	}
	return by
}

// String implements fmt.Stringer.
func (l lateness) String() string {
	switch {
	case l.unknown:
		return "unknown: an earlier version made this recording, and did not note them"
	case l.ticks == 0:
		return "none"
	}
	return fmt.Sprintf("%d, worst %v at tick %d", l.ticks, l.longest, l.at)
}
