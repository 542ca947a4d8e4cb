package world_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/internal/racetest"
	"github.com/worldd/worldd/world"
)

func TestMoverReplacesMotion(t *testing.T) {
	w, crate, _, lift := newWorld(t, world.Config{HalfExtent: world.Vec3{X: 20, Y: 20, Z: 20}})
	a, b := spawn(t, w, crate, world.Vec3{Y: 5}), spawn(t, w, lift, world.Vec3{Y: 5})
	c := spawn(t, w, crate, world.Vec3{X: 3, Y: 5})
	w.Sleep(b)
	w.Wake(b) // its row is behind the others
	calls := 0
	require.NoError(t, w.SetMover(func(in *world.World, bodies []world.MovingBody) {
		calls++
		require.Same(t, w, in)
		require.Len(t, bodies, 3)
		for i, e := range []world.Entity{a, b, c} {
			require.Equal(t, e, bodies[i].Entity, "ascending slots")
			kind, _ := w.KindOf(e)
			require.Equal(t, kind, bodies[i].Kind)
		}
		require.Equal(t, world.Vec3{Y: 5}, bodies[0].Position, "it has not moved")
		require.InDelta(t, -9.81/60, bodies[0].Velocity.Y, 1e-3, "gravity has acted")
		require.Zero(t, bodies[1].Velocity, "but not on kinematic bodies")
		bodies[0].Position, bodies[0].Velocity = world.Vec3{X: 99, Y: 7}, world.Vec3{X: 500}
		bodies[2].Position.X = float32(math.NaN())
		require.ErrorIs(t, w.SetMover(nil), world.ErrValue)
	}))
	changes := w.NewChangeReader()
	changes.Next()
	w.Step()
	require.Equal(t, 1, calls)
	p, _ := w.Position(a)
	v, _ := w.Velocity(a)
	require.Equal(t, world.Vec3{X: 20, Y: 7}, p, "bounds hold")
	require.Zero(t, v.X)
	p, _ = w.Position(c)
	v, _ = w.Velocity(c)
	require.Equal(t, world.Vec3{X: 3, Y: 5}, p)
	require.Zero(t, v)
	require.EqualValues(t, 1, w.Stats().Quarantined)
	moved := changes.Next()
	require.True(t, moved.Has(a.Index()))
	require.True(t, moved.Has(c.Index()), "its velocity was accelerated, and stopped")
	require.False(t, moved.Has(b.Index()))
	require.NoError(t, w.CheckInvariants())

	require.NoError(t, w.SetMover(nil))
	w.Step()
	require.Equal(t, 1, calls)
	v, _ = w.Velocity(a)
	require.Less(t, v.Y, float32(0))
}

// If a mover stops all bodies, they fall asleep one by one.
func TestMoverAndSleep(t *testing.T) {
	w, _, _, _ := newWorld(t, world.Config{})
	kind := rock(t, w)
	a, b := spawn(t, w, kind, world.Vec3{Y: 5}), spawn(t, w, kind, world.Vec3{Y: 6})
	require.NoError(t, w.SetMover(func(_ *world.World, bodies []world.MovingBody) {
		for i := range bodies {
			bodies[i].Velocity = world.Vec3{}
		}
		w.Wake(b)
	}))
	steps(w, 31)
	require.False(t, w.Awake(a), "the world then finds no contacts")
	require.True(t, w.Awake(b))
	require.NoError(t, w.CheckInvariants())
}

// Changes that a mover defers, for example in a collision, are applied before the step
// destroys their entity: neither a free slot nor the slot's next entity receives them.
func TestMoverDefers(t *testing.T) {
	w, crate, ghost, _ := newWorld(t, world.Config{})
	hits := must.Get(world.Register[int32](w, "hits"))
	e := must.Get(w.SpawnFor(crate, world.Vec3{Y: 5}, world.Vec3{}, 1))
	var spark world.Entity
	require.NoError(t, w.SetMover(func(_ *world.World, bodies []world.MovingBody) {
		if len(bodies) == 0 {
			return
		}
		require.True(t, hits.DeferSet(e, 7))
		spark = must.Get(w.DeferSpawn(crate, world.Vec3{Y: 1}, world.Vec3{}, 0))
		require.True(t, w.Destroy(spark))
	}))
	w.Step()
	require.Equal(t, []world.Entity{e, spark}, destroyed(w))
	require.Equal(t, []world.Entity{spark}, slices.Collect(w.Spawned())[1:])
	next := spawn(t, w, ghost, world.Vec3{})
	require.Equal(t, e.Index(), next.Index())
	w.Step()
	require.False(t, hits.Has(next))
	require.NoError(t, w.CheckInvariants())
}

