package server

import (
	"time"

	"go.uber.org/zap"
)

const (
	// snapshotsShare is the part of a tick's time after which it makes no more
	// snapshots. The world's ticks come first: one that is late is late for everybody,
	// and what it is late by adds up. What is left is the transport's, and for what
	// nobody foresees: ticks that end before half of their time are in time on a
	// machine that is busy with something else, too.
	snapshotsShare = 0.45
	// grantedShare is what a tick has for snapshots however late it is: a world that
	// is too slow by itself gains nothing from clients that see less.
	grantedShare = 0.25
	// thinnedShare is the part of all turns from which on missing them is told.
	thinnedShare = 1.0 / 16
	// calmSeconds is how long next to none may be missed before that is told.
	calmSeconds = 2
)

// snapshotsUntil is when a tick that has stepped the world leaves off making
// snapshots, if the next one is due then.
func snapshotsUntil(next, stepped time.Time, interval time.Duration) time.Time {
	until := next.Add(-time.Duration((1 - snapshotsShare) * float64(interval)))
	if granted := stepped.Add(time.Duration(grantedShare * float64(interval))); granted.After(until) {
		return granted
	}
	return until
}

// pace is how many snapshots clients are sent, second by second.
type pace struct {
	full, hz      float64 // a second: if there is time for all, and in the last one
	turns, missed uint64  // until then
	thinned       bool    // as was told
	calm          int     // seconds since turns were missed
}

// second takes the counters of turns, and says whether to tell that there is no time
// for all of them, or that there is again.
func (p *pace) second(turns, missed uint64) (tell bool) {
	share := 0.0
	if turns > p.turns {
		share = float64(missed-p.missed) / float64(turns-p.turns)
	}
	p.hz, p.turns, p.missed = p.full*(1-share), turns, missed
	if p.calm++; share >= thinnedShare {
		p.calm = 0
	}
	was := p.thinned
	p.thinned = p.calm < calmSeconds && (was || p.calm == 0)
	return p.thinned != was
}

// lookAtPace ends a second of the loop, and tells the operator if clients are sent
// fewer snapshots than configured from now on, or all of them again.
func (l *loop) lookAtPace() {
	stats := l.core.Stats()
	l.mu.Lock()
	tell := l.pace.second(stats.Turns, stats.TurnsMissed)
	now := l.pace
	l.mu.Unlock()
	switch {
	case tell && now.thinned:
		l.log.Warn("no time for all snapshots: sending fewer", zap.Float64("hz", now.hz), zap.Int("sessions", l.core.Sessions()))
	case tell:
		l.log.Info("time for all snapshots again")
	}
}
