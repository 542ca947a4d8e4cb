package scenes

import (
	"math"
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/field"
	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/internal/scenes/messages"
	"github.com/worldd/worldd/internal/shorttest"
	"github.com/worldd/worldd/world"
)

func build(tb testing.TB, name string) *Scene {
	tb.Helper()
	f := must.Get(Named(name))
	return must.Get(Build(f))
}

func run(s *Scene, ticks int) {
	for range ticks {
		s.World.Step()
	}
}

// requireIdentities checks S2 for every live entity.
func requireIdentities(t *testing.T, s *Scene) {
	t.Helper()
	for slot := range s.World.Live().All() {
		h := s.World.Slots().Handle(slot)
		got := s.Identities().Get(h)
		require.NotNil(t, got, h)
		require.Equal(t, s.Identity(h), got.Number(), h)
	}
}

// S1: two builds agree at every tick, and with the golden hash from another machine. The
// hash changes with the scene's file, and with the results of world and field. The commit
// that changes it must explain why.
func TestStormIsDeterministic(t *testing.T) {
	const golden = uint64(0x142d609f9c9f23c7)
	a, b := build(t, "storm"), build(t, "storm")
	ticks := shorttest.Pick(600, 40) // builds with -race audit the world after every step
	for range ticks {
		a.World.Step()
		b.World.Step()
		require.Equal(t, a.World.StateHash(), b.World.StateHash(), "tick %d", a.World.Tick())
	}
	if !testing.Short() {
		require.Equal(t, golden, a.World.StateHash())
	}
}

// TestStormWeather: as the demo promises, most crates sleep but not all, sparks reuse
// slots, and every entity keeps its identity.
func TestStormWeather(t *testing.T) {
	s := build(t, "storm")
	seen := map[uint64]world.Entity{}
	note := func() {
		for h := range s.World.Spawned() {
			id := s.Identity(h)
			other, twice := seen[id]
			require.False(t, twice, "%v and %v", h, other)
			seen[id] = h
		}
	}
	for range shorttest.Pick(300, 90) {
		s.World.Step()
		note()
	}
	requireIdentities(t, s)
	crates, asleep := s.count("crate")
	require.InDelta(t, 10000, crates, 500)
	require.Greater(t, float64(asleep), 0.8*float64(crates))
	require.Greater(t, crates-asleep, 100, "the weather keeps some awake")
	if testing.Short() {
		return
	}
	for range 300 {
		s.World.Step()
		note()
	}
	requireIdentities(t, s)
	stats := s.World.Stats()
	require.Greater(t, stats.Reused, uint64(500))
	require.Zero(t, stats.Quarantined)
	require.Less(t, stats.Entities, s.File.Limits.MaxEntities-s.File.Limits.MaxPlayers, "S3")
	require.NoError(t, s.World.CheckInvariants())
}

// count counts the live entities of a kind, and the sleeping ones among them.
func (s *Scene) count(kind string) (live, asleep int) {
	for slot := range s.World.Live().All() {
		h := s.World.Slots().Handle(slot)
		if k, _ := s.World.KindOf(h); k == s.kinds[kind] {
			live++
			if !s.World.Awake(h) {
				asleep++
			}
		}
	}
	return live, asleep
}

// Avatars appear where there is enough to see, within the budget.
func TestStormViews(t *testing.T) {
	s := build(t, "storm")
	run(s, 60)
	for range 50 {
		avatar := must.Get(s.Join())
		at, _ := s.World.Position(avatar)
		inView := 0
		for range s.World.Within(at, s.File.Interest.LeaveRadius) {
			inView++
		}
		require.True(t, inView >= 100 && inView <= 600, "%d in view at %v", inView, at)
	}
}

func TestCalmComesToRest(t *testing.T) {
	s := build(t, "calm")
	run(s, 300)
	stats := s.World.Stats()
	require.Equal(t, 50, stats.Entities)
	require.Zero(t, stats.Awake)
	requireIdentities(t, s)
}

func TestIdentityIsABijection(t *testing.T) {
	seen := map[uint64]bool{}
	for index := range uint32(100) {
		for generation := uint32(1); generation < 100; generation += 2 {
			id := IdentityOf(bulk.NewHandle(index, generation), 42)
			require.False(t, seen[id])
			seen[id] = true
			number := messages.NewIdentity(id)
			require.Equal(t, id, number.Number())
			number.Mark++
			require.NotEqual(t, id, number.Number(), "a row of another entity shows")
		}
	}
	require.NotEqual(t, IdentityOf(1, 1), IdentityOf(1, 2), "another seed, another world")
	field, _ := reflect.TypeFor[messages.Identity]().FieldByName("Mark")
	require.Equal(t, "always", field.Tag.Get("net"))
}

