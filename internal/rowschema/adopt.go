package rowschema

import (
	"math"
	"slices"
	"unsafe"
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
		f := &c.fields[i]
		if f.memory == memNone {
			continue
		}
		var now, scratch [2]uint32
		quantise(c.fields[i:i+1], f.Index, p, now[:])
		want := f.nearestInStruct(in[f.Index-c.offset:][:f.Values()], &scratch)
		same := now[0] == want[0] && (len(want) == 1 || now[1] == want[1])
		if off := f.stepsTo(want[0], now[0]); !same && off != 1 && off != -1 && !f.isRoundedAlike(unsafe.Add(p, f.offset), want) {
			return false
		}
	}
	return true
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
