package motion

import (
	"encoding/binary"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/field"
	"github.com/worldd/worldd/internal/must"
)

// weather returns every shipped effect around the origin, for all kinds and for some, with
// alternating groups.
func weather(t testing.TB, s *Stepper, tick uint64) []Effect {
	var all []Effect
	for i, name := range append(field.ShippedNames(), field.ShippedNames()...) {
		text := must.Have(field.Shipped(name))
		p := must.Get(field.Compile(text))
		e := Effect{
			Program: p, Mode: Mode(i % 2), Time: s.Seconds(tick),
			Reach: Reach{Layers: [...]Layers{2, 0, 0, 1, 0}[i%5], Center: Vec3{X: float32(5*i) - 20, Y: float32(i), Z: float32(7*i%11) - 5}},
		}
		for _, param := range p.Params() {
			e.Params = append(e.Params, param.Default)
		}
		all = append(all, e)
	}
	return all
}

func forcesOf(t testing.TB, effects []Effect) *Forces {
	f := &Forces{}
	for i := range effects {
		require.NoError(t, f.Add(&effects[i]))
	}
	return f
}

func scattered(n int, seed uint64) *Bodies {
	b := newBodies(n)
	scatter(b, rand.New(rand.NewPCG(seed, 2)))
	return b
}

// tick steps all bodies and stops the bodies that have rested.
func tick(s *Stepper, c *Batch, f *Forces, b *Bodies) {
	s.Step(c, f, b, 0, len(b.Kind))
	for row := range b.Kind {
		if s.CountRest(b, row) {
			b.SetVelocity(row, Vec3{})
			b.Rest[row] = 0
		}
	}
}

// A row is marked as moved if and only if its position or velocity has changed. TestSimIsItsDefinition
// checks the values.
func TestMovedRowsAreMarked(t *testing.T) {
	for _, rule := range []Bounds{BoundsClamp, BoundsBounce, BoundsDestroy} {
		s, b := testStepper(rule), scattered(300, uint64(rule))
		var c Batch
		for now := range uint64(40) {
			clear(b.Moved)
			before := make([][2]Vec3, len(b.Kind))
			for row := range before {
				before[row] = [2]Vec3{b.Position(row), b.Velocity(row)}
			}
			s.Step(&c, forcesOf(t, weather(t, s, now)), b, 0, len(b.Kind))
			for row := range before {
				moved := before[row] != [2]Vec3{b.Position(row), b.Velocity(row)}
				require.Equal(t, moved, b.Moved[row/64]&(1<<(row%64)) != 0, "%v, tick %d, row %d", rule, now, row)
			}
		}
	}
}

// Four seconds of weather, hashed: all machines compute the same bits.
func TestGoldenMotion(t *testing.T) {
	h := fnv.New64a()
	for _, rule := range []Bounds{BoundsClamp, BoundsBounce, BoundsDestroy} {
		s, b := testStepper(rule), scattered(700, 3)
		var c Batch
		for now := range uint64(240) {
			tick(s, &c, forcesOf(t, weather(t, s, now)), b)
		}
		for _, column := range []any{b.Pos.X, b.Pos.Y, b.Pos.Z, b.Vel.X, b.Vel.Y, b.Vel.Z, b.Rest, b.Moved, b.Stopped} {
			require.NoError(t, binary.Write(h, binary.LittleEndian, column))
		}
	}
	require.EqualValues(t, uint64(0xf85057ff2cb912ee), h.Sum64())
}

// M1: the grouping and order of rows, and the number of calls, have no influence.
func TestRowsAreIndependent(t *testing.T) {
	s := testStepper(BoundsBounce)
	r := rand.New(rand.NewPCG(4, 4))
	together, apart := scattered(600, 5), newBodies(600)
	order := r.Perm(600)
	for row, to := range order {
		apart.Kind[to] = together.Kind[row]
		apart.SetPosition(to, together.Position(row))
		apart.SetVelocity(to, together.Velocity(row))
	}
	var c Batch
	for now := range uint64(60) {
		f := forcesOf(t, weather(t, s, now))
		s.Step(&c, f, together, 0, 600)
		for from := 0; from < 600; {
			to := min(600, from+1+r.IntN(40))
			s.Step(&c, f, apart, from, to)
			from = to
		}
	}
	back := newBodies(600)
	for row, at := range order {
		back.Kind[row] = apart.Kind[at]
		back.SetPosition(row, apart.Position(at))
		back.SetVelocity(row, apart.Velocity(at))
	}
	back.Moved, back.Stopped = together.Moved, together.Stopped
	requireSameBits(t, together, back, "after a second")
}

