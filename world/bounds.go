package world

import "fmt"

// Bounds says what happens to a body that moves out of the world. A place that
// is given to Spawn or SetPosition is clamped, whatever the rule.
type Bounds uint8

const (
	// BoundsClamp puts the body on the bound, and stops it along that axis.
	BoundsClamp Bounds = iota
	// BoundsBounce throws it back, with the share of its speed that its kind's
	// Restitution keeps.
	BoundsBounce
	// BoundsDestroy puts it on the bound, and destroys it at the end of the step.
	BoundsDestroy
)

// String returns "clamp", "bounce" or "destroy".
func (b Bounds) String() string {
	switch b {
	case BoundsClamp:
		return "clamp"
	case BoundsBounce:
		return "bounce"
	case BoundsDestroy:
		return "destroy"
	}
	return fmt.Sprintf("Bounds(%d)", uint8(b))
}

// clamped returns v within the bounds.
func (w *World) clamped(v Vec3) Vec3 {
	e := &w.cfg.HalfExtent
	return Vec3{
		max(min(v.X, e.X), -e.X),
		max(min(v.Y, e.Y), 0),
		max(min(v.Z, e.Z), -e.Z),
	}
}

// enclosed returns the place and velocity of a body that got to at: inside the
// bounds, unless it is to be destroyed for leaving them, which follow does.
func (w *World) enclosed(params *bodyParams, at, v Vec3) (Vec3, Vec3) {
	e := &w.cfg.HalfExtent
	if at.X >= -e.X && at.X <= e.X && at.Y >= 0 && at.Y <= e.Y && at.Z >= -e.Z && at.Z <= e.Z {
		return at, v // mostly; min and max, which think of NaN and -0, take three times as long
	}
	if w.cfg.Bounds == BoundsDestroy {
		return at, v
	}
	inside := w.clamped(at)
	back := float32(0)
	if w.cfg.Bounds == BoundsBounce {
		back = -params.restitution
	}
	if inside.X != at.X {
		v.X = w.rebound(v.X, back)
	}
	if inside.Y != at.Y {
		v.Y = w.rebound(v.Y, back)
	}
	if inside.Z != at.Z {
		v.Z = w.rebound(v.Z, back)
	}
	return inside, v
}

// rebound is what is left of a speed against a bound. What is slower than a
// bounce on the ground has to be stays there.
func (w *World) rebound(v, share float32) float32 {
	if share == 0 || v >= -w.bounce && v <= w.bounce {
		return 0
	}
	return float32(v * share)
}
