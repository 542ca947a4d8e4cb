package world

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"
	"slices"
	"unsafe"

	"github.com/worldd/worldd/world/motion"
)

// KindID names a kind of this world: its index in Kinds.
type KindID = motion.KindID

// maxKinds is the number of kinds that a KindID can name.
const maxKinds = math.MaxUint16 + 1

// Kind is a named way to spawn an entity.
type Kind struct {
	Name     string
	Was      []string // names in earlier versions of the game, for images and recordings
	Body     *BodyDef // nil: the entity has no position
	Priority float32  // weight in replication relative to other kinds; 0 means 1
	// Exact lets simulating clients compute the kind's bodies from exact states while only
	// motion moves them, instead of receiving quantised rows. A session simulates if its
	// client asks for it and some kind is exact when it joins. At spawn, positions and
	// velocities are rounded to 1/256 m and 1/32 m/s, which the quantised states of package
	// replication represent exactly. Kinds without a Body ignore Exact.
	Exact bool
}

// BodyDef holds the constants of all bodies of a kind.
type BodyDef struct {
	Mass        float32 // kg; 0 means 1
	Drag        float32 // 1/s: rate at which the body adopts the velocity of the wind, or of still air
	Radius      float32 // metres: height of the centre above the ground on contact; also the radius of Solid spheres
	Friction    float32 // Coulomb's coefficient on the ground; between two bodies, the geometric mean
	Restitution float32 // 0 to 1: share of the impact speed kept by a bounce; between two bodies, the larger
	Solid       bool    // a sphere of Radius that other solid bodies cannot enter
	Layers      Layers  // layers of the kind; 0 means DefaultLayer
	Kinematic   bool    // moved only by SetVelocity and SetPosition: forces, gravity, ground and contacts do not affect it
}

// kind holds the data of a kind that a spawn needs. motion.Stepper.Kinds has the constants
// that each row needs every tick: a few cache lines for all bodies, instead of 20 more
// bytes per row that every flush would move.
type kind struct {
	def      Kind
	solid    float32       // radius if solid, otherwise negative
	defaults []kindDefault // ascending by component ID
}

// kindDefault is the default value of one component of a kind. It holds everything that
// a spawn needs, which makes spawning and destroying an entity with five components 10 %
// cheaper than calling a method of each component.
type kindDefault struct {
	component  int
	into       *storage
	size       uintptr
	head, tail uint64 // first and last bytes of a small value, see splitHalves
	large      bool   // more than two halves, or typed
	value      unsafe.Pointer
	typed      func(slot uint32) // copies the value if it may contain pointers, which the garbage collector must see
}

// smallSize is the size up to which values are copied as two, possibly overlapping,
// halves without a call.
const smallSize = 16

// newDefault returns a default value *v. Later, *v must not change.
func newDefault[T any](c *Component[T], v *T) kindDefault {
	d := kindDefault{component: c.id, into: &c.storage, value: unsafe.Pointer(v), size: unsafe.Sizeof(*v)}
	if c.local || len(c.layout.textFields) > 0 {
		c.layout.own(d.value)
		d.typed = func(slot uint32) { c.assign(slot, v) }
	}
	d.large = d.size > smallSize || d.typed != nil
	if !d.large {
		d.head, d.tail = splitHalves(unsafe.Slice((*byte)(d.value), d.size))
	}
	return d
}

// splitHalves returns the head and tail that put writes.
func splitHalves(value []byte) (head, tail uint64) {
	switch n := len(value); {
	case n >= 8:
		return binary.NativeEndian.Uint64(value), binary.NativeEndian.Uint64(value[n-8:])
	case n >= 4:
		return uint64(binary.NativeEndian.Uint32(value)), uint64(binary.NativeEndian.Uint32(value[n-4:]))
	case n >= 2:
		return uint64(binary.NativeEndian.Uint16(value)), uint64(binary.NativeEndian.Uint16(value[n-2:]))
	case n == 1:
		return uint64(value[0]), 0
	}
	return 0, 0
}

// put copies a small value.
func (d *kindDefault) put(to unsafe.Pointer) {
	switch {
	case d.size >= 8:
		*(*uint64)(to), *(*uint64)(unsafe.Add(to, d.size-8)) = d.head, d.tail
	case d.size >= 4:
		*(*uint32)(to), *(*uint32)(unsafe.Add(to, d.size-4)) = uint32(d.head), uint32(d.tail)
	case d.size >= 2:
		*(*uint16)(to), *(*uint16)(unsafe.Add(to, d.size-2)) = uint16(d.head), uint16(d.tail)
	case d.size == 1:
		*(*uint8)(to) = uint8(d.head)
	}
}

