package server

import (
	"time"

	"go.uber.org/zap"
)

const (
	// snapshotShare is the share of a tick's interval after which the tick encodes no more
	// snapshots. Ticks take precedence: a late tick is late for every session, and delays
	// accumulate. The rest of the interval is for the transport and for other load on the
	// machine.
	snapshotShare = 0.45
	// minSnapshotShare is the share of an interval that is reserved for snapshots even in a
	// late tick: sending fewer does not help a world that is too slow by itself.
	minSnapshotShare = 0.25
	// thinnedShare is the share of missed turns from which thinning is logged.
	thinnedShare = 1.0 / 16
	// recoverySeconds is the time below thinnedShare after which the recovery is logged.
	recoverySeconds = 2
)

// snapshotDeadline returns when a tick stops encoding snapshots. It stepped the world at
// stepped, and the next tick is due at next.
func snapshotDeadline(next, stepped time.Time, interval time.Duration) time.Time {
	until := next.Add(-time.Duration((1 - snapshotShare) * float64(interval)))
	if least := stepped.Add(time.Duration(minSnapshotShare * float64(interval))); least.After(until) {
		return least
	}
	return until
}

// pace measures how many snapshots clients receive per second.
type pace struct {
	full, hz      float64 // snapshots per second: configured, and sent in the last second
	turns, missed uint64  // totals at the end of the last second
	thinned       bool    // as last logged
	recovered     int     // seconds since the share of missed turns was last at least thinnedShare
}

// endSecond updates the pace with the total counts of turns, and reports whether thinned has
// changed.
func (p *pace) endSecond(turns, missed uint64) (changed bool) {
	share := 0.0
	if turns > p.turns {
		share = float64(missed-p.missed) / float64(turns-p.turns)
	}
	p.hz, p.turns, p.missed = p.full*(1-share), turns, missed
	p.recovered++
	if share >= thinnedShare {
		p.recovered = 0
	}
	was := p.thinned
	p.thinned = p.recovered < recoverySeconds && (was || p.recovered == 0)
	return p.thinned != was
}

// updatePace ends a second of the loop. It logs when clients begin or cease to receive fewer
// snapshots than configured.
func (l *loop) updatePace() {
	stats := l.core.Stats()
	l.mu.Lock()
	changed := l.pace.endSecond(stats.SnapshotsDue, stats.SnapshotsSkipped)
	now := l.pace
	l.mu.Unlock()
	switch {
	case changed && now.thinned:
		l.log.Warn("no time for all snapshots: sending fewer", zap.Float64("hz", now.hz), zap.Int("sessions", l.core.Len()))
	case changed:
		l.log.Info("time for all snapshots again")
	}
}

const (
	// A window of ticks is bad if at least badShare of them were late or skipped, and
	// good if less than goodShare were.
	badShare  = 1.0 / 2
	goodShare = 1.0 / 8
	// badWindows in a row make a server unready, and goodWindows in a row make it ready again.
	// A single stall, however long, counts as one window.
	badWindows  = 3
	goodWindows = 5
)

// punctuality tracks whether ticks keep up with the clock.
type punctuality struct {
	window    uint64 // ticks in a window: a second
	due       uint64 // ticks due in this window
	failed    uint64 // late or skipped ticks in this window
	bad, good int    // windows in a row
	behind    bool
}

// countTick counts one tick and the skipped ticks before it. It reports whether behind has
// changed.
func (p *punctuality) countTick(late bool, skipped uint64) bool {
	p.due += 1 + skipped
	p.failed += skipped
	if late {
		p.failed++
	}
	if p.due < p.window {
		return false
	}
	share := float64(p.failed) / float64(p.due)
	p.due, p.failed = 0, 0
	p.bad, p.good = extendStreak(p.bad, share >= badShare), extendStreak(p.good, share < goodShare)
	was := p.behind
	p.behind = p.bad >= badWindows || was && p.good < goodWindows
	return p.behind != was
}

// extendStreak returns the length of a streak of n windows after one more window.
func extendStreak(n int, again bool) int {
	if again {
		return n + 1
	}
	return 0
}
