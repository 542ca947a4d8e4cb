package replication

import (
	"fmt"
	"math/bits"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/world"
)

// CheckInvariants audits the viewer against its frame and the world. Call it directly after
// a snapshot: tests do, and builds with -tags invariants do after every snapshot.
func (v *Viewer) CheckInvariants() error {
	r := v.replicator
	var computed *clean
	if v.simulation != nil {
		computed = r.clean
	}
	if err := v.members.checkWords(r.frame, &v.interest, computed); err != nil {
		return err
	}
	if err := v.knowledge.checkHidden(r.world, &v.members); err != nil {
		return err
	}
	if err := v.outbox.checkTexts(r.frame, &v.members, &v.interest); err != nil {
		return err
	}
	return v.interest.owned.checkFrame(r.frame)
}

// checkWords audits the members and their rows. computed is nil unless the client simulates.
func (m *members) checkWords(f *frame, in *interest, computed *clean) error {
	if m.freed != 0 || len(m.indexes)+len(m.free) != len(m.rows) {
		return fmt.Errorf("R1: %d rows, of which %d belong to members and %d are free", len(m.rows), len(m.indexes), len(m.free))
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
			if err := m.checkRow(f, in, computed, slot, m.indexes[n]); err != nil {
				return err
			}
			n++
		}
	}
	return nil
}

// checkRow audits the row of the member in a slot.
func (m *members) checkRow(f *frame, in *interest, computed *clean, slot, rowIndex uint32) error {
	h, row, p := m.handles[rowIndex], &m.rows[rowIndex], &f.summaries[slot]
	if h != p.handle || h.Index() != slot {
		return fmt.Errorf("R1: slot %[2]d has a row of %[1]v, and its tenant is %[3]v", h, slot, p.handle)
	}
	if row.ackedTick > f.tick || uint32(row.olderGap) >= row.ackedTick || row.nextGap >= minMotionTicks || row.sentTick > f.tick {
		return fmt.Errorf("R3: %v has a baseline of tick %d, older states %d and %d ticks before it, at tick %d", h, row.ackedTick, row.olderGap, row.nextGap, f.tick)
	}
	received, owned := p, p.hasOwnerRow && in.owns(h)
	if owned {
		received = &f.tenants[slot].ownerRow.summary
	}
	var exact *cleanSlot
	if computed != nil {
		exact = computed.slotOf(slot, h)
	}
	var version uint32
	if exact != nil {
		version = exact.oldestValidTick(received, owned)
	} else {
		version = received.version
	}
	active := m.words[m.searchWord(slot>>6)].active>>(slot&63)&1 != 0
	if !active && (version > row.ackedTick || p.maskSince > row.enterTick) {
		return fmt.Errorf("R6: %v is dormant, and its state of tick %d is not acknowledged", h, version)
	}
	if f.stale.slots.Has(slot) && (computed == nil || !computed.slots[slot].exact) {
		return fmt.Errorf("R6: %v is stale, and its client does not compute it", h)
	}
	if row.flags&passedOver == 0 && m.priorities[rowIndex] != 0 {
		return fmt.Errorf("R6: %v has priority %v and was not passed over", h, m.priorities[rowIndex])
	}
	return nil
}

// checkHidden audits the hidden set.
func (k *knowledge) checkHidden(w *world.World, m *members) error {
	for word, mask := range k.hidden.words() {
		for slot := range bulk.Bits(word<<6, mask) {
			if w.Slots().Handle(slot) == 0 {
				return fmt.Errorf("R2: slot %d is in the hidden set and has no tenant", slot)
			}
			if _, shown := m.findRow(slot); shown {
				return fmt.Errorf("R2: slot %d is both hidden and a member", slot)
			}
		}
	}
	return nil
}

// checkTexts audits the queue of changed texts.
func (o *outbox) checkTexts(f *frame, m *members, in *interest) error {
	if f.textFields.mask == 0 {
		return nil
	}
	queued := 0
	for _, rowIndex := range m.indexes {
		row, h := &m.textRows[rowIndex], m.handles[rowIndex]
		if !row.queued && f.owesText(h, row, m.rows[rowIndex].enterTick, in.owns(h)) {
			return fmt.Errorf("R12: %v has a text that its client was not sent, and is not queued", h)
		}
		if row.queued {
			queued++
		}
	}
	for _, h := range o.textQueue {
		if _, member := m.indexOf(h); member {
			queued--
		}
	}
	if queued != 0 {
		return fmt.Errorf("R12: %d more members have queued texts than are in the queue", queued)
	}
	return nil
}
