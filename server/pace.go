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

const (
	// A window of ticks is bad if at least badShare of them were late or never made, and
	// good if less than goodShare were.
	badShare  = 1.0 / 2
	goodShare = 1.0 / 8
	// badWindows in a row make a server not ready, and goodWindows in a row make it ready
	// again. One stall, however long, is one window.
	badWindows  = 3
	goodWindows = 5
)

// punctuality says whether a world keeps up with the clock, from what became of its
// ticks.
type punctuality struct {
	window    uint64 // ticks: a second of them
	due       uint64 // in this window
	unkept    uint64 // of these, late or never made
	bad, good int    // windows in a row
	behind    bool
}

// tick takes one tick, and how many were given up ahead of it. It returns true if
// behind changes.
func (p *punctuality) tick(late bool, skipped uint64) bool {
	p.due += 1 + skipped
	p.unkept += skipped
	if late {
		p.unkept++
	}
	if p.due < p.window {
		return false
	}
	share := float64(p.unkept) / float64(p.due)
	p.due, p.unkept = 0, 0
	p.bad, p.good = inARow(p.bad, share >= badShare), inARow(p.good, share < goodShare)
	was := p.behind
	p.behind = p.bad >= badWindows || was && p.good < goodWindows
	return p.behind != was
}

func inARow(n int, again bool) int {
	if again {
		return n + 1
	}
	return 0
}
