package replication

import (
	"cmp"
	"slices"

	"github.com/worldd/worldd/bulk"
)

// candidate is a row that waits for a place in the budget.
type candidate struct {
	handle bulk.Handle
	weight float32 // priority, most first
	place  uint32
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
// have, most urgent first, and says whether there are any; and the members that
// must be entered anew. Priority grows each time that a row waits, so every
// row's turn comes.
func (v *Viewer) selectRows() bool {
	r := v.replicator
	v.candidates = v.candidates[:0]
	kept := v.active[:0]
	for _, place := range v.active {
		row := &v.rows[place]
		if row.handle == 0 { // it left, or died
			row.active = false
			v.free = append(v.free, place)
			continue
		}
		t := &r.frame.tenants[row.handle.Index()]
		version := t.version()
		if t.shape > row.enterTick { // another set of components, or a resync
			r.wanted = append(r.wanted, wanted{row.handle, row.enterTick, place})
			kept = append(kept, place)
			continue
		}
		if version <= row.ackedTick {
			row.priority, row.active = 0, false
			continue
		}
		kept = append(kept, place)
		if row.sentSeq != 0 && row.sentTick >= version && v.seq-row.sentSeq < resendAfter {
			continue // on its way
		}
		row.priority += v.gain(t)
		v.candidates = append(v.candidates, candidate{row.handle, row.priority, place})
	}
	v.active = kept
	slices.SortFunc(v.candidates, byPriority)
	return len(v.candidates) > 0
}

// byPriority compares priorities, and handles where they are equal, so that the
// order depends on nothing else. It is written out because it is most of what
// sorting costs; priorities are never NaN.
func byPriority(a, b candidate) int {
	switch {
	case b.weight < a.weight:
		return -1
	case b.weight > a.weight:
		return 1
	}
	return cmp.Compare(a.handle, b.handle)
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
