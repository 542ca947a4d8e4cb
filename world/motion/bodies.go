package motion

import (
	"math"

	"github.com/worldd/worldd/field"
)

// KindID is the index of a kind in Stepper.Kinds.
type KindID uint16

// Kind holds the constants of all bodies of a kind.
type Kind struct {
	InvMass     float32 // 1/kg; 0 for kinematic bodies, which only their own velocity moves
	Coupling    float32 // share of the velocity difference to the wind removed per tick; see Stepper.Coupling
	Radius      float32 // metres; height of the centre when the body touches the ground
	Friction    float32 // Coulomb's coefficient on the ground
	Restitution float32 // 0 to 1: share of the impact speed kept by a bounce
	Layers      Layers  // of the kind
}

// Feels reports whether an effect with these layers acts on bodies of the kind.
func (k *Kind) Feels(l Layers) bool { return k.InvMass != 0 && l.Selects(k.Layers) }

// Bodies holds bodies in parallel columns, one row each. The caller owns the memory and
// may append and remove rows between calls.
type Bodies struct {
	Pos, Vel field.Planes // m and m/s
	Rest     []uint32     // ticks at rest
	Kind     []KindID

	// One bit per row, in words of 64 rows. Calls only set bits.
	Moved   []uint64 // position or velocity changed
	Stopped []uint64 // velocity was not finite: the body stands where it was
}

// Position returns a row's position.
func (b *Bodies) Position(row int) Vec3 {
	return Vec3{b.Pos.X[row], b.Pos.Y[row], b.Pos.Z[row]}
}

// Velocity returns a row's velocity.
func (b *Bodies) Velocity(row int) Vec3 {
	return Vec3{b.Vel.X[row], b.Vel.Y[row], b.Vel.Z[row]}
}

// SetPosition sets a row's position.
func (b *Bodies) SetPosition(row int, at Vec3) {
	b.Pos.X[row], b.Pos.Y[row], b.Pos.Z[row] = at.X, at.Y, at.Z
}

// SetVelocity sets a row's velocity.
func (b *Bodies) SetVelocity(row int, v Vec3) {
	b.Vel.X[row], b.Vel.Y[row], b.Vel.Z[row] = v.X, v.Y, v.Z
}

// planes returns the columns of positions and velocities.
func (b *Bodies) planes() [6]*[]float32 {
	return [6]*[]float32{&b.Pos.X, &b.Pos.Y, &b.Pos.Z, &b.Vel.X, &b.Vel.Y, &b.Vel.Z}
}

// FallAsleep stops a row, as a body that falls asleep requires: zero velocity, zero timer.
func (b *Bodies) FallAsleep(row int) {
	b.SetVelocity(row, Vec3{})
	b.Rest[row] = 0
}

// markMoved sets the row's bit in Moved.
func (b *Bodies) markMoved(row int) { b.Moved[row>>6] |= 1 << (row & 63) }

// Limit returns v capped at MaxSpeed. If v is not finite it returns zero and sets the
// row's bit in Stopped.
func (b *Bodies) Limit(row int, v Vec3) Vec3 {
	if v.Dot(v) <= MaxSpeed*MaxSpeed {
		return v
	}
	return b.limit(row, v)
}

// limit is Limit for speeds above MaxSpeed or NaN.
func (b *Bodies) limit(row int, v Vec3) Vec3 {
	if v.Dot(v) <= overflow {
		return CapSpeed(v)
	}
	b.Stopped[row>>6] |= 1 << (row & 63)
	return Vec3{}
}

// overflow is the largest finite square of a speed. Faster bodies, above 10^19 m/s, are
// stopped like infinitely fast ones.
const overflow = math.MaxFloat32
