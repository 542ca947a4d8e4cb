package replication

import (
	"cmp"
	"slices"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/internal/fault"
	"github.com/worldd/worldd/replication/wire"
)

// waitingRow is a row that waits for its place in a snapshot.
type waitingRow struct {
	place    uint32 // in Viewer.rows
	handle   bulk.Handle
	priority float32
	baseline wire.Baseline
}

// activate has a row looked at in each snapshot, until its newest state is
// acknowledged. All others are dormant, and cost nothing.
func (v *Viewer) activate(place uint32) {
	if row := &v.rows[place]; !row.active {
		row.active = true
		v.active = append(v.active, place)
	}
}

// selectRows gathers the rows whose newest state the client is not known to
// have, and says whether there are any; and the members that must be entered
// anew. Priority grows each time that a row waits, so every row's turn comes.
func (v *Viewer) selectRows() bool {
	r := v.replicator
	v.waiting = v.waiting[:0]
	kept := v.active[:0]
	for _, place := range v.active {
		row := &v.rows[place]
		row.due = false
		if row.handle == 0 { // it left, or died
			row.active = false
			v.free = append(v.free, place)
			continue
		}
		t := &r.frame.tenants[row.handle.Index()]
		version := t.as(row.owned).version()
		if v.entersAnew(row) {
			r.wanted = append(r.wanted, wanted{row.handle, row.enterTick, place})
			kept = append(kept, place)
			continue
		}
		if version <= row.ackedTick {
			row.priority, row.active = 0, false // dormant
			continue
		}
		kept = append(kept, place)
		if row.waiting && row.sentTick >= version && (r.frame.tick-row.sentTick <= resendAfter*r.interval || fault.NeverResend) {
			continue // on its way
		}
		row.priority += v.gain(t)
		row.due = true
		v.waiting = append(v.waiting, waitingRow{place: place, handle: row.handle, priority: row.priority})
	}
	v.active = kept
	return len(v.waiting) > 0
}

// entersAnew says whether the client must be sent the whole of row again: its
// set of components changed, or who owns it, or the client asked for a resync.
func (v *Viewer) entersAnew(row *viewerRow) bool {
	return v.replicator.frame.tenants[row.handle.Index()].shape > row.enterTick
}

// sortWaiting puts the most urgent rows first; where priorities are equal, by
// handles, so that the order depends on nothing else. Priorities are never NaN.
func (v *Viewer) sortWaiting() {
	slices.SortFunc(v.waiting, func(a, b waitingRow) int {
		switch {
		case a.priority > b.priority:
			return -1
		case a.priority < b.priority:
			return 1
		}
		return cmp.Compare(a.handle, b.handle)
	})
}

// gain is what a row's priority grows by for each snapshot it waits: its
// kind's priority, halved at a quarter of the enter radius.
func (v *Viewer) gain(t *tenant) float32 {
	base := v.replicator.priorityOf(t.kind)
	if !t.placed {
		return base
	}
	distance := t.position.Sub(v.center).Len()
	return base / (1 + 4*distance/v.replicator.config.EnterRadius)
}
