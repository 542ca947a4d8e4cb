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
		if mask == 0 || m.active[i]&^mask != 0 || i > 0 && m.numbers[i] <= m.numbers[i-1] {
			return fmt.Errorf("R1: word %d of the members is number %d, %x, active %x", i, m.numbers[i], mask, m.active[i])
		}
		first := m.numbers[i]<<6 | uint32(bits.TrailingZeros64(mask))
		if place, ok := m.find(first); !ok || place != m.rows[n] {
			return fmt.Errorf("R1: member %d, slot %d, is found at %d, want %d", n, first, place, m.rows[n])
		}
		for slot := range bulk.Bits(m.numbers[i]<<6, mask) {
			active := m.active[i]>>(slot&63)&1 != 0
			if err := v.checkRow(slot, &v.rows[m.rows[n]], active); err != nil {
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

func (v *Viewer) checkRow(slot uint32, row *viewerRow, active bool) error {
	f := v.replicator.frame
	p := &f.present[slot]
	version := p.version
	if row.handle != p.handle || row.handle.Index() != slot {
		return fmt.Errorf("R1: row of %v, whose slot %d is held by %v", row.handle, slot, p.handle)
	}
	if row.entered > v.structure.written {
		return fmt.Errorf("R4: %v entered at record %d of %d", row.handle, row.entered, v.structure.written)
	}
	if row.ackedTick > f.tick || uint32(row.olderGap) >= row.ackedTick || row.nextGap >= motionTicks || row.sentTick > f.tick {
		return fmt.Errorf("R3: %v has a baseline of tick %d, others %d and %d before it, at tick %d", row.handle, row.ackedTick, row.olderGap, row.nextGap, f.tick)
	}
	if p.secret && v.Owns(row.handle) {
		version = f.tenants[slot].whole.present.version
	}
	if !active && (version > row.ackedTick || p.shape > row.enterTick) {
		return fmt.Errorf("R6: %v is dormant, and its state of tick %d not acknowledged", row.handle, version)
	}
	return nil
}