func TestAvatars(t *testing.T) {
	s := build(t, "calm")
	avatar := must.Get(s.Join())
	require.Len(t, s.avatars, 1)
	require.Equal(t, s.Identity(avatar), s.Identities().Get(avatar).Number())
	from, _ := s.World.Position(avatar)
	r := s.File.Players.Region
	require.True(t, from.X >= r.Min[0] && from.X <= r.Max[0] && from.Z >= r.Min[2] && from.Z <= r.Max[2])

	require.True(t, s.Steer(avatar, [2]float32{300, 400}), "clamped")
	v, _ := s.World.Velocity(avatar)
	require.InDelta(t, 3.6, v.X, 1e-5)
	require.InDelta(t, 4.8, v.Z, 1e-5)
	run(s, 60)
	at, _ := s.World.Position(avatar)
	require.InDelta(t, 6, at.Sub(from).Len(), 0.01)

	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	for _, bad := range [][2]float32{{nan, 0}, {0, nan}, {inf, 0}, {0, -inf}, {inf, nan}} {
		require.False(t, s.Steer(avatar, bad))
	}
	require.True(t, s.Steer(avatar, [2]float32{math.MaxFloat32, 0}), "finite, if only just")
	v, _ = s.World.Velocity(avatar)
	require.InDelta(t, 6, v.Len(), 1e-5)

	require.True(t, s.Steer(avatar, [2]float32{}))
	run(s, 60)
	require.False(t, s.World.Awake(avatar))
	require.True(t, s.Steer(avatar, [2]float32{}))
	require.False(t, s.World.Awake(avatar), "to stand on costs nothing")
	require.True(t, s.Steer(avatar, [2]float32{1, 0}))
	require.True(t, s.World.Awake(avatar))

	crate := s.World.Slots().Handle(0)
	require.False(t, s.Steer(crate, [2]float32{1, 0}), "not an avatar")
	require.False(t, s.Leave(crate))
	require.True(t, s.Leave(avatar))
	require.False(t, s.Leave(avatar))
	require.False(t, s.Steer(avatar, [2]float32{1, 0}))
	s.World.Step()
	require.Equal(t, bulk.Stale, s.World.Status(avatar))
}

func TestPlayersAreLimited(t *testing.T) {
	s := build(t, "calm")
	var last world.Entity
	for range s.File.Limits.MaxPlayers {
		e := must.Get(s.Join())
		last = e
	}
	require.ErrorIs(t, must.Fail(s.Join()), ErrPlayers)
	require.True(t, s.Leave(last))
	must.Get(s.Join())
}

func TestPoke(t *testing.T) {
	s := build(t, "calm")
	run(s, 300)
	crate := s.World.Slots().Handle(0)
	require.False(t, s.World.Awake(crate))
	require.NoError(t, s.Poke(crate))
	require.True(t, s.World.Awake(crate))
	v, _ := s.World.Velocity(crate)
	require.InDelta(t, s.File.Players.Poke, v.Y, 1e-4)
	before, _ := s.World.Position(crate)
	run(s, 10)
	after, _ := s.World.Position(crate)
	require.Greater(t, after.Y, before.Y+0.5)

	avatar := must.Get(s.Join())
	require.ErrorIs(t, s.Poke(avatar), ErrPoke, "kinematic")
	s.World.Destroy(crate)
	s.World.Step()
	require.ErrorIs(t, s.Poke(crate), ErrPoke)
	require.ErrorIs(t, s.Poke(0), ErrPoke)
}

func TestTurn(t *testing.T) {
	for i := -1000; i <= 1000; i++ {
		turns := float64(i) / 333
		x, z := turn(turns)
		require.InDelta(t, math.Cos(2*math.Pi*turns), x, 1e-7)
		require.InDelta(t, math.Sin(2*math.Pi*turns), z, 1e-7)
	}
}

func TestDueKeepsTheRate(t *testing.T) {
	for _, rate := range []float64{0, 0.1, 3.5, 50, 60, 61, 1000} {
		total := 0
		for tick := uint64(1); tick <= 6000; tick++ {
			total += due(rate, tick, 60)
		}
		require.InDelta(t, rate*100, total, 1e-6)
	}
}

// A File made in Go is validated too, without positions.
func TestBuildChecks(t *testing.T) {
	_, err := Build(&File{Name: "bad"})
	require.ErrorContains(t, err, "bad: tick_hz is 0")
	var e *FileError
	require.ErrorAs(t, err, &e)
	require.Zero(t, e.Line)
}

func BenchmarkStormStep(b *testing.B) {
	s := build(b, "storm")
	run(s, 300)
	b.ReportAllocs()
	for b.Loop() {
		s.World.Step()
	}
	stats := s.World.Stats()
	b.ReportMetric(float64(stats.Awake), "awake")
	b.ReportMetric(float64(stats.Entities), "entities")
}

// TestEffectsAreBound: this build's vector kernels, whether or not this processor has
// them, run every effect of the embedded worlds.
func TestEffectsAreBound(t *testing.T) {
	for _, name := range Names() {
		f := must.Get(Named(name))
		for _, e := range f.Effects {
			stages := must.Get(field.Explain(e.source()))
			require.NotContains(t, stages, ": interpreted: ", "%s: %s", name, e.Name)
		}
	}
}

// TestPulseLife: a pulse acts for life_s, to the tick.
func TestPulseLife(t *testing.T) {
	for life, ticks := range map[string]int{"0.01": 1, "0.05": 3, "0.5": 30} {
		f := must.Get(Parse("pulse.yaml", []byte(`name: pulse
gravity: 0
kinds: {leaf: {body: {mass: 1}}}
effects:
  push:
    mode: acceleration
    pulse: {per_second: 1, life_s: `+life+`, region: {min: [0, 5, 0], max: [0, 5, 0]}}
    text: |
      box (-9, -9, -9) (9, 9, 9)
      output += (60, 0, 0)
players: {kind: leaf, region: {min: [0, 5, 0], max: [0, 5, 0]}}
`)))
		s := must.Get(Build(f))
		leaf := must.Get(s.Spawn(s.kinds["leaf"], world.Vec3{Y: 5}, world.Vec3{}, 0))
		run(s, 60+ticks+5) // the first pulse begins at tick 60
		v, _ := s.World.Velocity(leaf)
		require.InDelta(t, ticks, v.X, 0.01, "m/s: 60 m/s² add 1 in each of 60 ticks a second")
		require.Zero(t, s.World.Stats().Effects)
	}
}
