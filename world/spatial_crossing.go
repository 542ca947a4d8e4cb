package world

import "github.com/worldd/worldd/bulk"

// updateVolumes finds the bodies that entered or left a volume. It checks bodies that
// are awake or were displaced, and all bodies near volumes that moved or changed.
func (w *World) updateVolumes() {
	v := &w.volumes
	if v.component == nil {
		return
	}
	present := v.component.present()
	if present.Any() {
		w.findMoved()
	}
	for word, slots := range bulk.Or(v.known.View(), present.View()) {
		for slot := range bulk.Bits(word<<6, slots) {
			if present.Has(slot) {
				w.updateVolume(slot)
			} else {
				w.closeVolume(slot)
			}
		}
	}
	v.displaced.Reset()
}

// updateVolume finds the bodies that entered or left the volume on a slot.
func (w *World) updateVolume(slot uint32) {
	t, shape := w.volumes.trigger(slot), w.shapeOf(slot)
	if t != nil && t.shape == shape {
		w.compareMoved(t)
		return
	}
	if t == nil {
		t = w.volumes.open(w.tenant(slot))
	}
	t.shape = shape
	w.compareAll(t)
}

// findMoved collects the bodies that may have moved, and their cells.
func (w *World) findMoved() {
	v, b := &w.volumes, &w.bodies
	v.moved.SetOr(w.sleepState.awake.View(), v.displaced.View())
	v.movedCells.Reset()
	for word := range bulk.And(v.moved.View()) {
		for slot := range bulk.Bits(word<<6, v.moved.Word(word)) {
			if row := w.rowOf[slot]; row != noRow {
				v.movedCells.Set(uint32(b.cell[row]))
			}
		}
	}
}

// compareAll compares all bodies in the volume's cells with its members.
func (w *World) compareAll(t *trigger) {
	g, found := &w.grid, &w.volumes.found
	r := g.coverVolume(&t.shape)
	for z := r.z0; z <= r.z1; z++ {
		for x := r.x0; x <= r.x1; x++ {
			for _, slot := range g.slots(z*g.columns + x) {
				if w.isInside(t, slot) {
					found.Set(slot)
				}
			}
		}
	}
	for word := range bulk.AndNot(t.members.View(), found.View()) {
		w.recordLeft(t, word, t.members.Word(word)&^found.Word(word))
	}
	w.recordEntered(t)
}

// compareMoved is like compareAll, for an unchanged volume: only bodies that moved can
// cross its surface.
func (w *World) compareMoved(t *trigger) {
	v, g := &w.volumes, &w.grid
	for word, mask := range bulk.And(t.members.View(), v.moved.View()) {
		for slot := range bulk.Bits(word<<6, mask) {
			if w.isInside(t, slot) {
				mask &^= 1 << (slot & 63)
			}
		}
		w.recordLeft(t, word, mask)
	}
	r := g.coverVolume(&t.shape)
	for z := r.z0; z <= r.z1; z++ {
		last := uint32(z*g.columns + r.x1)
		for c, ok := v.movedCells.Next(uint32(z*g.columns + r.x0)); ok && c <= last; c, ok = v.movedCells.Next(c + 1) {
			for _, slot := range g.slots(int32(c)) {
				if v.moved.Has(slot) && !t.members.Has(slot) && w.isInside(t, slot) {
					v.found.Set(slot)
				}
			}
		}
	}
	w.recordEntered(t)
}

// recordLeft removes the members in the slots mask of a word, and reports them as left.
func (w *World) recordLeft(t *trigger, word uint32, mask uint64) {
	t.members.SetWord(word, t.members.Word(word)&^mask)
	for slot := range bulk.Bits(word<<6, mask) {
		w.volumes.left = append(w.volumes.left, Crossing{t.volume, w.tenant(slot)})
	}
}

// recordEntered adds the bodies in found that are not members yet, and reports them as
// entered. It empties found.
func (w *World) recordEntered(t *trigger) {
	v := &w.volumes
	for word := range bulk.And(v.found.View()) {
		mask := v.found.Word(word) &^ t.members.Word(word)
		for slot := range bulk.Bits(word<<6, mask) {
			v.entered = append(v.entered, Crossing{t.volume, w.tenant(slot)})
		}
		t.members.SetWord(word, t.members.Word(word)|mask)
		v.found.SetWord(word, 0)
	}
}

// leaveDoomed removes doomed bodies from all volumes and closes doomed volumes. It
// runs before the doomed entities are removed.
func (w *World) leaveDoomed() {
	v := &w.volumes
	for word := range bulk.And(v.known.View()) {
		for slot := range bulk.Bits(word<<6, v.known.Word(word)) {
			if w.doomed.Has(slot) {
				w.closeVolume(slot)
				continue
			}
			t := v.triggers[slot]
			for members, mask := range bulk.And(t.members.View(), w.doomed.View()) {
				w.recordLeft(t, members, mask)
			}
		}
	}
}
