package motion

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// Columns and rows compute the same bits: in the air and on the ground, across bounds,
// above the speed limit, and in winds that are not finite.
func TestColumnsMoveLikeRows(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 9))
	for round := range 200 {
		s := testStepper(Bounds(round % 3))
		n := 1 + r.IntN(BatchRows)
		seed := r.Uint64()
		a, byRow := turbulent(n, seed)
		b, byColumn := turbulent(n, seed)
		byRow.windy, byRow.pushed = round&1 == 0, round&2 == 0
		byColumn.windy, byColumn.pushed = byRow.windy, byRow.pushed
		s.integrateRows(byRow, a, 0, n)
		s.integrateColumns(byColumn, b, 0, n)
		requireSameBits(t, a, b, "round %d", round)
	}
}

// Without gravity, a zero of either sign may be all that changes.
func TestZerosMoveAlike(t *testing.T) {
	negative := float32(math.Copysign(0, -1))
	for _, v := range []Vec3{{negative, negative, negative}, {negative, 0, 1}, {1, negative, 0}} {
		s := testStepper(BoundsClamp)
		s.Fall, s.Gravity = 0, 0
		a, b := newBodies(48), newBodies(48)
		for row := range a.Kind {
			for _, bodies := range []*Bodies{a, b} {
				bodies.Kind[row] = KindID(row % 3)
				bodies.SetPosition(row, Vec3{negative, float32(row/3) + 2, negative})
				bodies.SetVelocity(row, v)
			}
		}
		s.integrateRows(&Batch{}, a, 0, 48)
		s.integrateColumns(&Batch{}, b, 0, 48)
		requireSameBits(t, a, b, "velocity %v", v)
	}
}

// testStepper has a small world and three kinds that differ in every constant.
func testStepper(rule Bounds) *Stepper {
	s := New(Params{
		TickHz: 60, Gravity: 9.81, HalfExtent: Vec3{20, 20, 20}, Bounds: rule, RestSpeed: 0.08, RestTicks: 30,
	})
	s.Kinds = []Kind{
		{InvMass: 1, Coupling: s.Coupling(1), Radius: 0.5, Restitution: 0.7, Friction: 0.2, Layers: 1},
		{InvMass: 1 / float32(3), Radius: 2, Friction: 0.9, Layers: 2},
		{Coupling: s.Coupling(5), Radius: 1, Layers: 3},
	}
	return &s
}

// newBodies returns n bodies of kind 0 at the origin.
func newBodies(n int) *Bodies {
	b := &Bodies{
		Rest: make([]uint32, n), Kind: make([]KindID, n),
		Moved: make([]uint64, n/64+1), Stopped: make([]uint64, n/64+1),
	}
	for _, p := range []*[]float32{&b.Pos.X, &b.Pos.Y, &b.Pos.Z, &b.Vel.X, &b.Vel.Y, &b.Vel.Z} {
		*p = make([]float32, n)
	}
	return b
}

// scatter sets random kinds, positions in and around testStepper's world, and velocities
// of all magnitudes.
func scatter(b *Bodies, r *rand.Rand) {
	number := func(scale float32) float32 { return float32((2*r.Float32() - 1) * scale) }
	for i := range b.Kind {
		scale := float32(math.Pow(10, float64(r.IntN(5)-2)))
		b.Kind[i] = KindID(r.IntN(3))
		b.SetPosition(i, Vec3{number(21), 10 + number(11), number(21)})
		b.SetVelocity(i, Vec3{number(scale), number(scale), number(scale)})
	}
}

// turbulent returns n scattered bodies and a batch with forces on them, some of them not
// finite.
func turbulent(n int, seed uint64) (*Bodies, *Batch) {
	r := rand.New(rand.NewPCG(seed, 1))
	number := func(scale float32) float32 { return float32((2*r.Float32() - 1) * scale) }
	b, c := newBodies(n), &Batch{}
	scatter(b, r)
	for i := range n {
		c.wind.x[i], c.wind.y[i], c.wind.z[i] = number(30), number(30), number(30)
		c.push.x[i], c.push.y[i], c.push.z[i] = number(30), number(3000), number(30)
		switch r.IntN(30) {
		case 0:
			c.wind.x[i] = float32(math.Inf(1))
		case 1:
			c.push.z[i] = float32(math.NaN())
		case 2:
			b.SetVelocity(i, Vec3{float32(math.Copysign(0, -1)), 0, 0})
		}
	}
	return b, c
}

func requireSameBits(t *testing.T, a, b *Bodies, format string, args ...any) {
	t.Helper()
	for row := range a.Kind {
		for i, pair := range [][2]float32{
			{a.Pos.X[row], b.Pos.X[row]},
			{a.Pos.Y[row], b.Pos.Y[row]},
			{a.Pos.Z[row], b.Pos.Z[row]},
			{a.Vel.X[row], b.Vel.X[row]},
			{a.Vel.Y[row], b.Vel.Y[row]},
			{a.Vel.Z[row], b.Vel.Z[row]},
		} {
			if math.Float32bits(pair[0]) != math.Float32bits(pair[1]) {
				require.Failf(t, "bits", "row %d of %d, column %d: %v and %v; "+format,
					append([]any{row, len(a.Kind), i, pair[0], pair[1]}, args...)...)
			}
		}
	}
	require.Equalf(t, a.Moved, b.Moved, "Moved; "+format, args...)
	require.Equalf(t, a.Stopped, b.Stopped, "Stopped; "+format, args...)
	require.Equalf(t, a.Rest, b.Rest, "Rest; "+format, args...)
}
