package world

import (
	"math"

	"github.com/cespare/xxhash/v2"

	"github.com/worldd/worldd/world/motion"
)

// hash folds 64-bit values into 64 bits. Each step is a bijection in either argument
// (multiplication by odd numbers, shift-xor), so a single changed value always changes
// the result. It does not resist adversaries.
type hash uint64

func (h hash) add(v uint64) hash {
	h = (h ^ hash(v)) * 0x9e3779b97f4a7c15
	h = (h ^ h>>29) * 0xbf58476d1ce4e5b9
	return h ^ h>>32
}

func (h hash) float(v float32) hash { return h.add(float32Bits(v)) }

func (h hash) vec(v Vec3) hash { return h.float(v.X).float(v.Y).float(v.Z) }

func (h hash) bytes(b []byte) hash {
	for _, c := range b {
		h = h.add(uint64(c))
	}
	return h
}

func (h hash) text(s string) hash { return h.add(uint64(len(s))).add(xxhash.Sum64String(s)) }

func float32Bits(v float32) uint64 {
	if v != v {
		return 0x7fc00000
	}
	return uint64(math.Float32bits(v))
}

func float64Bits(v float64) uint64 {
	if v != v {
		return 0x7ff8000000000000
	}
	return math.Float64bits(v)
}

// StateHash returns a hash of everything that determines later steps and handles: the tick,
// the random generator, live slots and the newest generation of every slot, kinds,
// lifetimes, components, bodies and effects. It does not depend on the order of rows: two
// worlds have equal hashes even if they received the calls of a tick in different orders.
func (w *World) StateHash() uint64 { return w.hashState(w.allSlots()) }

// slotRange is a range of slots that are hashed.
type slotRange struct{ first, end uint32 }

func (w *World) allSlots() slotRange { return slotRange{0, w.pool.Slots()} }

// hashState is StateHash of a range of slots, and of the state that belongs to none.
func (w *World) hashState(in slotRange) uint64 {
	h := hash(w.cfg.Seed).add(w.tick).add(uint64(w.cfg.TickHz))
	var state [64]byte
	if b, err := w.pcg.AppendBinary(state[:0]); err == nil {
		h = h.bytes(b)
	}
	h = h.add(uint64(w.pool.Slots()))
	for _, g := range w.generations[in.first:in.end] {
		h = h.add(uint64(g))
	}
	live := w.pool.Live()
	for slot, ok := live.Next(in.first); ok && slot < in.end; slot, ok = live.Next(slot + 1) {
		h = w.hashEntity(h, slot)
	}
	for id, c := range w.components {
		if c.info().Local {
			continue
		}
		h = h.add(uint64(id))
		h = hashComponent(h, c, in)
	}
	return uint64(w.hashVolumes(w.hashEffects(h), in))
}

// hashComponent hashes the values of a component.
func hashComponent(h hash, c column, in slotRange) hash {
	present := c.present()
	for slot, ok := present.Next(in.first); ok && slot < in.end; slot, ok = present.Next(slot + 1) {
		h = c.hash(h.add(uint64(slot)), slot)
	}
	return h
}

// hashVolumes hashes the members of volumes, which determine later crossings.
func (w *World) hashVolumes(h hash, in slotRange) hash {
	known := &w.volumes.known
	for slot, ok := known.Next(in.first); ok && slot < in.end; slot, ok = known.Next(slot + 1) {
		h = h.add(uint64(slot))
		for member := range w.volumes.triggers[slot].members.All() {
			h = h.add(uint64(member))
		}
	}
	return h
}

// hashEntity adds an entity and its body.
func (w *World) hashEntity(h hash, slot uint32) hash {
	record := w.pool.At(slot)
	var doomed, awake uint64
	if w.doomed.Has(slot) {
		doomed = 1 | uint64(w.causes[slot])<<1
	}
	h = h.add(uint64(slot) | uint64(record.kind)<<32 | doomed<<48).add(record.expires)
	r := w.rowOf[slot]
	if r == noRow {
		return h
	}
	b, row := &w.bodies, int(r)
	if b.willBeAwake(row) {
		awake = 1
	}
	return hashBody(h, b.Position(row), b.Velocity(row)).add(uint64(b.Rest[row]) | awake<<32)
}

// hashBody adds a position and a velocity, two numbers at a time.
func hashBody(h hash, at, v Vec3) hash {
	h = h.add(float32Bits(at.X) | float32Bits(at.Y)<<32)
	h = h.add(float32Bits(at.Z) | float32Bits(v.X)<<32)
	return h.add(float32Bits(v.Y) | float32Bits(v.Z)<<32)
}

func (w *World) hashEffects(h hash) hash {
	pool := w.effects.pool
	live := pool.Live()
	for slot, ok := live.Next(0); ok; slot, ok = live.Next(slot + 1) {
		h = w.hashEffect(h, slot)
	}
	return h
}

func (w *World) hashEffect(h hash, slot uint32) hash {
	pool := w.effects.pool
	e := pool.At(slot)
	h = h.add(uint64(pool.HandleAt(slot))).add(e.born).add(e.expires)
	h = h.add(uint64(e.mode) | uint64(e.Layers)<<8).vec(e.Center).add(w.effects.programs[slot].Hash())
	if e.follows != 0 {
		h = h.add(uint64(e.follows)).vec(e.path.Center)
	}
	if p := &e.path; p.Form == motion.Linear || p.Form == motion.Orbit {
		h = h.add(uint64(p.Form)).vec(p.Center).vec(p.Velocity).vec(p.AxisU).vec(p.AxisV).add(uint64(p.Phase) | uint64(p.Rate)<<32)
	}
	for _, p := range w.effects.params[slot] {
		for _, x := range p {
			h = h.float(x)
		}
	}
	return h
}