// Accelerate is Step without movement.
func TestAccelerateMovesNothing(t *testing.T) {
	s := testStepper(BoundsClamp)
	f := forcesOf(t, weather(t, s, 9))
	stepped, accelerated, before := scattered(500, 6), scattered(500, 6), scattered(500, 6)
	var c Batch
	s.Step(&c, f, stepped, 0, 500)
	s.Accelerate(&c, f, accelerated, 0, 500)
	require.Equal(t, before.Pos, accelerated.Pos)
	free := 0
	for row := range before.Kind {
		at, e := stepped.Position(row), s.HalfExtent
		if at.Y > 2 && at.Y < e.Y && max(at.X, -at.X) < e.X && max(at.Z, -at.Z) < e.Z { // above every Radius
			require.Equal(t, stepped.Velocity(row), accelerated.Velocity(row))
			free++
		}
	}
	require.Greater(t, free, 100)
}

// A body whose velocity is not finite stops where it was and is reported.
func TestNonFiniteVelocityStops(t *testing.T) {
	s, b := testStepper(BoundsClamp), newBodies(3)
	for row, x := range []float32{float32(math.NaN()), 1e38, 1e18} {
		b.SetPosition(row, Vec3{0, 10, 0})
		b.SetVelocity(row, Vec3{X: x})
	}
	var c Batch
	s.Step(&c, &Forces{}, b, 0, 3)
	require.EqualValues(t, 0b011, b.Stopped[0])
	require.Equal(t, Vec3{0, 10, 0}, b.Position(0))
	require.Equal(t, Vec3{}, b.Velocity(1))
	require.InDelta(t, MaxSpeed, b.Velocity(2).Len(), 1e-3)
}

// M2: effects elsewhere do not influence a body, not even the order of the groups or the
// sign of a zero.
func TestEffectsElsewhereHaveNoInfluence(t *testing.T) {
	s := testStepper(BoundsBounce)
	s.Kinds[0].Coupling = 0
	everywhere := must.Get(field.Compile("output += (-1e-45, 0.3, position.y)\n"))
	boxed := must.Get(field.Compile("box (-1, -1, -1) (1, 1, 1)\noutput += (5, 5, 5)\n"))
	var near, all []Effect
	for i := range 24 {
		e := Effect{Program: everywhere, Mode: Mode(i / 5 % 2), Reach: Reach{Layers: Layers(i * 5 % 4), Center: Vec3{Y: float32(i) / 3}}}
		far := Effect{Program: boxed, Mode: Mode(i % 2), Reach: Reach{Layers: Layers(i * 3 % 4), Center: Vec3{X: 1000}}}
		if i%4 == 1 && e.Mode == Wind {
			near = append(near, e)
		}
		all = append(all, far)
		if i%4 == 1 && e.Mode == Wind {
			all = append(all, e)
		}
	}
	require.Greater(t, len(near), 2)
	a, b := scattered(400, 11), scattered(400, 11)
	negative := float32(math.Copysign(0, -1))
	for row := range 200 {
		a.SetVelocity(row, Vec3{negative, negative, negative})
		b.SetVelocity(row, Vec3{negative, negative, negative})
	}
	var c Batch
	for range 20 {
		s.Step(&c, forcesOf(t, near), a, 0, 400)
		s.Step(&c, forcesOf(t, all), b, 0, 400)
		requireSameBits(t, a, b, "with effects elsewhere")
	}
}

func TestAddRefusesWrongParameters(t *testing.T) {
	p := must.Get(field.Compile("param push = (1, 2, 3)\noutput += push\n"))
	var f Forces
	require.ErrorIs(t, f.Add(&Effect{Program: p, Params: make([]field.Vec4, 2)}), field.ErrParams)
}

// Invariant M4.
func TestStepAllocatesNothing(t *testing.T) {
	s, b := testStepper(BoundsBounce), scattered(600, 7)
	effects := weather(t, s, 1)
	var c Batch
	var f Forces
	require.Zero(t, testing.AllocsPerRun(20, func() {
		f.Reset()
		for i := range effects {
			_ = f.Add(&effects[i])
		}
		tick(s, &c, &f, b)
	}))
}

func BenchmarkStep(b *testing.B) {
	s, bodies := testStepper(BoundsBounce), scattered(10*BatchRows, 8)
	f := forcesOf(b, weather(b, s, 1))
	var c Batch
	for b.Loop() {
		s.Step(&c, f, bodies, 0, len(bodies.Kind))
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(bodies.Kind)), "ns/body")
}
