package schema

import "unsafe"

// nearEdge is how far from the number that a step stands for, in steps, Adopt moves to: half
// a step is on the edge to the next.
const nearEdge = 0.5 - 1.0/1024

// Adopt changes the component at v, a pointer to its type, as little as needed to quantise to
// in. A field that does so already keeps its precision. A ranged float that is one step off
// moves just across the edge of the step, which cannot take it farther from the number that
// was quantised. All other fields are as Restore leaves them.
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
		if off := int64(want[0]) - int64(now[0]); f.Ranged && (off == 1 || off == -1) {
			f.store(unsafe.Add(p, f.offset), f.value(want[0])-float64(float64(off)*f.step*nearEdge))
			if quantise(field, f.Index, p, now[:]); now[0] == want[0] {
				continue
			}
		}
		restore(field, f.Index, true, want, p)
	}
}
