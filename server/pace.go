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
	// calmWindows is how long there must have been room for more snapshots
	// before there are: two seconds.
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
// windows, and then the least of what they had room for.
type pacer struct {
	interval time.Duration // between two ticks
	window   int           // ticks
	least    int
	pace     int // of replication.FullPace

	ticks     int           // of the window so far, and what they took:
	snapshots time.Duration // for replication,
	rest      time.Duration // and for everything else, waiting for a processor included
	calm      int           // windows in a row that had room for a higher pace,
	room      int           // and for which at least
}

func newPacer(tickHz, snapshotHz int) *pacer {
	least := (slowestSnapshotHz*replication.FullPace + snapshotHz - 1) / snapshotHz
	return &pacer{
		interval: time.Second / time.Duration(tickHz), window: max(tickHz/paceWindows, 1),
		least: min(least, replication.FullPace), pace: replication.FullPace,
	}
}

// tick takes what a tick took, and for how long it could have begun and did not, and
// returns the pace for those that follow. What it was late because the one before
// took long is no more than that took. A stall counts no more than a tick that takes twice its time:
// it is over when it is known, and fewer snapshots do not undo it.
func (p *pacer) tick(idle time.Duration, spent [phases]time.Duration) int {
	p.rest += min(max(idle, 0), p.interval) + min(spent[phaseReceive]+spent[phaseStep], p.interval)
	p.snapshots += min(spent[phaseReplicate], 2*p.interval)
	if p.ticks++; p.ticks == p.window {
		p.decide()
		p.ticks, p.rest, p.snapshots = 0, 0, 0
	}
	return p.pace
}

// decide ends a window.
func (p *pacer) decide() {
	whole := float64(p.window) * p.interval.Seconds()
	fits := replication.FullPace
	if left := max(aimedShare*whole-p.rest.Seconds(), grantedShare*whole); p.snapshots.Seconds()*replication.FullPace > left*float64(p.pace) {
		fits = int(left * float64(p.pace) / p.snapshots.Seconds())
	}
	crowded := (p.rest + p.snapshots).Seconds() > crowdedShare*whole
	switch {
	case crowded:
		p.pace, p.calm = max(min(fits, p.pace), p.pace/2, p.least), 0
	case fits <= p.pace:
		p.calm = 0
	case p.calm == 0:
		p.calm, p.room = 1, fits
	default:
		p.calm, p.room = p.calm+1, min(p.room, fits)
	}
	if p.calm == calmWindows {
		p.pace, p.calm = p.room, 0
	}
}
