package motion

import "fmt"

// Bounds selects what happens to a body that moves out of the world.
type Bounds uint8

const (
	// BoundsClamp puts the body on the bound and stops it along that axis.
	BoundsClamp Bounds = iota
	// BoundsBounce reflects it, keeping the share Restitution of its speed.
	BoundsBounce
	// BoundsDestroy leaves the body outside: the caller puts it on the bound and
	// destroys it at the end of the tick.
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

// Clamp returns the point of the world nearest to at.
func (s *Stepper) Clamp(at Vec3) Vec3 {
	e := &s.HalfExtent
	return Vec3{
		max(min(at.X, e.X), -e.X),
		max(min(at.Y, e.Y), 0),
		max(min(at.Z, e.Z), -e.Z),
	}
}

// Enclose applies Params.Bounds to a body of kind k at at with velocity v. Under
// BoundsDestroy it changes nothing.
func (s *Stepper) Enclose(k *Kind, at, v Vec3) (Vec3, Vec3) {
	e := &s.HalfExtent
	if at.X >= -e.X && at.X <= e.X && at.Y >= 0 && at.Y <= e.Y && at.Z >= -e.Z && at.Z <= e.Z {
		return at, v // fast path: min and max, which handle NaN and -0, take three times as long
	}
	if s.Bounds == BoundsDestroy {
		return at, v
	}
	inside := s.Clamp(at)
	back := float32(0)
	if s.Bounds == BoundsBounce {
		back = -k.Restitution
	}
	if inside.X != at.X {
		v.X = s.rebound(v.X, back)
	}
	if inside.Y != at.Y {
		v.Y = s.rebound(v.Y, back)
	}
	if inside.Z != at.Z {
		v.Z = s.rebound(v.Z, back)
	}
	return inside, v
}

// rebound returns the speed after hitting a bound: zero for impacts too slow to bounce
// on the ground.
func (s *Stepper) rebound(v, share float32) float32 {
	if share == 0 || v >= -s.MinImpact && v <= s.MinImpact {
		return 0
	}
	return float32(v * share)
}
