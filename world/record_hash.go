package world

// Names of the parts of the state. A recording hashes each part separately, and then each
// component, so that a divergence can name its part.
const (
	partState    = "state" // StateHash
	partClock    = "clock and random generator"
	partEntities = "entities"
	partBodies   = "bodies"
	partEffects  = "effects"
	partVolumes  = "volumes"

	partComponent = "component " // and its name

	fixedParts = 6 // the parts of every world, before its components
)

// hashParts returns the names of the hashes that appendHashes appends.
func (w *World) hashParts() []string {
	names := []string{partState, partClock, partEntities, partBodies, partEffects, partVolumes}
	for _, c := range w.components {
		if c.info().Local {
			continue
		}
		names = append(names, partComponent+c.info().Name)
	}
	return names
}

// recordedSlots bounds the slots that a recording hashes after one tick, so that the pause does not grow
// with the world: it is 3 ms, and was 200 in a world of a million.
const recordedSlots = 16 << 10

// recordedRange returns the slots that a recording with hashes after each every-th tick hashes now: all,
// or in a larger world a range that moves on each time.
func (w *World) recordedRange(every uint64) slotRange {
	slots := w.pool.Slots()
	first := windowOf(w.tick/every, slots, recordedSlots)
	return slotRange{first, min(first+recordedSlots, slots)}
}

// appendHashes appends a hash of the whole state in a range of slots, and a hash of each part.
func (w *World) appendHashes(list []uint64, in slotRange) []uint64 {
	clock := hash(w.tick)
	var state [64]byte
	random, _ := w.pcg.AppendBinary(state[:0]) // the error is always nil
	list = append(list, w.hashState(in), uint64(clock.bytes(random)))
	list = append(list, w.hashTenants(in), w.hashBodies(in), uint64(w.hashEffects(0)), uint64(w.hashVolumes(0, in)))
	for _, c := range w.components {
		if c.info().Local {
			continue
		}
		list = append(list, uint64(hashComponent(0, c, in)))
	}
	return list
}

// hashTenants hashes live entities, their kinds and lifetimes, and all generations.
func (w *World) hashTenants(in slotRange) uint64 {
	h := hash(len(w.generations))
	for _, g := range w.generations[in.first:in.end] {
		h = h.add(uint64(g))
	}
	live := w.pool.Live()
	for slot, ok := live.Next(in.first); ok && slot < in.end; slot, ok = live.Next(slot + 1) {
		record, doomed := w.pool.At(slot), uint64(0)
		if w.doomed.Has(slot) {
			doomed = 1 | uint64(w.causes[slot])<<1
		}
		h = h.add(uint64(slot) | uint64(record.kind)<<32 | doomed<<48).add(record.expires)
	}
	return uint64(h)
}

// hashBodies hashes positions, velocities and rest timers by slot.
func (w *World) hashBodies(in slotRange) uint64 {
	h, b := hash(0), &w.bodies
	for slot := in.first; slot < in.end; slot++ {
		row := w.rowOf[slot]
		if row == noRow {
			continue
		}
		var awake uint64
		if b.willBeAwake(int(row)) {
			awake = 1
		}
		h = h.add(uint64(slot) | awake<<32).vec(b.Position(int(row))).vec(b.Velocity(int(row))).add(uint64(b.Rest[row]))
	}
	return uint64(h)
}
