package motion

import (
	"math"

	"github.com/worldd/worldd/field"
)

// KindID is the index of a kind in Stepper.Kinds.
type KindID uint16

// Kind holds what motion needs to know of all bodies of one kind.
type Kind struct {
	InvMass     float32 // 1/kg; 0 for a kinematic body, which only its own velocity moves
	Coupling    float32 // share of the velocity difference to the wind that a tick takes away; see Stepper.Coupling
	Radius      float32 // metres; the body touches the ground with its centre that high
	Friction    float32 // Coulomb's coefficient on the ground
	Restitution float32 // 0 to 1: share of the impact speed that a bounce keeps
	Layers      Layers  // that the kind is in
}

// Feels reports whether an effect with these layers acts on bodies of the kind.
func (k *Kind) Feels(l Layers) bool { return k.InvMass != 0 && l.Selects(k.Layers) }

// Bodies are bodies in parallel columns, one row each. The caller owns the memory,
// and appends and removes rows as it likes between calls.
type Bodies struct {
	Pos, Vel field.Planes // m and m/s
	Rest     []uint32     // ticks at rest
	Kind     []KindID

	// A bit for each row, in words of 64 rows. Calls set bits and never clear them.
	Moved   []uint64 // position or velocity changed
	Stopped []uint64 // the velocity was not finite: the body stands still where it was
}

// Position returns a row's position.
func (b *Bodies) Position(row int) Vec3 {
	return Vec3{b.Pos.X[row], b.Pos.Y[row], b.Pos.Z[row]}
}

// Velocity returns a row's velocity.
func (b *Bodies) Velocity(row int) Vec3 {
	return Vec3{b.Vel.X[row], b.Vel.Y[row], b.Vel.Z[row]}
}

// SetPosition changes a row's position.
func (b *Bodies) SetPosition(row int, at Vec3) {
	b.Pos.X[row], b.Pos.Y[row], b.Pos.Z[row] = at.X, at.Y, at.Z
}

// SetVelocity changes a row's velocity.
func (b *Bodies) SetVelocity(row int, v Vec3) {
	b.Vel.X[row], b.Vel.Y[row], b.Vel.Z[row] = v.X, v.Y, v.Z
}

// MarkMoved sets the row's bit in Moved.
func (b *Bodies) MarkMoved(row int) { b.Moved[row>>6] |= 1 << (row & 63) }

// Limit returns v with at most MaxSpeed. If v is not finite it returns zero, and
// sets the row's bit in Stopped.
func (b *Bodies) Limit(row int, v Vec3) Vec3 {
	if v.Dot(v) <= MaxSpeed*MaxSpeed {
		return v
	}
	return b.limit(row, v)
}

// limit is Limit for a speed that is above MaxSpeed, or not a number.
func (b *Bodies) limit(row int, v Vec3) Vec3 {
	if v.Dot(v) <= overflow {
		return CapSpeed(v)
	}
	b.Stopped[row>>6] |= 1 << (row & 63)
	return Vec3{}
}

// overflow is the largest square of a speed that still counts as a number: beyond
// it, at 10^19 m/s, a body is stopped like one of infinite speed.
const overflow = math.MaxFloat32
