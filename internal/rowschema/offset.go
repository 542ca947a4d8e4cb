package rowschema

import (
	"math"
	"unsafe"

	"github.com/worldd/worldd/internal/invariants"
)

// Span describes a group of the numbers that Offset writes for a component.
type Span struct {
	First, Count int
	// Turn marks an angle, or the axis of a rotation times its angle, in radians. Other
	// spans are a number or a vector, in the units of their fields.
	Turn bool
}

// Spans returns the spans of the component's offsets, in order: one for each vector, other
// float, angle and quaternion. All other fields have no span.
func (c *Component) Spans() (spans []Span) {
	next := 0
	for i := 0; i < len(c.fields); i++ {
		span := Span{First: next}
		switch f := &c.fields[i]; {
		case f.Vector:
			span.Count = 3
			i += 2
		case f.memory == memRotation:
			span.Count, span.Turn = 3, true
		case f.isFloat():
			span.Count, span.Turn = 1, f.angle
		default:
			continue
		}
		spans = append(spans, span)
		next += span.Count
	}
	return spans
}

func (f *field) isFloat() bool { return f.memory >= memFloat32 && f.memory <= memWide }

// Offset writes the difference between the structs at from and to, both pointers to the
// component's type, to out: the numbers of all spans. Turns go the shorter way. A
// difference that is not finite counts as 0.
func (c *Component) Offset(from, to any, out []float64) {
	a, b, n := c.structAt(from), c.structAt(to), 0
	for i := range c.fields {
		f := &c.fields[i]
		switch {
		case f.memory == memRotation:
			turn := rotationBetween((*[4]float32)(unsafe.Add(a, f.offset)), (*[4]float32)(unsafe.Add(b, f.offset)))
			n += copy(out[n:], turn[:])
		case f.isFloat():
			d := f.load(unsafe.Add(b, f.offset)) - f.load(unsafe.Add(a, f.offset))
			if f.angle {
				d = math.Remainder(d, 2*math.Pi)
			}
			if math.IsNaN(d) || math.IsInf(d, 0) {
				d = 0
			}
			out[n] = d
			n++
		}
	}
}

// Move moves the struct at v by a share of an offset. A NaN first becomes the value that
// Quantise would give it.
func (c *Component) Move(v any, by []float64, share float64) {
	p, n := c.structAt(v), 0
	for i := range c.fields {
		f := &c.fields[i]
		switch at := unsafe.Add(p, f.offset); {
		case f.memory == memRotation:
			f.rotate((*[4]float32)(at), [3]float64(by[n:n+3]), share)
			n += 3
		case f.isFloat():
			f.store(at, f.finite(f.load(at))+float64(by[n]*share))
			n++
		}
	}
	if invariants.Enabled {
		invariants.Checkf(n == len(by), "offset of %d numbers, want %d", len(by), n)
	}
}

// finite returns x, or the value that Quantise would give a NaN.
func (f *field) finite(x float64) float64 {
	switch {
	case x == x || !f.ranged && !f.angle:
		return x
	case f.angle:
		return 0
	}
	return f.value(f.number(x))
}

func (f *field) load(at unsafe.Pointer) float64 {
	if f.memory <= memNarrow {
		return float64(*(*float32)(at))
	}
	return *(*float64)(at)
}

func (f *field) store(at unsafe.Pointer, x float64) {
	switch {
	case f.memory == memFloat32:
		*(*float32)(at) = float32(x)
	case f.memory == memNarrow:
		*(*float32)(at) = narrow(x)
	default:
		*(*float64)(at) = x
	}
}

// rotationBetween returns the rotation from a to b as its axis times its angle, at most pi.
func rotationBetween(a, b *[4]float32) (turn [3]float64) {
	from, to := unit(a), unit(b)
	d := multiply(to, [4]float64{-from[0], -from[1], -from[2], from[3]})
	sine := math.Sqrt(d[0]*d[0] + d[1]*d[1] + d[2]*d[2])
	if sine == 0 {
		return turn
	}
	angle := 2 * math.Atan2(sine, math.Abs(d[3]))
	for i := range turn {
		turn[i] = d[i] / sine * math.Copysign(angle, d[3])
	}
	return turn
}

// rotate turns q by share of turn.
func (f *field) rotate(q *[4]float32, turn [3]float64, share float64) {
	if q[0] != q[0] || q[1] != q[1] || q[2] != q[2] || q[3] != q[3] {
		*q = f.quaternion(f.smallestThree(q))
	}
	angle := math.Sqrt(turn[0]*turn[0] + turn[1]*turn[1] + turn[2]*turn[2])
	if angle == 0 || share == 0 {
		return
	}
	sine, cosine := math.Sincos(angle * share / 2)
	sine /= angle
	for i, v := range multiply([4]float64{turn[0] * sine, turn[1] * sine, turn[2] * sine, cosine}, unit(q)) {
		q[i] = float32(v)
	}
}

// unit returns q with length 1; the identity if q has no length.
func unit(q *[4]float32) (u [4]float64) {
	length := 0.0
	for i, v := range q {
		u[i] = float64(v)
		length += float64(u[i] * u[i])
	}
	length = math.Sqrt(length)
	if !(length > 0) || math.IsInf(length, 0) {
		return [4]float64{3: 1}
	}
	for i := range u {
		u[i] /= length
	}
	return u
}

// multiply returns the rotation b followed by a.
func multiply(a, b [4]float64) [4]float64 {
	return [4]float64{
		a[3]*b[0] + a[0]*b[3] + a[1]*b[2] - a[2]*b[1],
		a[3]*b[1] - a[0]*b[2] + a[1]*b[3] + a[2]*b[0],
		a[3]*b[2] + a[0]*b[1] - a[1]*b[0] + a[2]*b[3],
		a[3]*b[3] - a[0]*b[0] - a[1]*b[1] - a[2]*b[2],
	}
}
