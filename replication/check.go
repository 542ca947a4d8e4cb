package replication

import (
	"fmt"
	"math/bits"

	"github.com/worldd/worldd/bulk"
)

// CheckInvariants audits the viewer against its frame and the world. It is valid just
// after a snapshot. Tests call it, and builds with -tags invariants do after every
// snapshot.
func (v *Viewer) CheckInvariants() error {
	r := v.replicator
	m := &v.members
	if v.members.uncompacted || len(m.indexes)+len(v.members.free) != len(v.members.rows) {
		return fmt.Errorf("R1: %d rows, of which %d belong to members and %d are free", len(v.members.rows), len(m.indexes), len(v.members.free))
	}
	n := 0
	for i := range m.words {
		w := &m.words[i]
		if w.mask == 0 || w.active&^w.mask != 0 || w.active != 0 && !m.anyActive || i > 0 && w.number <= m.words[i-1].number {
			return fmt.Errorf("R1: members.words[%d] is word %d, mask %x, active %x", i, w.number, w.mask, w.active)
		}
		first := w.number<<6 | uint32(bits.TrailingZeros64(w.mask))
		if rowIndex, ok := m.findRow(first); !ok || rowIndex != m.indexes[n] {
			return fmt.Errorf("R1: member %d, slot %d, has row %d, want %d", n, first, rowIndex, m.indexes[n])
		}
		for slot := range bulk.Bits(w.number<<6, w.mask) {
			if err := v.checkRow(slot, m.indexes[n], w.active>>(slot&63)&1 != 0); err != nil {
				return err
			}
			n++
		}
	}
	for word, mask := range v.knowledge.hidden.words() {
		for slot := range bulk.Bits(word<<6, mask) {
			if r.world.Slots().Handle(slot) == 0 {
				return fmt.Errorf("R2: slot %d is in the hidden set and has no tenant", slot)
			}
			if _, shown := m.findRow(slot); shown {
				return fmt.Errorf("R2: slot %d is both hidden and a member", slot)
			}
		}
	}
	if err := v.checkTexts(); err != nil {
		return err
	}
	return v.interest.owned.checkFrame(r.frame)
}

func (v *Viewer) checkRow(slot, rowIndex uint32, active bool) error {
	f := v.replicator.frame
	h, row, p := v.members.handles[rowIndex], &v.members.rows[rowIndex], &f.summaries[slot]
	if h != p.handle || h.Index() != slot {
		return fmt.Errorf("R1: slot %[2]d has a row of %[1]v, and its tenant is %[3]v", h, slot, p.handle)
	}
	if row.ackedTick > f.tick || uint32(row.olderGap) >= row.ackedTick || row.nextGap >= minMotionTicks || row.sentTick > f.tick {
		return fmt.Errorf("R3: %v has a baseline of tick %d, older states %d and %d ticks before it, at tick %d", h, row.ackedTick, row.olderGap, row.nextGap, f.tick)
	}
	received, owned := p, p.hasOwnerRow && v.Owns(h)
	if owned {
		received = &f.tenants[slot].ownerRow.summary
	}
	var exact *cleanSlot
	if v.simulation != nil {
		exact = v.replicator.clean.slotOf(slot, h)
	}
	var version uint32
	if exact != nil {
		version = exact.oldestValidTick(received, owned)
	} else {
		version = received.version
	}
	if !active && (version > row.ackedTick || p.maskSince > row.enterTick) {
		return fmt.Errorf("R6: %v is dormant, and its state of tick %d is not acknowledged", h, version)
	}
	if f.stale.slots.Has(slot) && (v.simulation == nil || !v.replicator.clean.slots[slot].exact) {
		return fmt.Errorf("R6: %v is stale, and its client does not compute it", h)
	}
	if row.flags&passedOver == 0 && v.members.priorities[rowIndex] != 0 {
		return fmt.Errorf("R6: %v has priority %v and was not passed over", h, v.members.priorities[rowIndex])
	}
	return nil
}

// checkTexts audits the queue of changed texts.
func (v *Viewer) checkTexts() error {
	if v.replicator.frame.textFields.mask == 0 {
		return nil
	}
	queued := 0
	for _, rowIndex := range v.members.indexes {
		row := &v.members.textRows[rowIndex]
		h := v.members.handles[rowIndex]
		if !row.queued && v.replicator.frame.owesText(h, row, v.members.rows[rowIndex].enterTick, v.Owns(h)) {
			return fmt.Errorf("R12: %v has a text that its client was not sent, and is not queued", h)
		}
		if row.queued {
			queued++
		}
	}
	for _, h := range v.outbox.textQueue {
		if _, member := v.members.indexOf(h); member {
			queued--
		}
	}
	if queued != 0 {
		return fmt.Errorf("R12: %d more members have queued texts than are in the queue", queued)
	}
	return nil
}
