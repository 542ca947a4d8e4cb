package motion

import (
	"fmt"

	"github.com/worldd/worldd/field"
)

// PathForm selects how an effect's centre moves.
type PathForm uint8

const (
	Fixed     PathForm = iota // at Center
	Linear                    // from Center with Velocity
	Orbit                     // around Center, on the ellipse of AxisU and AxisV
	Following                 // at Center relative to a body, where it was after the last tick
)

// String returns "fixed", "linear", "orbit" or "following".
func (f PathForm) String() string {
	switch f {
	case Fixed:
		return "fixed"
	case Linear:
		return "linear"
	case Orbit:
		return "orbit"
	case Following:
		return "following"
	}
	return fmt.Sprintf("PathForm(%d)", uint8(f))
}

// Path is the way of an effect's centre, evaluated by tick: both sides of a connection
// compute the same bits, at any tick, without the ticks before it. Fields that the form
// does not use are zero.
type Path struct {
	Form         PathForm
	Center       Vec3
	Velocity     Vec3   // m/s, of Linear
	AxisU, AxisV Vec3   // metres, of Orbit: Center + AxisU at angle 0, Center + AxisV a quarter turn later
	Phase, Rate  uint32 // of Orbit: angle at its beginning, and per tick, in turns of 1<<32
}

// At returns the centre ticks after the effect was added, and of Following the offset.
func (p *Path) At(s *Stepper, ticks uint64) Vec3 {
	switch p.Form {
	case Linear:
		t := s.Seconds(ticks)
		c, v := &p.Center, &p.Velocity
		return Vec3{advance(c.X, v.X, t), advance(c.Y, v.Y, t), advance(c.Z, v.Z, t)}
	case Orbit:
		angle := p.Phase + uint32(ticks)*p.Rate // wraps like an angle
		turns := float32(float32(int32(angle)) * (1.0 / (1 << 32)))
		return p.Center.Add(p.AxisU.Scale(field.Sin(turns + 0.25))).Add(p.AxisV.Scale(field.Sin(turns)))
	}
	return p.Center
}

// advance returns a coordinate of a linear path, which is rounded to float32 once.
func advance(c, v float32, seconds float64) float32 {
	return float32(float64(c) + float64(float64(v)*seconds))
}

// maxPathNumber bounds velocities and axes, so that no centre overflows.
const maxPathNumber = 1e6

// Check returns an error unless all numbers of the path are finite, velocities and axes
// at most 1e6, and the form known.
func (p *Path) Check() error {
	if p.Form > Following {
		return fmt.Errorf("unknown path form %d", p.Form)
	}
	if !Finite(p.Center) {
		return fmt.Errorf("the centre %v is not finite", p.Center)
	}
	for _, v := range []Vec3{p.Velocity, p.AxisU, p.AxisV} {
		for _, x := range []float32{v.X, v.Y, v.Z} {
			if !(x >= -maxPathNumber && x <= maxPathNumber) {
				return fmt.Errorf("a velocity or axis %v; at most %d in each direction", v, int(maxPathNumber))
			}
		}
	}
	return nil
}

// Reach is where and on what an effect acts.
type Reach struct {
	Box      field.Box
	Boxed    bool // otherwise it acts everywhere
	Changing bool // its force changes with time: it keeps the bodies awake on which it acts
	Center   Vec3
	Layers   Layers
}

// Set sets the fields that follow from the program and its parameters.
func (r *Reach) Set(p *field.Program, params []field.Vec4) {
	r.Box, r.Boxed = p.Box()
	r.Changing = p.ChangesWithTime(params)
}

// Contains reports whether p is in the reach. It makes the same test as force evaluation,
// on the same rounded difference.
func (r *Reach) Contains(p Vec3) bool {
	if !r.Boxed {
		return true
	}
	x, y, z := p.X-r.Center.X, p.Y-r.Center.Y, p.Z-r.Center.Z
	low, high := &r.Box.Min, &r.Box.Max
	return x >= low[0] && x <= high[0] && y >= low[1] && y <= high[1] && z >= low[2] && z <= high[2]
}

// ActsOn reports whether the effect acts on a body of kind k at p, and wakes it when the
// effect begins, moves, changes or ends.
func (r *Reach) ActsOn(k *Kind, p Vec3) bool { return k.Feels(r.Layers) && r.Contains(p) }
