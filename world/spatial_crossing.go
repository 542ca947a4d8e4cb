package world

import "github.com/worldd/worldd/bulk"

// updateVolumes finds who went into a volume or out of it. It looks at bodies
// that are awake or were displaced, and at others only where a volume itself
// moved or changed.
func (w *World) updateVolumes() {
	v := &w.volumes
	if v.component == nil {
		return
	}
	present := v.component.present()
	if present.Any() {
		w.findMoved()
	}
	for slot := range bulk.OrBits(&v.known, present) {
		if !present.Has(slot) {
			w.closeVolume(slot)
			continue
		}
		t, shape := v.trigger(slot), w.shapeOf(slot)
		if t == nil {
			t = v.open(w.tenant(slot))
		} else if t.shape == shape {
			w.compareMoved(t)
			continue
		}
		t.shape = shape
		w.compareAll(t)
	}
	v.displaced.Reset()
}

// lookAround notes who may have moved, and in which cells they are.
func (w *World) findMoved() {
	v, b := &w.volumes, &w.bodies
	v.moved.SetOr(&w.sleepState.awake, &v.displaced)
	v.movedCells.Reset()
	for word := range bulk.And(&v.moved) {
		for slot := range bulk.Bits(word<<6, v.moved.Word(word)) {
			if row := w.rowOf[slot]; row != noRow {
				v.movedCells.Set(uint32(b.cell[row]))
			}
		}
	}
}

// lookAtAll compares everybody in the volume's cells with its members.
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
	for word := range bulk.AndNot(&t.members, found) {
		w.recordLeft(t, word, t.members.Word(word)&^found.Word(word))
	}
	w.recordEntered(t)
}

// lookAtMoved is lookAtAll for a volume that is where it was: nobody crosses its
// surface but those who moved.
func (w *World) compareMoved(t *trigger) {
	v, g := &w.volumes, &w.grid
	for word, mask := range bulk.And(&t.members, &v.moved) {
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

// leave lets some of 64 slots go out.
func (w *World) recordLeft(t *trigger, word uint32, mask uint64) {
	t.members.SetWord(word, t.members.Word(word)&^mask)
	for slot := range bulk.Bits(word<<6, mask) {
		w.volumes.left = append(w.volumes.left, Crossing{t.volume, w.tenant(slot)})
	}
}

// enter lets those go in who were found and are not inside, and empties found.
func (w *World) recordEntered(t *trigger) {
	v := &w.volumes
	for word := range bulk.And(&v.found) {
		mask := v.found.Word(word) &^ t.members.Word(word)
		for slot := range bulk.Bits(word<<6, mask) {
			v.entered = append(v.entered, Crossing{t.volume, w.tenant(slot)})
		}
		t.members.SetWord(word, t.members.Word(word)|mask)
		v.found.SetWord(word, 0)
	}
}

// leaveDoomed lets the doomed go out of all volumes, and everybody out of the
// doomed volumes. It runs ahead of their removal.
func (w *World) leaveDoomed() {
	v := &w.volumes
	for word := range bulk.And(&v.known) {
		for slot := range bulk.Bits(word<<6, v.known.Word(word)) {
			if w.doomed.Has(slot) {
				w.closeVolume(slot)
				continue
			}
			t := v.triggers[slot]
			for members, mask := range bulk.And(&t.members, &w.doomed) {
				w.recordLeft(t, members, mask)
			}
		}
	}
}
