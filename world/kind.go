package world

import (
	"fmt"
	"math"
	"math/bits"
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

// fill gives a slot all components of the kind, with its values. Small ones are
// moved in two halves, which may overlap, without a call.
func (k *kind) fill(slot uint32) {
	word, bit := wordOf(slot)
	for i := range k.defaults {
		d := &k.defaults[i]
		if !d.into.presence.Join(word, bit) {
			d.into.presence.Set(slot)
		}
		if d.local != nil {
			d.local(slot)
			continue
		}
		to, from := d.into.place(slot, d.size), d.value
		switch {
		case d.size-8 <= 8:
			head, tail := *(*uint64)(from), *(*uint64)(unsafe.Add(from, d.size-8))
			*(*uint64)(to), *(*uint64)(unsafe.Add(to, d.size-8)) = head, tail
		case d.size == 1:
			*(*uint8)(to) = *(*uint8)(from)
		case d.size-4 <= 4:
			head, tail := *(*uint32)(from), *(*uint32)(unsafe.Add(from, d.size-4))
			*(*uint32)(to), *(*uint32)(unsafe.Add(to, d.size-4)) = head, tail
		default:
			copy(unsafe.Slice((*byte)(to), d.size), unsafe.Slice((*byte)(from), d.size))
		}
	}
}

// fillWord is fill for some of 64 neighbouring slots: a component at a time.
func (k *kind) fillWord(word uint32, mask uint64) {
	for i := range k.defaults {
		d := &k.defaults[i]
		d.into.presence.SetWord(word, d.into.presence.Word(word)|mask)
		values := d.into.place(word<<6, d.size)
		from := unsafe.Slice((*byte)(d.value), d.size)
		for rest := mask; rest != 0; rest &= rest - 1 {
			slot := uint32(bits.TrailingZeros64(rest))
			switch to := unsafe.Add(values, uintptr(slot)*d.size); {
			case d.local != nil:
				d.local(word<<6 | slot)
			case d.size-8 <= 8:
				*(*uint64)(to), *(*uint64)(unsafe.Add(to, d.size-8)) = *(*uint64)(d.value), *(*uint64)(unsafe.Add(d.value, d.size-8))
			default:
				copy(unsafe.Slice((*byte)(to), d.size), from)
			}
		}
	}
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
