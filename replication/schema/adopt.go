package schema

import (
	"math"
	"unsafe"
)

// nearEdge is how far from the number that a step stands for, in steps, Adopt moves to: half
// a step is on the edge to the next.
const nearEdge = 0.5 - 1.0/1024

// Near reports whether the component at v, a pointer to its type, quantises to in. Ranged floats
// and angles may be one step off: numbers that differ by less may have an edge between them.
func (s *Schema) Near(component int, in []uint32, v any) bool {
	c := &s.components[component]
	p := c.structAt(v)
	for i := c.first; i < c.last; i++ {
		f := &s.fields[i]
		var now [2]uint32
		quantise(s.fields[i:i+1], f.Index, p, now[:])
		want := in[f.Index-c.Offset:][:f.Values()]
		same := now[0] == want[0] && (len(want) == 1 || now[1] == want[1])
		if off := f.stepsTo(want[0], now[0]); !same && off != 1 && off != -1 {
			return false
		}
	}
	return true
}

// stepsTo returns how many steps a float of number now is from number want; 0 for other fields.
func (f *Field) stepsTo(want, now uint32) int64 {
	switch off := int64(want) - int64(now); {
	case f.Ranged:
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

// beside returns the float just across the edge of the step of a number, off steps from which
// it was.
func (f *Field) beside(n uint32, off int64) float64 {
	if f.angle {
		return f.radians(n) - float64(off)*math.Ldexp(2*math.Pi, -int(f.Bits))*nearEdge
	}
	return f.value(n) - float64(float64(off)*f.step*nearEdge)
}

// Adopt changes the component at v, a pointer to its type, as little as needed to quantise to
// in. A field that does so already keeps its precision. A ranged float or an angle that is one
// step off moves just across the edge of the step, which cannot take it farther from the number
// that was quantised. All other fields are as Restore leaves them.
func (s *Schema) Adopt(component int, in []uint32, v any) {
	c := &s.components[component]
	p := c.structAt(v)
	for i := c.first; i < c.last; i++ {
		f, field := &s.fields[i], s.fields[i:i+1]
		var now [2]uint32
		quantise(field, f.Index, p, now[:])
		want := in[f.Index-c.Offset:][:f.Values()]
		if now[0] == want[0] && (len(want) == 1 || now[1] == want[1]) {
			continue
		}
		if off := f.stepsTo(want[0], now[0]); off == 1 || off == -1 {
			f.store(unsafe.Add(p, f.offset), f.beside(want[0], off))
			quantise(field, f.Index, p, now[:])
			if now[0] == want[0] {
				continue
			}
		}
		restore(field, f.Index, true, want, p)
	}
}
