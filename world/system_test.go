package world_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/world"
)

// calls records which systems ran.
type calls struct{ names []string }

func (c *calls) note(name string) func(*world.World) {
	return func(*world.World) { c.names = append(c.names, name) }
}

func TestSystemOrder(t *testing.T) {
	w, _, _, _ := newWorld(t, world.Config{})
	var c calls
	add := func(p world.Phase, name string, follows ...string) error {
		return w.AddSystem(p, name, c.note(name), follows...)
	}
	ran := func() []string {
		c.names = nil
		w.Step()
		return c.names
	}
	require.NoError(t, add(world.After, "score", "early"))
	require.NoError(t, add(world.Before, "shoot", "aim"))
	require.NoError(t, add(world.Before, "smoke", "first", "missing"))
	require.Equal(t, []string{"shoot", "smoke", "score"}, ran(), "a missing system does not matter")
	require.NoError(t, add(world.Before, "aim", "smoke"))
	require.Equal(t, []string{"smoke", "aim", "shoot", "score"}, ran())
	require.NoError(t, add(world.Before, "first", "too late", "loop"))
	require.NoError(t, add(world.After, "early", "aim"))
	require.NoError(t, add(world.Before, "last"))
	want := []string{"first", "smoke", "aim", "shoot", "last", "early", "score"}
	require.Equal(t, want, ran())

	err := add(world.Before, "loop", "shoot")
	require.ErrorIs(t, err, world.ErrValue)
	require.ErrorContains(t, err, `: "shoot" (before) before "loop" (before) before "first" (before) before "smoke" (before) before "aim" (before) before "shoot" (before)`)
	require.ErrorIs(t, add(world.After, "too late"), world.ErrValue, "the other system is to follow it, in an earlier phase")
	require.ErrorIs(t, add(world.Before, "too early", "score"), world.ErrValue)
	require.ErrorIs(t, add(world.Before, "itself", "itself"), world.ErrValue)
	require.Equal(t, want, ran(), "a rejected system leaves nothing behind")
	for i, s := range w.Stats().Systems {
		require.Equal(t, want[i], s.Name)
		require.Zero(t, s.Total, "no clock")
	}
}

// Orders drawn from one sequence can always be satisfied, in any order of adding the
// systems.
func TestSystemOrderHolds(t *testing.T) {
	for seed := range uint64(50) {
		r := rand.New(rand.NewPCG(seed, 1))
		w, _, _, _ := newWorld(t, world.Config{})
		var c calls
		type rule struct{ first, second string }
		var rules []rule
		for _, i := range r.Perm(12) {
			name := strconv.Itoa(i)
			var follows []string
			for range r.IntN(3) {
				if j := r.IntN(12); j < i {
					follows = append(follows, strconv.Itoa(j))
					rules = append(rules, rule{strconv.Itoa(j), name})
				}
			}
			require.NoError(t, w.AddSystem(world.Before, name, c.note(name), follows...))
		}
		w.Step()
		require.Len(t, c.names, 12)
		for _, r := range rules {
			require.Less(t, slices.Index(c.names, r.first), slices.Index(c.names, r.second), "seed %d: %v in %v", seed, r, c.names)
		}
	}
}

func TestSystemTimes(t *testing.T) {
	w, crate, _, _ := newWorld(t, world.Config{})
	now := time.Duration(0)
	w.SetClock(func() time.Duration { return now })
	cost := []time.Duration{5, 30, 7}
	require.NoError(t, w.AddSystem(world.After, "heavy", func(w *world.World) { now += cost[w.Tick()-1] * time.Millisecond }))
	require.NoError(t, w.AddSystem(world.Before, "light", func(w *world.World) {
		must.Get(w.DeferSpawn(crate, world.Vec3{}, world.Vec3{}, 0))
		now += time.Microsecond
	}))
	steps(w, 3)
	require.Equal(t, []world.SystemStats{
		{Name: "light", Phase: world.Before, Runs: 3, Last: time.Microsecond, Longest: time.Microsecond, Total: 3 * time.Microsecond},
		{Name: "heavy", Phase: world.After, Runs: 3, Last: 7 * time.Millisecond, Longest: 30 * time.Millisecond, Total: 42 * time.Millisecond, Slow: 1},
	}, w.Stats().Systems)
	hash := w.StateHash()
	w.SetClock(nil)
	require.Equal(t, hash, w.StateHash())
	require.Zero(t, testing.AllocsPerRun(10, func() { w.Stats() }))
}

func TestQuarantineNamesTheSystem(t *testing.T) {
	nan, inf := float32(math.NaN()), float32(math.Inf(-1))
	w, crate, ghost, lift := newWorld(t, world.Config{})
	var list []world.Entity
	for _, kind := range []world.KindID{crate, crate, crate, crate, lift} {
		e := must.Get(w.Spawn(kind, world.Vec3{Y: 50}, world.Vec3{X: 3}))
		list = append(list, e)
	}
	g := spawn(t, w, ghost, world.Vec3{})
	require.False(t, w.SetVelocity(list[0], world.Vec3{Y: nan}), "from outside")
	v, _ := w.Velocity(list[0])
	require.Equal(t, world.Vec3{X: 3}, v, "nothing has happened")
	broken := true
	require.NoError(t, w.AddSystem(world.After, "magnet", func(w *world.World) {
		if !broken {
			return
		}
		require.False(t, w.SetVelocity(list[2], world.Vec3{X: inf}))
		require.False(t, w.SetPosition(list[1], world.Vec3{Z: nan}))
		require.False(t, w.SetPosition(list[2], world.Vec3{Z: nan}), "reported once")
		require.False(t, w.SetPosition(g, world.Vec3{Z: nan}), "it has no body")
		require.False(t, w.SetPosition(0, world.Vec3{Z: nan}))
		require.False(t, w.Impulse(list[4], world.Vec3{Z: 1}), "kinematic, which is not an error")
	}))
	require.NoError(t, w.AddSystem(world.Before, "cannon", func(w *world.World) {
		if broken {
			require.False(t, w.Impulse(list[3], world.Vec3{X: math.MaxFloat32, Y: nan}))
		}
	}))
	w.Step()
	require.Equal(t, []world.Quarantine{
		{Entity: list[3], System: "cannon"}, {Entity: list[2], System: "magnet"}, {Entity: list[1], System: "magnet"},
	}, slices.Collect(w.Quarantined()))
	for i, e := range list {
		v, _ := w.Velocity(e)
		require.Equal(t, i == 1 || i == 2, v == world.Vec3{}, "entity %d is stopped", i)
	}
	require.NoError(t, w.CheckInvariants())
	broken = false
	w.Step()
	require.Empty(t, slices.Collect(w.Quarantined()))
	v, _ = w.Velocity(list[1])
	require.Negative(t, v.Y, "the world continues")
	require.EqualValues(t, 4, w.Stats().Quarantined)
}
