package replication

import (
	"math/bits"

	"github.com/worldd/worldd/replication/wire"
)

// selectRows gathers the rows whose newest state the client is not known to
// have, in ascending order of slots, and says whether there are any; and the
// members that must be entered anew. What is dormant is not looked at.
func (v *Viewer) selectRows() bool {
	r, w, m := v.replicator, v.work, &v.members
	rows, present, resend := v.rows, r.frame.present, resendAfter*r.interval
	past := horizon{r.frame.tick, (wire.MaxStates - 1) * r.interval}
	w.waiting, w.places = w.waiting[:0], w.places[:0]
	if !m.awake {
		return false
	}
	waiting, places, left := w.waiting, w.places, uint64(0)
	for i := range m.words {
		word := &m.words[i]
		for rest := word.active; rest != 0; rest &= rest - 1 {
			slot := word.number<<6 | uint32(bits.TrailingZeros64(rest))
			place := m.rows[word.row(slot)]
			row, p, owned := &rows[place], &present[slot], codingKey(0)
			if p.secret && v.Owns(v.handles[place]) {
				p, owned = &r.frame.tenants[slot].whole.present, ownedKey
			}
			switch {
			case p.shape > row.enterTick:
				w.wanted = append(w.wanted, wanted{v.handles[place], row.enterTick, place})
			case p.version <= row.ackedTick:
				word.active &^= rest & -rest // dormant
				v.forgetPriority(row, place)
			case row.flags&onItsWay != 0 && row.sentTick >= p.version && past.tick-row.sentTick <= resend:
			default:
				waiting = append(waiting, past.key(slot, row, p)|owned)
				places = append(places, place)
			}
		}
		left |= word.active
	}
	m.awake = left != 0
	w.waiting, w.places = waiting, places
	return len(waiting) > 0
}

// horizon says how far back a frame's rows have baselines.
type horizon struct {
	tick uint32 // of the frame
	kept uint32 // ticks for which a client keeps a state at least: since that was sent, one for each turn, and turns are an interval apart
}

// key chooses the states that a row is coded against: the newest that the client
// is known to have, and one before it, as far as both sides remember them (R3).
func (h horizon) key(slot uint32, row *viewerRow, p *present) codingKey {
	k := codingKey(slot)<<slotShift | someKey
	base, age := row.ackedTick, h.tick-row.ackedTick
	if row.sentTick >= base+h.kept || p.oldest > base || age >= 1<<ageBits {
		return k
	}
	k |= codingKey(age) << ageShift
	gap := uint32(row.olderGap)
	older := base - gap
	if gap-1 < 1<<gapBits-1 && age <= maxMotionRatio*gap && row.sentTick < older+h.kept && p.oldest <= older {
		k |= codingKey(gap) << gapShift
	}
	return k
}

// byPriority returns the numbers of the rows that wait, the most urgent first.
// Priority grows each time that a row waits for its turn, so every row's comes. It
// is not asked for when all can be sent.
func (v *Viewer) byPriority() []uint32 {
	w := v.work
	w.ranking.reset()
	for i, place := range w.places {
		v.priorities[place] += v.gain(&v.replicator.frame.tenants[w.waiting[i].slot()])
		v.rows[place].flags |= passedOver
		w.ranking.add(v.priorities[place])
	}
	return w.ranking.order()
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
