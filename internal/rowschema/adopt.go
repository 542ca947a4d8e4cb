package rowschema

import (
	"math"
	"slices"
	"unsafe"

	"github.com/worldd/worldd/replication/schema"
)

// nearEdge is the distance, in steps, between the value that Adopt sets and the centre of
// its step. Half a step would be the edge of the next step.
const nearEdge = 0.5 - 1.0/1024

// Near reports whether the struct at v, a pointer to the component's type, quantises to in.
// Ranged floats and angles may be one step off, because two close numbers may lie on both
// sides of an edge between steps. If only one side has float32, its rounding is allowed for.
func (c *Component) Near(in []uint32, v any) bool {
	p := c.structAt(v)
	for i := range c.fields {
		if !c.isNear(i, in, p) {
			return false
		}
	}
	return true
}

func (c *Component) isNear(i int, in []uint32, p unsafe.Pointer) bool {
	f := &c.fields[i]
	if f.memory == memNone {
		return true
	}
	var now, scratch [2]uint32
	quantise(c.fields[i:i+1], f.Index, p, now[:])
	want := f.nearestInStruct(in[f.Index-c.offset:][:f.Values()], &scratch)
	if now[0] == want[0] && (len(want) == 1 || now[1] == want[1]) {
		return true
	}
	off := f.stepsTo(want[0], now[0])
	return off == 1 || off == -1 || f.isRoundedAlike(unsafe.Add(p, f.offset), want)
}

// Distances writes to out, by field, how far the struct at v is from in: 0 where Near finds no
// difference. Numbers have the unit of the field, angles and rotations are in radians. A bool or
// handle that differs has 1, a number that is not finite +Inf.
func (c *Component) Distances(in []uint32, v any, out []float64) {
	p := c.structAt(v)
	for i := range c.fields {
		out[i] = 0
		if !c.isNear(i, in, p) {
			out[i] = c.distance(i, in, p)
		}
	}
}

func (c *Component) distance(i int, in []uint32, p unsafe.Pointer) float64 {
	f := &c.fields[i]
	at, want := unsafe.Add(p, f.offset), in[f.Index-c.offset:][:f.Values()]
	d := 1.0
	switch {
	case f.memory == memRotation:
		q := f.quaternion(want[0])
		turn := rotationBetween((*[4]float32)(at), &q)
		d = math.Hypot(math.Hypot(turn[0], turn[1]), turn[2])
	case f.isFloat() && f.angle:
		d = math.Remainder(f.load(at)-f.float(want), 2*math.Pi)
	case f.isFloat():
		d = f.load(at) - f.float(want)
	case f.Type == schema.TypeInt || f.Type == schema.TypeUint || f.Type == schema.TypeEnum:
		var now [2]uint32
		quantise(c.fields[i:i+1], f.Index, p, now[:])
		d = f.integerAsFloat(now[:len(want)]) - f.integerAsFloat(want)
	}
	if math.IsNaN(d) {
		return math.Inf(1)
	}
	return math.Abs(d)
}

func (f *field) integerAsFloat(from []uint32) float64 {
	if f.signed() {
		return float64(int64(f.integer(from)))
	}
	return float64(f.integer(from))
}

// roundings is how many steps of float32 two results of a computation may differ by if one side
// rounds to float32: half a step at the beginning and in each tick, until the next snapshot.
const roundings = 4

// isRoundedAlike reports whether a float equals want up to the rounding of float32, if one side holds
// float32 and the other more digits.
func (f *field) isRoundedAlike(at unsafe.Pointer, want []uint32) bool {
	if f.memory != memNarrow && f.memory != memWide {
		return false
	}
	x, y := float64(narrow(f.load(at))), float64(narrow(f.float(want)))
	off := x - y
	if f.angle {
		off = math.Remainder(off, 2*math.Pi)
	}
	largest := float32(max(math.Abs(x), math.Abs(y)))
	step := float64(largest - math.Nextafter32(largest, 0))
	return math.Abs(off) <= roundings*step && !math.IsInf(off, 0)
}

// Equals reports whether the struct at v, a pointer to the component's type, quantises to in, as
// far as the type can represent in. scratch has the component's number of values.
func (c *Component) Equals(in []uint32, v any, scratch []uint32) bool {
	c.Quantise(v, scratch)
	if slices.Equal(in, scratch) {
		return true
	}
	for i := range c.fields {
		f := &c.fields[i]
		at := f.Index - c.offset
		var nearest [2]uint32
		want := f.nearestInStruct(in[at:][:f.Values()], &nearest)
		if f.memory != memNone && !slices.Equal(want, scratch[at:][:f.Values()]) {
			return false
		}
	}
	return true
}

// stepsTo returns the distance in steps from number now to number want of a ranged float or
// angle; 0 for other fields.
func (f *field) stepsTo(want, now uint32) int64 {
	switch off := int64(want) - int64(now); {
	case f.ranged:
		return off
	case !f.angle:
		return 0
	case off == int64(f.Max):
		return -1
	case off == -int64(f.Max):
		return 1
	default:
		return off
	}
}

// beside returns a float just inside the step of number n, at the edge next to the float's
// present number, which is n - off. off is 1 or -1.
func (f *field) beside(n uint32, off int64) float64 {
	if f.angle {
		return f.radians(n) - float64(off)*math.Ldexp(2*math.Pi, -int(f.Bits))*nearEdge
	}
	return f.value(n) - float64(float64(off)*f.Step*nearEdge)
}

// Adopt changes the struct at v, a pointer to the component's type, as little as needed so
// that it quantises to in. A field that already does keeps its precision. A ranged float or
// an angle that is one step off moves just across the edge of the step, and so never away
// from the number that was quantised. Restore sets all other fields.
func (c *Component) Adopt(in []uint32, v any) {
	p := c.structAt(v)
	for i := range c.fields {
		f, alone := &c.fields[i], c.fields[i:i+1]
		if f.memory == memNone {
			continue
		}
		var now, scratch [2]uint32
		quantise(alone, f.Index, p, now[:])
		from := in[f.Index-c.offset:][:f.Values()]
		want := f.nearestInStruct(from, &scratch)
		if now[0] == want[0] && (len(want) == 1 || now[1] == want[1]) {
			continue
		}
		if off := f.stepsTo(want[0], now[0]); off == 1 || off == -1 {
			f.store(unsafe.Add(p, f.offset), f.beside(want[0], off))
			quantise(alone, f.Index, p, now[:])
			if now[0] == want[0] {
				continue
			}
		}
		restore(alone, f.Index, true, from, p)
	}
}
