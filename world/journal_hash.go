package world

// A frame holds hashes of a window of slots that moves with each tick. A state that differs is found within as many ticks as
// the world has windows: about windowTicks, or more in a world so large that their cost would grow with it. The bodies of a
// window are not in the cache.
const (
	windowTicks   = 64
	windowSlots   = 1024 // at most
	windowEffects = 64

	journalHashes = 5
)

// partComponents is the part of a frame's hashes that recordings split by component.
const partComponents = "components"

// windowParts names the parts of windowHashes.
var windowParts = [journalHashes]string{partClock, partEntities, partBodies, partComponents, partEffects}

// windowHashes returns hashes of the clock, the counters and one window of the state, for frames of a version.
func (w *World) windowHashes(version uint32) (all [journalHashes]uint32) {
	slots := w.pool.Slots()
	size := windowSize(version, slots)
	first := windowOf(w.tick, slots, size)
	end := min(first+size, slots)
	for i, h := range [journalHashes]hash{
		w.hashClock(), w.hashTenantsIn(first, end), w.hashBodiesIn(first, end), w.hashComponentsIn(first, end), w.hashEffectsIn(first, end),
	} {
		all[i] = uint32(h ^ h>>32)
	}
	return all
}

// windowSize returns the number of slots in a window.
func windowSize(version, slots uint32) uint32 {
	if version == 1 {
		return windowSlots
	}
	return min(max(slots/windowTicks, windowEffects), windowSlots)
}

// windowOf returns the first slot of a tick's window.
func windowOf(tick uint64, slots, size uint32) uint32 {
	windows := uint64(max((slots+size-1)/size, 1))
	return uint32(tick%windows) * size
}

// hashClock hashes the tick, the random generator and all counters.
func (w *World) hashClock() hash {
	h := hash(w.mark()).add(uint64(w.pool.Len()) | uint64(w.pool.Slots())<<32).add(uint64(w.pool.Retired()))
	return h.add(uint64(w.bodies.len()) | uint64(w.bodies.awakeAfterFlush())<<32).add(uint64(w.effects.pool.Len()))
}

func (w *World) hashTenantsIn(first, end uint32) (h hash) {
	live := w.pool.Live()
	for slot := first; slot < end; slot++ {
		own, state := hash(slot), uint64(w.generations[slot])
		if live.Has(slot) {
			record, doomed := w.pool.At(slot), uint64(0)
			if w.doomed.Has(slot) {
				doomed = 1 | uint64(w.causes[slot])<<1
			}
			own, state = own.add(record.expires), state|uint64(record.kind)<<32|doomed<<48
		}
		h = h*31 + own.add(state)
	}
	return h
}

func (w *World) hashBodiesIn(first, end uint32) (h hash) {
	b := &w.bodies
	for slot := first; slot < end; slot++ {
		if w.rowOf[slot] == noRow {
			continue
		}
		row, awake := int(w.rowOf[slot]), uint64(0)
		if b.willBeAwake(row) {
			awake = 1
		}
		h = h*31 + hashBody(hash(slot), b.Position(row), b.Velocity(row)).add(uint64(b.Rest[row])|awake<<32)
	}
	return h
}

func (w *World) hashComponentsIn(first, end uint32) (h hash) {
	for id, c := range w.components {
		if c.info().Local {
			continue
		}
		present := c.present()
		for slot, ok := present.Next(first); ok && slot < end; slot, ok = present.Next(slot + 1) {
			h = h*31 + c.hash(hash(slot).add(uint64(id)), slot)
		}
	}
	return h
}

// hashEffectsIn hashes a window of effects, and the members of volumes whose entities are in a window.
func (w *World) hashEffectsIn(first, end uint32) (h hash) {
	pool := w.effects.pool
	from := windowOf(w.tick, pool.Slots(), windowEffects)
	live := pool.Live()
	for slot, ok := live.Next(from); ok && slot < from+windowEffects; slot, ok = live.Next(slot + 1) {
		h = h*31 + w.hashEffect(hash(slot), slot)
	}
	known := &w.volumes.known
	for slot, ok := known.Next(first); ok && slot < end; slot, ok = known.Next(slot + 1) {
		members := &w.volumes.triggers[slot].members
		for word := range members.WordCount() {
			if mask := members.Word(word); mask != 0 {
				h = h.add(uint64(slot)<<32 | uint64(word)).add(mask)
			}
		}
	}
	return h
}