// putLarge writes a value that is not small to a slot.
func (d *kindDefault) putLarge(slot uint32) {
	if d.typed != nil {
		d.typed(slot)
		return
	}
	copy(unsafe.Slice((*byte)(d.into.valueAt(slot, d.size)), d.size), unsafe.Slice((*byte)(d.value), d.size))
}

// fill gives a slot all components of the kind with their default values.
func (k *kind) fill(slot uint32) {
	word, bit := wordOf(slot)
	defaults := k.defaults
	for i := range defaults {
		d := &defaults[i]
		if !d.into.presence.Join(word, bit) {
			d.into.presence.Set(slot)
		}
		if d.large {
			d.putLarge(slot)
			continue
		}
		d.put(d.into.valueAt(slot, d.size))
	}
}

// fillWord fills the slots mask of a word like fill, one component at a time.
func (k *kind) fillWord(word uint32, mask uint64) {
	for i := range k.defaults {
		d := &k.defaults[i]
		d.into.presence.SetWord(word, d.into.presence.Word(word)|mask)
		switch {
		case d.large:
			for rest := mask; rest != 0; rest &= rest - 1 {
				d.putLarge(word<<6 | uint32(bits.TrailingZeros64(rest)))
			}
		case d.size >= 8:
			d.putWord(d.into.valueAt(word<<6, d.size), mask)
		default:
			values := d.into.valueAt(word<<6, d.size)
			for rest := mask; rest != 0; rest &= rest - 1 {
				d.put(unsafe.Add(values, uintptr(bits.TrailingZeros64(rest))*d.size))
			}
		}
	}
}

// putWord writes a value of 8 to 16 bytes, which stays in two registers, to the slots mask
// of a word.
func (d *kindDefault) putWord(values unsafe.Pointer, mask uint64) {
	size, head, tail := d.size, d.head, d.tail
	for ; mask != 0; mask &= mask - 1 {
		to := unsafe.Add(values, uintptr(bits.TrailingZeros64(mask))*size)
		*(*uint64)(to), *(*uint64)(unsafe.Add(to, size-8)) = head, tail
	}
}

// AddKind adds a kind and returns its number, counted from 0. The error is ErrName for
// an empty or taken name, ErrValue for a number out of range, or ErrFull.
func (w *World) AddKind(k Kind) (KindID, error) {
	if k.Name == "" {
		return 0, fmt.Errorf("%w: a kind needs a name", ErrName)
	}
	for _, other := range w.kinds {
		if other.def.Name == k.Name {
			return 0, fmt.Errorf("%w: kind %q already exists", ErrName, k.Name)
		}
	}
	if len(w.kinds) >= maxKinds {
		return 0, fmt.Errorf("%w: the world already has %d kinds, the maximum", ErrFull, maxKinds)
	}
	if !within(k.Priority, 0, math.MaxFloat32) {
		return 0, fmt.Errorf("%w: kind %q: Priority is %v; it must not be negative", ErrValue, k.Name, k.Priority)
	}
	next, constants := kind{def: k, solid: -1}, motion.Kind{}
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
		constants = body.constants(&w.motion)
		w.radius = max(w.radius, body.Radius)
		if body.Solid {
			next.solid = body.Radius
			w.solid, w.solidRadius = true, max(w.solidRadius, body.Radius)
		}
	}
	w.kinds, w.motion.Kinds = append(w.kinds, next), append(w.motion.Kinds, constants)
	w.noteSetupChange()
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

// constants returns the kind's constants for package motion.
func (b *BodyDef) constants(s *motion.Stepper) motion.Kind {
	k := motion.Kind{
		Coupling: s.Coupling(b.Drag), Radius: b.Radius, Friction: b.Friction, Restitution: b.Restitution, Layers: b.Layers,
	}
	if !b.Kinematic {
		k.InvMass = 1 / b.Mass
	}
	return k
}

// Motion returns a copy of the constants of motion: those for the whole world and, by
// KindID, those for each kind. A kind without a body has zeros.
func (w *World) Motion() motion.Stepper {
	m := w.motion
	m.Kinds = slices.Clone(m.Kinds)
	return m
}

// kindNamed returns the kind that has the name, or had it, or -1.
func (w *World) kindNamed(name string) int {
	if i := slices.IndexFunc(w.kinds, func(k kind) bool { return k.def.Name == name }); i >= 0 {
		return i
	}
	return slices.IndexFunc(w.kinds, func(k kind) bool { return slices.Contains(k.def.Was, name) })
}

// KindCount returns the number of kinds.
func (w *World) KindCount() int { return len(w.kinds) }

// Kinds returns a copy of all kinds, indexed by KindID.
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
