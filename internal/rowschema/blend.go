package rowschema

import (
	"math"
	"unsafe"

	"github.com/worldd/worldd/replication/schema"
)

// Blend interpolates between two states of a component for rendering, and writes the result
// to the struct that v points to. ratio is 0 at from, 1 at to, and above 1 beyond to. owner
// tells whether the receiver owns the entity. If not, fields sent only to owners stay
// unchanged, like fields that are not replicated.
//
//	ranged and raw floats   linear
//	angles                  linear, the shorter way
//	quaternions             normalised linear, the shorter way
//	all others              from below ratio 1, to otherwise
//
// If ratio is above 1, only fields with predict=linear are extrapolated; they stay in their
// range.
func (c *Component) Blend(owner bool, from, to []uint32, ratio float64, v any) {
	p := c.structAt(v)
	near := from
	if ratio >= 1 {
		near = to
	}
	c.restore(owner, near, p)
	for i := range c.fields {
		f := &c.fields[i]
		if at := f.Index - c.offset; f.moves(ratio) && f.isSentTo(owner) && (from[at] != to[at] || f.Kind == schema.KindRaw64) {
			f.blend(from[at:], to[at:], ratio, unsafe.Add(p, f.offset))
		}
	}
}

// moves reports whether the field at ratio differs from both states.
func (f *field) moves(ratio float64) bool {
	if ratio <= 0 || ratio >= 1 && !f.Linear {
		return false
	}
	return f.isFloat() || f.memory == memRotation
}

func (f *field) blend(from, to []uint32, ratio float64, at unsafe.Pointer) {
	if f.Kind == schema.KindRotation {
		*(*[4]float32)(at) = nlerp(f.quaternion(from[0]), f.quaternion(to[0]), ratio)
		return
	}
	var v float64
	switch {
	case f.ranged:
		a, b := float64(from[0]), float64(to[0])
		n := min(max(a+float64((b-a)*ratio), 0), float64(f.Max))
		v = f.Low + float64(n*f.Step)
	case f.angle:
		v = f.lerpAngle(from[0], to[0], ratio)
	case f.Kind == schema.KindRaw32:
		a, b := float64(math.Float32frombits(from[0])), float64(math.Float32frombits(to[0]))
		v = lerp(a, b, ratio)
	default:
		v = lerp(math.Float64frombits(getUint64(from)), math.Float64frombits(getUint64(to)), ratio)
	}
	f.store(at, v)
}

// lerp returns a + (b-a)*ratio, or a if that is not finite.
func lerp(a, b, ratio float64) float64 {
	v := a + float64((b-a)*ratio)
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return a
	}
	return v
}

// lerpAngle interpolates between two angles the shorter way, in radians from -pi to pi.
func (f *field) lerpAngle(from, to uint32, ratio float64) float64 {
	unused := 32 - f.Bits
	way := math.Ldexp(float64(int32((to-from)<<unused)>>unused), -int(f.Bits)) // share of a whole turn
	v := math.Ldexp(float64(from), -int(f.Bits)) + float64(way*ratio)
	return (v - math.Floor(v+0.5)) * (2 * math.Pi)
}

// nlerp returns the normalised a + (b-a)*ratio, where b or -b is used, the nearer to a.
// Over the small angles between two snapshots its speed is nearly constant.
func nlerp(a, b [4]float32, ratio float64) (q [4]float32) {
	var dot, length float64
	for i := range a {
		dot += float64(float64(a[i]) * float64(b[i]))
	}
	sign := math.Copysign(1, dot)
	var v [4]float64
	for i := range v {
		v[i] = float64(a[i]) + float64((float64(float64(b[i])*sign)-float64(a[i]))*ratio)
		length += float64(v[i] * v[i])
	}
	length = math.Sqrt(length) // not 0: a and b are at most 90 degrees apart
	for i := range q {
		q[i] = float32(v[i] / length)
	}
	return q
}