// A mover may spawn under every Compaction.
func TestMoverSpawns(t *testing.T) {
	for _, mode := range []world.Compaction{world.Exchange, world.Stable, world.InPlace} {
		w, crate, _, _ := newWorld(t, world.Config{Compaction: mode})
		spawn(t, w, crate, world.Vec3{Y: 5})
		born := 0
		require.NoError(t, w.SetMover(func(_ *world.World, bodies []world.MovingBody) {
			for range 100 {
				spawn(t, w, crate, world.Vec3{Y: 5})
			}
			born += 100
		}))
		steps(w, 3)
		require.Equal(t, 1+born, w.Stats().Awake, "%v", mode)
		require.NoError(t, w.CheckInvariants())
	}
}

// An engine that knows when its bodies rest puts them to sleep itself. A body that it sets in
// motion stays awake.
func TestMoverPutsToSleep(t *testing.T) {
	w, crate, _, _ := newWorld(t, world.Config{})
	a, b := spawn(t, w, crate, world.Vec3{Y: 5}), spawn(t, w, crate, world.Vec3{Y: 6})
	require.NoError(t, w.SetMover(func(_ *world.World, bodies []world.MovingBody) {
		for i := range bodies {
			bodies[i].Velocity = world.Vec3{}
			w.Sleep(bodies[i].Entity)
			if bodies[i].Entity == b {
				bodies[i].Velocity = world.Vec3{X: 1}
			}
		}
	}))
	w.Step()
	require.NoError(t, w.CheckInvariants())
	require.False(t, w.Awake(a))
	require.True(t, w.Awake(b))
	var img world.Image
	w.TakeImage(&img)
	require.NoError(t, w.Restore(&img))
	w.Step()
	require.Equal(t, []world.Entity{a}, slices.Collect(w.Slept()))
	require.NoError(t, w.CheckInvariants())
}

// randomMoves changes a world at random, between steps and in its mover.
type randomMoves struct {
	w    *world.World
	rng  *rand.Rand
	hits *world.Component[int32]
	all  []world.Entity
}

func (d *randomMoves) vec(size float32) world.Vec3 {
	return world.Vec3{X: size * (2*d.rng.Float32() - 1), Y: size * d.rng.Float32(), Z: size * (2*d.rng.Float32() - 1)}
}

func (d *randomMoves) act(spawn world.KindID) {
	e := d.all[d.rng.IntN(len(d.all))]
	born, err := world.Entity(0), error(nil)
	switch d.rng.IntN(9) {
	case 0:
		born, err = d.w.SpawnFor(spawn, d.vec(15), d.vec(3), uint32(d.rng.IntN(30)))
	case 1:
		born, err = d.w.DeferSpawn(spawn, d.vec(15), d.vec(3), uint32(d.rng.IntN(30)))
	case 2:
		d.w.Destroy(e)
	case 3:
		d.w.Sleep(e)
	case 4:
		d.w.Wake(e)
	case 5:
		d.w.SetPosition(e, d.vec(25))
	case 6:
		d.w.SetVelocity(e, d.vec(5))
	case 7:
		d.hits.DeferSet(e, d.rng.Int32())
	default:
		d.hits.DeferRemove(e)
	}
	if err == nil && born != 0 {
		d.all = append(d.all, born)
	}
}

func (d *randomMoves) move(bodies []world.MovingBody, spawn world.KindID) {
	for i := range bodies {
		if d.rng.IntN(3) == 0 {
			d.act(spawn)
		}
		b := &bodies[i]
		switch d.rng.IntN(5) {
		case 0:
			b.Position, b.Velocity = b.Position.Add(d.vec(1)), d.vec(1) // possibly asleep by now
		case 1:
			b.Velocity = world.Vec3{}
		case 2:
			d.w.Sleep(b.Entity)
		case 3:
			b.Position.X = float32(math.Inf(1))
		}
	}
}

// Whatever a mover does, the state does not depend on Compaction (W11).
func TestMoverInEveryCompaction(t *testing.T) {
	racetest.SkipSequential(t)
	for seed := range uint64(20) {
		var want []uint64
		for _, mode := range []world.Compaction{world.Exchange, world.Stable, world.InPlace} {
			w, crate, _, _ := newWorld(t, world.Config{Compaction: mode, HalfExtent: world.Vec3{X: 20, Y: 20, Z: 20}, RestSeconds: 10.0 / 60})
			d := &randomMoves{w: w, rng: rand.New(rand.NewPCG(seed, 1)), hits: register[int32](t, w, "hits")}
			for range 100 {
				d.all = append(d.all, spawn(t, w, crate, d.vec(15)))
			}
			require.NoError(t, w.SetMover(func(_ *world.World, bodies []world.MovingBody) { d.move(bodies, crate) }))
			var got []uint64
			for range 40 {
				d.act(crate)
				w.Step()
				require.NoError(t, w.CheckInvariants(), "%v, seed %d", mode, seed)
				got = append(got, w.StateHash())
			}
			if want == nil {
				want = got
			}
			require.Equal(t, want, got, "%v, seed %d", mode, seed)
		}
	}
}
