package world

import (
	"fmt"
	"slices"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/field"
	"github.com/worldd/worldd/world/motion"
)

// CheckInvariants audits the whole world against the invariants of the package comment
// and returns the first violation. Its cost is linear in the size of the world.
func (w *World) CheckInvariants() error {
	for _, check := range []func() error{
		w.checkPools, w.checkRows, w.checkBodies, w.checkGrid, w.checkBits, w.checkWheel, w.checkEffects, w.checkLeftovers,
		w.checkVolumes, w.checkHistory,
	} {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

func breach(number int, format string, args ...any) error {
	return fmt.Errorf("world: W%d: "+format, append([]any{number}, args...)...)
}

func (w *World) checkPools() error {
	if err := w.pool.CheckInvariants(); err != nil {
		return breach(10, "entities: %w", err)
	}
	if err := w.effects.pool.CheckInvariants(); err != nil {
		return breach(10, "effects: %w", err)
	}
	n := int(w.pool.Slots())
	if len(w.rowOf) != n || len(w.generations) != n {
		return breach(10, "%d slots, %d rows by slot, %d generations", n, len(w.rowOf), len(w.generations))
	}
	for e := range w.pool.All() {
		if w.generations[e.Index()] != e.Generation() {
			return breach(10, "%v is live, but generation %d is recorded", e, w.generations[e.Index()])
		}
	}
	return nil
}

func (w *World) checkRows() error {
	b, bodies := &w.bodies, 0
	for slot := range w.pool.Slots() {
		e, row := w.pool.HandleAt(slot), w.rowOf[slot]
		embodied := e != 0 && w.kinds[w.pool.At(slot).kind].def.Body != nil && !w.deferred.reserved.Has(slot)
		switch {
		case !embodied && row != noRow:
			return breach(1, "slot %d (%v) has no body but row %d", slot, e, row)
		case !embodied:
			continue
		case row < 0 || int(row) >= b.len():
			return breach(1, "%v has row %d of %d", e, row, b.len())
		case b.slot[row] != slot:
			return breach(1, "%v has row %d, which belongs to slot %d", e, row, b.slot[row])
		case b.Kind[row] != w.pool.At(slot).kind:
			return breach(1, "%v has kind %d, its row %d", e, w.pool.At(slot).kind, b.Kind[row])
		}
		bodies++
	}
	if bodies != b.len() {
		return breach(1, "%d bodies, %d rows", bodies, b.len())
	}
	return nil
}

func (w *World) checkBodies() error {
	b := &w.bodies
	if b.awake < 0 || b.awake > b.len() {
		return breach(2, "%d rows awake of %d", b.awake, b.len())
	}
	if err := b.check(b.len()); err != nil {
		return err
	}
	for row := range b.len() {
		at, v := b.Position(row), b.Velocity(row)
		if awake := w.sleepState.awake.Has(b.slot[row]); awake != b.isAwake(row) {
			return breach(12, "row %d, slot %d: awake bit by slot is %v", row, b.slot[row], awake)
		}
		if !b.willBeAwake(row) && (v != Vec3{} || b.Rest[row] != 0) {
			return breach(4, "row %d sleeps with velocity %v and rest %d", row, v, b.Rest[row])
		}
		if !motion.Finite(at) || w.motion.Clamp(at) != at {
			return breach(5, "row %d is at %v", row, at)
		}
		if !(v.Len() <= MaxSpeed*1.0001) {
			return breach(5, "row %d has velocity %v", row, v)
		}
	}
	return nil
}

// check audits W2 and W3.
func (c *compaction) check(rows int) error {
	if c.mode == InPlace {
		if n := c.inPlace.Count(); n != c.awake {
			return breach(2, "%d rows awake, %d bits", c.awake, n)
		}
	} else if c.inPlace.Any() {
		return breach(2, "bits of awake rows, although they are a prefix")
	}
	if row, ok := c.inPlace.Next(uint32(rows)); ok {
		return breach(2, "bit of row %d of %d", row, rows)
	}
	if !c.flips.check(rows) {
		return breach(3, "flips of rows that do not exist, or missing in the summary")
	}
	return nil
}

func (w *World) checkGrid() error {
	b, listed := &w.bodies, 0
	for c := range w.grid.cells {
		if w.grid.cells[c].count == 0 && w.grid.cells[c].recent == 0 {
			continue // most are empty
		}
		settled, recent := w.grid.runs(int32(c))
		for _, run := range [][]uint32{settled, recent} {
			if !slices.IsSorted(run) {
				return breach(6, "cell %d has an unsorted run: %v", c, run)
			}
		}
		list := w.grid.slots(int32(c))
		for _, slot := range list {
			if int(slot) >= len(w.rowOf) || w.rowOf[slot] == noRow {
				return breach(6, "cell %d lists slot %d, which has no body", c, slot)
			}
		}
		listed += len(list)
	}
	if listed != b.len() {
		return breach(6, "%d slots listed, %d bodies", listed, b.len())
	}
	for row, c := range b.cell {
		if want := w.grid.cellOf(b.Pos.X[row], b.Pos.Z[row]); c != want {
			return breach(6, "row %d is recorded in cell %d, but belongs to %d", row, c, want)
		}
		if !slices.Contains(w.grid.slots(c), b.slot[row]) {
			return breach(6, "cell %d does not list slot %d", c, b.slot[row])
		}
	}
	return nil
}

// checkLeftovers audits the scratch memory of a step.
func (w *World) checkLeftovers() error {
	for row, i := range w.contacts.local {
		if i != 0 {
			return breach(13, "row %d is still contact body %d", row, i-1)
		}
	}
	for _, rows := range [][]uint64{w.bodies.Moved, w.bodies.crossed, w.bodies.Stopped} {
		for word, bits := range rows {
			if bits != 0 {
				return breach(13, "unprocessed Moved, crossed or Stopped rows in word %d: %#x", word, bits)
			}
		}
	}
	return nil
}

func (w *World) checkBits() error {
	sets := map[string]*bulk.Bitset{
		"dirty": &w.dirty, "moved": &w.movedSlots, "doomed": &w.doomed, "expiring": &w.expiring, "reserved": &w.deferred.reserved, "unmarked": &w.unmarked,
		"awake": &w.sleepState.awake, "newborn": &w.sleepState.newborn,
	}
	for _, c := range w.components {
		name := "component " + c.info().Name
		sets[name] = c.present()
		for _, marks := range []*bulk.Bitset{&c.changed().past, &c.changed().imaged, &c.changed().next} {
			for word, mask := range bulk.AndNot(marks.View(), c.present().View()) {
				return breach(7, "%s is marked as changed in word %d, for slots %#x without it", name, word, mask)
			}
		}
	}
	for i, r := range w.readers {
		sets[fmt.Sprintf("change reader %d", i)] = &r.pending
		for word, mask := range bulk.AndNot(r.pendingWritten.View(), r.pending.View()) {
			return breach(7, "change reader %d: word %d has written slots %#x that are not pending", i, word, mask)
		}
	}
	for name, set := range sets {
		for slot := range set.All() {
			if w.pool.HandleAt(slot) == 0 {
				return breach(7, "%s bit of free slot %d", name, slot)
			}
		}
	}
	return nil
}

func (w *World) checkWheel() error {
	listed, expiring := 0, 0
	for bucket, head := range w.wheel.heads {
		prev := uint32(0)
		for next := head; next != 0; listed++ {
			record := w.pool.At(next - 1)
			if w.pool.HandleAt(next-1) == 0 || record.expires%wheelBuckets != uint64(bucket) || record.prev != prev {
				return breach(8, "bucket %d lists slot %d: last tick %d, after slot+1 %d", bucket, next-1, record.expires, record.prev)
			}
			if !w.running && record.expires <= w.tick {
				return breach(8, "slot %d outlived tick %d", next-1, record.expires)
			}
			prev, next = next, record.next
		}
	}
	for e, record := range w.pool.All() {
		if record.expires != 0 {
			expiring++
		}
		if w.expiring.Has(e.Index()) != (record.expires != 0) {
			return breach(8, "%v: last tick %d, expiring bit: %t", e, record.expires, w.expiring.Has(e.Index()))
		}
	}
	if listed != expiring {
		return breach(8, "%d entities in the wheel, %d with a lifetime", listed, expiring)
	}
	return nil
}

func (w *World) checkEffects() error {
	f, bound, moving := &w.effects, 0, 0
	for id, e := range f.pool.All() {
		switch e.path.Form {
		case motion.Linear, motion.Orbit:
			moving++
		case motion.Following:
			bound++
		}
		p := f.programs[id.Index()]
		if p == nil || !motion.Finite(e.Center) {
			return breach(9, "effect %v at %v", id, e.Center)
		}
		params := f.params[id.Index()]
		broken := func(v field.Vec4) bool { return !finiteVec4(v) }
		if len(params) != len(p.Params()) || slices.ContainsFunc(params, broken) {
			return breach(9, "effect %v has parameters %v", id, params)
		}
	}
	if bound != f.followers || moving != f.moving {
		return breach(9, "%d effects follow an entity, %d counted; %d move, %d counted", bound, f.followers, moving, f.moving)
	}
	return nil
}

func (w *World) checkVolumes() error {
	v := &w.volumes
	for slot, t := range v.triggers {
		if v.known.Has(uint32(slot)) != (t != nil) {
			return breach(14, "slot %d: known bit is %v, but the trigger disagrees", slot, t == nil)
		}
		if t == nil {
			continue
		}
		if t.volume != w.pool.HandleAt(uint32(slot)) || t.members.Has(uint32(slot)) {
			return breach(14, "volume %v at slot %d: not the slot's entity, or inside itself", t.volume, slot)
		}
		for member := range t.members.All() {
			if uint64(member) >= uint64(len(w.rowOf)) || w.rowOf[member] == noRow {
				return breach(14, "slot %d without a body is inside %v", member, t.volume)
			}
		}
	}
	return nil
}
