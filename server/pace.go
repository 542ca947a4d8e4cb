package server

import (
	"time"

	"github.com/worldd/worldd/replication"
)

const (
	// paceWindows is in how many parts a second is looked at.
	paceWindows = 4
	// crowdedShare is the part of their time that ticks may take on average: from
	// there on, one that takes half as long again is late.
	crowdedShare = 0.7
	// aimedShare is what ticks are to take when they took more. What is between
	// the two keeps the pace from going up and down.
	aimedShare = 0.5
	// grantedShare is what snapshots may take however little the rest leaves: a
	// world that is too slow by itself, or a machine that is busy with something
	// else, gains nothing from clients that see less.
	grantedShare = 0.25
	// calmWindows is for how long no window may have been crowded before what is
	// left on average is given to more snapshots: two seconds. One in which a busy
	// machine left little says nothing yet.
	calmWindows = 2 * paceWindows
	// slowestSnapshotHz is what every client is sent, however late the ticks:
	// below, it sees no motion but jumps, and had better be refused.
	slowestSnapshotHz = 2
)

// pacer decides for how many snapshots there is time. The world's ticks come
// first: a tick that is late is late for everybody, and what it is late by adds up.
// A snapshot that is not made costs its client a thirtieth of a second, once, as if
// it were lost. All that the pacer knows is how long ticks took, which its caller
// tells it, so that equal times give equal paces.
//
// What snapshots take is in proportion to how many there are, so one window says
// which pace would have been right. When it is too crowded, that pace holds at once,
// though not less than half of the one before; when there is room, after some
// windows of which none was, and then for what they had room for on average.
type pacer struct {
	interval time.Duration // between two ticks
	window   int           // ticks
	least    int
	pace     int // of replication.FullPace

	ticks  int   // of the window so far,
	took   taken // and what they took
	calm   int   // windows in a row that were not crowded,
	lately taken // and what they took
}

// taken is for what ticks took their time.
type taken struct {
	snapshots time.Duration // replication
	rest      time.Duration // everything else, waiting for a processor included
}

func (t *taken) add(o taken) { t.snapshots, t.rest = t.snapshots+o.snapshots, t.rest+o.rest }

func newPacer(tickHz, snapshotHz int) *pacer {
	least := (slowestSnapshotHz*replication.FullPace + snapshotHz - 1) / snapshotHz
	return &pacer{
		interval: time.Second / time.Duration(tickHz), window: max(tickHz/paceWindows, 1),
		least: min(least, replication.FullPace), pace: replication.FullPace,
	}
}

// tick takes what a tick took, and for how long it could have begun and did not, and
// returns the pace for those that follow. What it was late because the one before
// took long is no more than that took. A stall counts no more than a tick that takes
// twice its time: it is over when it is known, and fewer snapshots do not undo it.
func (p *pacer) tick(idle time.Duration, spent [phases]time.Duration) int {
	p.took.add(taken{
		snapshots: min(spent[phaseReplicate], 2*p.interval),
		rest:      min(max(idle, 0), p.interval) + min(spent[phaseReceive]+spent[phaseStep], p.interval),
	})
	if p.ticks++; p.ticks == p.window {
		p.decide()
		p.ticks, p.took = 0, taken{}
	}
	return p.pace
}

// decide ends a window.
func (p *pacer) decide() {
	p.calm++
	p.lately.add(p.took)
	switch {
	case (p.took.rest + p.took.snapshots).Seconds() > crowdedShare*p.seconds(1):
		p.pace = max(min(p.fits(p.took, 1), p.pace), p.pace/2, p.least)
	case p.calm < calmWindows:
		return
	default:
		p.pace = max(p.pace, p.fits(p.lately, calmWindows))
	}
	p.calm, p.lately = 0, taken{}
}

// fits is the pace that there would have been time for in so many windows.
func (p *pacer) fits(t taken, windows int) int {
	whole := p.seconds(windows)
	left := max(aimedShare*whole-t.rest.Seconds(), grantedShare*whole)
	if t.snapshots.Seconds()*replication.FullPace <= left*float64(p.pace) {
		return replication.FullPace
	}
	return int(left * float64(p.pace) / t.snapshots.Seconds())
}

func (p *pacer) seconds(windows int) float64 {
	return float64(windows*p.window) * p.interval.Seconds()
}
