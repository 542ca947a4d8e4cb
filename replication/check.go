package replication

import (
	"fmt"
	"math/bits"

	"github.com/worldd/worldd/bulk"
)

// CheckInvariants audits the viewer against its frame and the world, just
// after a snapshot.
func (v *Viewer) CheckInvariants() error {
	r := v.replicator
	m := &v.members
	if v.dying || len(m.rows)+len(v.free) != len(v.rows) {
		return fmt.Errorf("R1: %d rows, %d of them of members, %d free", len(v.rows), len(m.rows), len(v.free))
	}
	n := 0
	for i, mask := range m.masks {
		if mask == 0 || i > 0 && m.numbers[i] <= m.numbers[i-1] {
			return fmt.Errorf("R1: word %d of the members is number %d, %x", i, m.numbers[i], mask)
		}
		first := m.numbers[i]<<6 | uint32(bits.TrailingZeros64(mask))
		if place, ok := m.find(first); !ok || place != m.rows[n] {
			return fmt.Errorf("R1: member %d, slot %d, is found at %d, want %d", n, first, place, m.rows[n])
		}
		for slot := range bulk.Bits(m.numbers[i]<<6, mask) {
			if err := v.checkRow(slot, &v.rows[m.rows[n]]); err != nil {
				return err
			}
			n++
		}
	}
	return v.hidden.each(func(slot uint32) error {
		if r.world.HandleAt(slot) == 0 {
			return fmt.Errorf("R2: slot %d is known and empty", slot)
		}
		if _, shown := m.find(slot); shown {
			return fmt.Errorf("R2: slot %d is hidden and shown", slot)
		}
		return nil
	})
}

func (v *Viewer) checkRow(slot uint32, row *viewerRow) error {
	f := v.replicator.frame
	t := &f.tenants[slot]
	if row.handle != t.handle || row.handle.Index() != slot {
		return fmt.Errorf("R1: row of %v, whose slot %d is held by %v", row.handle, slot, t.handle)
	}
	if row.entered > v.structure.written {
		return fmt.Errorf("R4: %v entered at record %d of %d", row.handle, row.entered, v.structure.written)
	}
	if row.ackedTick > f.tick || row.olderTick >= row.ackedTick || row.nextTick > row.ackedTick || row.sentTick > f.tick {
		return fmt.Errorf("R3: %v has baselines of ticks %d and %d, then %d, at tick %d", row.handle, row.ackedTick, row.olderTick, row.nextTick, f.tick)
	}
	if !row.active && (t.as(row.owned).version() > row.ackedTick || t.shape > row.enterTick) {
		return fmt.Errorf("R6: %v is dormant, and its state of tick %d not acknowledged", row.handle, t.version())
	}
	return nil
}
