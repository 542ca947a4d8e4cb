package world

import (
	"fmt"
	"math"
	"unsafe"
)

// KindID names a kind of this world: its place in Kinds.
type KindID uint16

// Kind is a named way to spawn an entity.
type Kind struct {
	Name     string
	Body     *BodyDef // nil: the entity has no place in space
	Priority float32  // weight in replication, relative to other kinds; 0 means 1 to it
}

// BodyDef is what all bodies of a kind have in common.
type BodyDef struct {
	Mass        float32 // kg; 0 means 1
	Drag        float32 // 1/s: how fast the body takes on the velocity of the wind, or of still air
	Radius      float32 // metres: it touches the ground with its centre that high, and other bodies if Solid
	Friction    float32 // Coulomb's coefficient on the ground; between two bodies, the geometric mean
	Restitution float32 // 0 to 1: share of the speed of impact that a bounce keeps; between two bodies, the larger
	Solid       bool    // a sphere of Radius that other solid bodies cannot enter
	Layers      Layers  // that it is in; 0 means DefaultLayer
	Kinematic   bool    // moved by SetVelocity and SetPosition alone: no forces, no gravity, no ground, no contacts push it
}

// kind keeps what a body's row looks up each tick, and which components a spawn
// fills in.
type kind struct {
	def      Kind
	params   bodyParams
	defaults []kindDefault // ascending by component
}

// kindDefault is a component's value for the entities of a kind. All that a
// spawn needs is here, since it does several in a row: a tenth less for a spawn
// and a destroy of five components than a method of each component.
type kindDefault struct {
	component int
	into      *storage
	value     unsafe.Pointer
	size      uintptr
	local     func(slot uint32) // instead of the copy, where pointers may be: the collector must see them move
}

func (d *kindDefault) fill(slot uint32) {
	d.into.presence.Set(slot)
	if d.local != nil {
		d.local(slot)
		return
	}
	to := d.into.place(slot, d.size)
	if last := d.size - 8; last <= 8 { // two moves, which may overlap, and no call
		head, tail := *(*uint64)(d.value), *(*uint64)(unsafe.Add(d.value, last))
		*(*uint64)(to), *(*uint64)(unsafe.Add(to, last)) = head, tail
		return
	}
	copy(unsafe.Slice((*byte)(to), d.size), unsafe.Slice((*byte)(d.value), d.size))
}

// bodyParams are by kind, not by row: a few cache lines for all bodies instead
// of 20 bytes more to exchange whenever one falls asleep.
type bodyParams struct {
	invMass     float32 // 0: kinematic
	coupling    float32 // share of the difference to the wind taken on each tick
	radius      float32
	friction    float32
	restitution float32
	layers      Layers
	solid       bool
}

// AddKind adds a kind. Its number counts up from 0. The error is the caller's:
// a name that is empty or taken, a number out of its range, or too many kinds.
func (w *World) AddKind(k Kind) (KindID, error) {
	if k.Name == "" {
		return 0, fmt.Errorf("%w: a kind needs one", ErrName)
	}
	for _, other := range w.kinds {
		if other.def.Name == k.Name {
			return 0, fmt.Errorf("%w: kind %q was added already", ErrName, k.Name)
		}
	}
	if len(w.kinds) > math.MaxUint16 {
		return 0, fmt.Errorf("%w: %d kinds are the most", ErrFull, math.MaxUint16+1)
	}
	if !within(k.Priority, 0, math.MaxFloat32) {
		return 0, fmt.Errorf("%w: kind %q: Priority is %v; it must not be negative", ErrValue, k.Name, k.Priority)
	}
	next := kind{def: k}
	if k.Body != nil {
		body := *k.Body
		if body.Mass == 0 {
			body.Mass = 1
		}
		if body.Layers == 0 {
			body.Layers = DefaultLayer
		}
		if err := w.checkBody(k.Name, body); err != nil {
			return 0, err
		}
		next.def.Body = &body
		next.params = w.paramsOf(body)
		w.radius = max(w.radius, body.Radius)
		if body.Solid {
			w.solid, w.solidRadius = true, max(w.solidRadius, body.Radius)
		}
	}
	w.kinds = append(w.kinds, next)
	w.changesSetup()
	return KindID(len(w.kinds) - 1), nil
}

func (w *World) checkBody(name string, b BodyDef) error {
	for _, c := range []struct {
		field          string
		got, low, high float32
	}{
		{"Mass", b.Mass, 1e-6, 1e9},
		{"Drag", b.Drag, 0, 1e6},
		{"Radius", b.Radius, 0, w.cfg.HalfExtent.Y},
		{"Friction", b.Friction, 0, 1e3},
		{"Restitution", b.Restitution, 0, 1},
	} {
		if !within(c.got, c.low, c.high) {
			return fmt.Errorf("%w: kind %q: body %s is %v; choose %v to %v", ErrValue, name, c.field, c.got, c.low, c.high)
		}
	}
	return nil
}

// paramsOf prepares a tick's numbers. The coupling is the implicit form of
// dv/dt = drag*(wind-v), which no drag and no tick length makes unstable.
func (w *World) paramsOf(b BodyDef) bodyParams {
	p := bodyParams{
		radius: b.Radius, friction: b.Friction, restitution: b.Restitution, layers: b.Layers, solid: b.Solid,
	}
	d := float32(b.Drag * w.dt)
	p.coupling = d / (1 + d)
	if !b.Kinematic {
		p.invMass = 1 / b.Mass
	}
	return p
}

// Kinds returns a copy of all kinds, in the order of their numbers.
func (w *World) Kinds() []Kind {
	all := make([]Kind, len(w.kinds))
	for i, k := range w.kinds {
		all[i] = k.def
		if k.def.Body != nil {
			body := *k.def.Body
			all[i].Body = &body
		}
	}
	return all
}
