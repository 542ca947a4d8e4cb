package motion

import (
	"encoding/binary"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"slices"
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
		text, ok := field.Shipped(name)
		require.True(t, ok)
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

// The definition in doc.go, one body at a time, in double precision rounded after each
// operation.
func TestStepIsItsDefinition(t *testing.T) {
	for _, rule := range []Bounds{BoundsClamp, BoundsBounce, BoundsDestroy} {
		s := testStepper(rule)
		got := scattered(1000, uint64(rule))
		want := scattered(1000, uint64(rule))
		var c Batch
		for now := range uint64(40) {
			effects := weather(t, s, now)
			tick(s, &c, forcesOf(t, effects), got)
			for row := range want.Kind {
				defineTick(t, s, effects, want, row)
			}
			requireSameBits(t, want, got, "%v, tick %d", rule, now)
			clear(got.Moved)
			clear(want.Moved)
		}
	}
}

// round rounds a double-precision result to single precision.
func round(x float64) float64 { return float64(float32(x)) }

type double [3]float64

func doubled(v Vec3) double { return double{float64(v.X), float64(v.Y), float64(v.Z)} }

func (v double) single() Vec3 { return Vec3{float32(v[0]), float32(v[1]), float32(v[2])} }

func (v double) square() float64 {
	return round(round(round(v[0]*v[0])+round(v[1]*v[1])) + round(v[2]*v[2]))
}

func defineTick(t *testing.T, s *Stepper, effects []Effect, b *Bodies, row int) {
	k, at, v := s.Kinds[b.Kind[row]], doubled(b.Position(row)), doubled(b.Velocity(row))
	was, had, dt := at, v, round(1/float64(s.TickHz))
	fall := round(float64(s.Gravity) * dt)
	if k.InvMass != 0 {
		wind := defineForce(t, effects, Wind, k, at)
		push := defineForce(t, effects, Acceleration, k, at)
		for i := range v {
			v[i] = round(v[i]+round(round(wind[i]-v[i])*float64(k.Coupling))) + 0
			v[i] = round(v[i] + round(push[i]*dt))
		}
		v[1] = round(v[1] - fall)
	}
	if v.square() > MaxSpeed*MaxSpeed {
		scale := MaxSpeed / math.Sqrt(v[0]*v[0]+v[1]*v[1]+v[2]*v[2])
		v = double{round(v[0] * scale), round(v[1] * scale), round(v[2] * scale)}
	}
	at[1] = round(at[1] + round(v[1]*dt))
	if radius := float64(k.Radius); k.InvMass != 0 && at[1] <= radius {
		depth := round(radius - at[1])
		at[1] = radius
		v = defineLanding(s, k, v, depth, fall)
	}
	at[0], at[2] = round(at[0]+round(v[0]*dt)), round(at[2]+round(v[2]*dt))
	high := doubled(s.HalfExtent)
	for i, low := range [3]float64{-high[0], 0, -high[2]} {
		if inside := max(low, min(at[i], high[i])); inside != at[i] && s.Bounds != BoundsDestroy {
			at[i] = inside
			if s.Bounds == BoundsClamp || k.Restitution == 0 || math.Abs(v[i]) <= minImpact(fall) {
				v[i] = 0
			} else {
				v[i] = round(v[i] * -float64(k.Restitution))
			}
		}
	}
	b.SetPosition(row, at.single())
	b.SetVelocity(row, v.single())
	if at != was || v != had {
		b.markMoved(row)
	}
	defineRest(s, k, b, row, v)
}

func minImpact(fall float64) float64 { return round(round(2*fall) + 0.25) }

func defineLanding(s *Stepper, k Kind, v double, depth, fall float64) double {
	if v[1] >= 0 {
		return v
	}
	bounce := 0.0
	impact := round(round(v[1]*v[1]) - round(2*float64(s.Gravity)*depth))
	if impact > round(minImpact(fall)*minImpact(fall)) {
		bounce = round(round(math.Sqrt(impact)) * float64(k.Restitution))
	}
	grip := round(float64(k.Friction) * round(bounce-v[1]))
	v[1] = bounce
	slip := round(round(v[0]*v[0]) + round(v[2]*v[2]))
	keep := 0.0
	if slip > round(grip*grip) {
		keep = round(1 - round(grip/round(math.Sqrt(slip))))
		v[0], v[2] = round(v[0]*keep), round(v[2]*keep)
		return v
	}
	v[0], v[2] = 0, 0
	return v
}

func defineRest(s *Stepper, k Kind, b *Bodies, row int, v double) {
	speed, limit := v.square(), float64(s.RestSpeed)
	isResting, moves := speed <= round(limit*limit), speed > round(round(2*limit)*round(2*limit))
	if k.InvMass == 0 {
		isResting, moves = v == double{}, v != double{}
	}
	if isResting {
		b.Rest[row]++
	}
	if moves {
		b.Rest[row] = 0
	}
	if b.Rest[row] >= s.RestTicks {
		b.SetVelocity(row, Vec3{})
		b.Rest[row] = 0
	}
}

// defineForce sums the effects of a mode in the order of M2.
func defineForce(t *testing.T, effects []Effect, m Mode, k Kind, at double) double {
	sum := [3]float32{}
	layers := []Layers{}
	for _, e := range effects {
		if e.Mode == m && (e.Layers == 0 || e.Layers&k.Layers != 0) && !slices.Contains(layers, e.Layers) {
			layers = append(layers, e.Layers)
		}
	}
	slices.Sort(layers)
	for _, l := range layers {
		out := [3]float32{}
		for _, e := range effects {
			if e.Mode == m && e.Layers == l {
				out = evaluate(t, &e, at.single(), out)
			}
		}
		for i := range sum {
			sum[i] += out[i]
		}
	}
	return double{float64(sum[0]), float64(sum[1]), float64(sum[2])}
}

// evaluate adds one effect at one point to out.
func evaluate(t *testing.T, e *Effect, at Vec3, out [3]float32) [3]float32 {
	if box, boxed := e.Program.Box(); !(&Reach{Box: box, Boxed: boxed, Center: e.Center}).Contains(at) {
		return out
	}
	env := field.Env{Time: e.Time, Params: e.Params, Origin: e.Center.Array()}
	point := at.Array()
	planes := func(v *[3]float32) field.Planes { return field.Planes{X: v[0:1:1], Y: v[1:2:2], Z: v[2:3:3]} }
	require.NoError(t, e.Program.Evaluate(planes(&point), planes(&out), env, make([]float32, e.Program.Scratch())))
	return out
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
