package replication

import (
	"math/bits"

	"github.com/worldd/worldd/internal/fault"
	"github.com/worldd/worldd/replication/wire"
)

// selectRows gathers the rows whose newest state the client is not known to
// have, in ascending order of slots, and says whether there are any; and the
// members that must be entered anew. What is dormant is not looked at.
func (v *Viewer) selectRows() bool {
	w, m := v.work, &v.members
	w.waiting, w.places = w.waiting[:0], w.places[:0]
	from := 0
	for i, mask := range m.masks {
		first := from
		from += bits.OnesCount64(mask)
		if m.active[i] != 0 {
			m.active[i] &^= v.selectWord(m.numbers[i], mask, m.active[i], m.rows[first:from])
		}
	}
	return len(w.waiting) > 0
}

// selectWord does so for 64 neighbours, and returns those that fell dormant.
func (v *Viewer) selectWord(word uint32, mask, active uint64, places []uint32) (dormant uint64) {
	r, w := v.replicator, v.work
	for ; active != 0; active &= active - 1 {
		bit := active & -active
		slot := word<<6 | uint32(bits.TrailingZeros64(bit))
		place := places[bits.OnesCount64(mask&(bit-1))]
		row, p := &v.rows[place], &r.frame.present[slot]
		seen, owned := p, codingKey(0)
		if p.secret && v.Owns(row.handle) {
			seen, owned = &r.frame.tenants[slot].whole.present, ownedKey
		}
		switch {
		case p.shape > row.enterTick:
			w.wanted = append(w.wanted, wanted{row.handle, row.enterTick, place})
		case seen.version <= row.ackedTick:
			row.priority = 0
			dormant |= bit
		case row.waiting && row.sentTick >= seen.version && (r.frame.tick-row.sentTick <= resendAfter*r.interval || fault.NeverResend):
			// On its way.
		default:
			w.waiting = append(w.waiting, newCodingKey(slot, v.baseline(row, seen))|owned)
			w.places = append(w.places, place)
		}
	}
	return dormant
}

// baseline chooses the states that row is coded against: the newest that the
// client is known to have, and one before it, as far as both sides remember
// them (R3).
func (v *Viewer) baseline(row *viewerRow, p *present) (b wire.Baseline) {
	r := v.replicator
	age := r.frame.tick - row.ackedTick
	if !v.keeps(row, row.ackedTick) || p.oldest > row.ackedTick || age >= 1<<ageBits {
		return b
	}
	b.Age = age
	gap := uint32(row.olderGap)
	older := row.ackedTick - gap
	if gap != 0 && gap < 1<<gapBits && age <= maxMotionRatio*gap && v.keeps(row, older) && p.oldest <= older {
		b.Gap = gap
	}
	return b
}

// keeps says whether the client has kept the state of row at a tick at which it
// had one: at most a state for each interval since can have been sent.
func (v *Viewer) keeps(row *viewerRow, tick uint32) bool {
	return row.sentTick < tick+(wire.MaxStates-1)*v.replicator.interval
}

// byPriority returns a sort key for each of the rows that wait: priority, then
// number. Priority grows each time that a row waits for its turn, so every row's
// comes. It is not asked for when all can be sent.
func (v *Viewer) byPriority() []uint64 {
	w := v.work
	w.keys = w.keys[:0]
	for i, place := range w.places {
		row := &v.rows[place]
		row.priority += v.gain(&v.replicator.frame.tenants[w.waiting[i].slot()])
		w.keys = append(w.keys, descending(row.priority, uint32(i)))
	}
	return w.keys
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
