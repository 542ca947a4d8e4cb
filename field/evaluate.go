package field

import (
	"fmt"
	"unsafe"
)

// Planes is a structure of arrays: vector i is X[i], Y[i], Z[i]. All three have the
// same length.
type Planes struct{ X, Y, Z []float32 }

// Env is an effect's input besides the points.
type Env struct {
	Time   float64 // seconds, `time` in the text; a float32 would have steps of 1/8 s after twelve days
	Params []Vec4  // in the order of Program.Params; nil means the defaults

	// Origin is the origin of the effect's own space, in metres: `position` in the text is
	// point - Origin, rounded once. A zero Origin costs nothing.
	Origin [3]float32
}

// Evaluate adds the effect at the points to out: out += effect(points - Origin).
//
// All six planes must have the same length. Neither out nor scratch may overlap any other
// slice of the call. Scratch must have at least Scratch() float32s; its content is
// undefined before and after. Evaluate does not allocate.
//
// A point's result depends only on the point, the environment and its own place in out
// (F2). Afterwards the lanes of out that the effect adds to hold no NaN; the other
// lanes keep their bits (F7).
//
// The errors ErrPlanes, ErrOverlap, ErrScratch and ErrParams are the caller's fault and
// leave out unchanged.
func (p *Program) Evaluate(points, out Planes, env Env, scratch []float32) error {
	if err := p.check(&points, &out, &env, scratch); err != nil {
		return err
	}
	if len(p.code) == 0 {
		return nil // the zero Program
	}
	var c call
	c.prepare(p, &env, scratch[p.work:])
	c.run(&points, &out, 0, len(points.X), scratch, false)
	return nil
}

func (p *Program) check(points, out *Planes, env *Env, scratch []float32) error {
	if err := p.checkParams(env); err != nil {
		return err
	}
	return checkMemory(points, out, scratch, p.Scratch())
}

func (p *Program) checkParams(env *Env) error {
	if env.Params != nil && len(env.Params) != len(p.params) {
		return fmt.Errorf("%w: got %d, the program has %d, see Program.Params", ErrParams, len(env.Params), len(p.params))
	}
	return nil
}

// checkMemory validates the slices of a call that needs want float32s of scratch.
func checkMemory(points, out *Planes, scratch []float32, want int) error {
	n := len(points.X)
	if len(points.Y) != n || len(points.Z) != n || len(out.X) != n || len(out.Y) != n || len(out.Z) != n {
		return fmt.Errorf("%w: points %d, %d, %d, out %d, %d, %d; give all six one length", ErrPlanes,
			n, len(points.Y), len(points.Z), len(out.X), len(out.Y), len(out.Z))
	}
	if len(scratch) < want {
		return fmt.Errorf("%w: got %d float32s, want %d, see Scratch", ErrScratch, len(scratch), want)
	}
	if n > 0 && overlap(points, out, scratch[:want]) {
		return fmt.Errorf("%w: give each plane of out and the scratch memory of their own", ErrOverlap)
	}
	return nil
}

// overlap reports whether a plane of out or the scratch overlaps another slice of the
// call. Planes have one nonzero length.
func overlap(points, out *Planes, scratch []float32) bool {
	size, work := uintptr(len(points.X))*4, uintptr(len(scratch))*4
	start := func(s []float32) uintptr { return uintptr(unsafe.Pointer(unsafe.SliceData(s))) }
	x, y, z, s := start(out.X), start(out.Y), start(out.Z), start(scratch)
	// Two ranges of one size overlap if their distance is from -size+1 to size-1: one
	// comparison.
	near := func(a, b uintptr) bool { return a-b+size-1 < 2*size-1 }
	beside := func(a uintptr) bool { return a < s+work && s < a+size }
	for _, in := range [3]uintptr{start(points.X), start(points.Y), start(points.Z)} {
		if near(in, x) || near(in, y) || near(in, z) || beside(in) {
			return true
		}
	}
	return near(x, y) || near(y, z) || near(x, z) || beside(x) || beside(y) || beside(z)
}
