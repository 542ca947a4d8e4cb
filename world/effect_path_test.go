package world_test

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/world"
)

// windyWorld is a world with sleepers for effects to move over.
func windyWorld(t testing.TB) *world.World {
	w, crate, _, _ := newWorld(t, world.Config{HalfExtent: world.Vec3{X: 60, Y: 30, Z: 40}, RestSeconds: 5.0 / 60})
	r := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		spawn(t, w, crate, world.Vec3{X: spread(r, 50), Y: 0.5, Z: spread(r, 10)})
	}
	return w
}

// A path moves an effect like a system that calls MoveEffect before each step, and survives
// images and recordings.
func TestPathsMoveEffects(t *testing.T) {
	orbit := world.EffectOrbit{AxisU: world.Vec3{X: 30}, AxisV: world.Vec3{Y: 1, Z: 7}, Phase: 1 << 30, Rate: 1 << 25}
	for name, def := range map[string]world.EffectDef{
		"linear": {Velocity: world.Vec3{X: 20, Z: -0.7}},
		"orbit":  {Orbit: orbit},
	} {
		def.Center, def.Program = world.Vec3{X: -20, Y: 1, Z: 0.5}, compile(t, blast)
		a, b := windyWorld(t), windyWorld(t)
		steps(a, 20)
		steps(b, 20)
		own := must.Get(a.AddEffect(def))
		began, _ := a.Effect(own)
		stepper := a.Motion()
		at := func(tick uint64) world.Vec3 { return began.Path.At(&stepper, tick-20) }
		still := def
		still.Velocity, still.Orbit, still.Center = world.Vec3{}, world.EffectOrbit{}, at(21)
		hand := addEffect(t, b, still)
		require.NoError(t, b.AddSystem(world.Before, "move", func(w *world.World) { w.MoveEffect(hand, at(w.Tick())) }))

		var file bytes.Buffer
		var img world.Image
		a.TakeImage(&img)
		recorder := must.Get(a.Record(&file, &img, 1))
		extra := addEffect(t, a, def)
		require.True(t, a.RemoveEffect(extra))
		require.True(t, b.RemoveEffect(addEffect(t, b, still)))
		for range 60 {
			a.Step()
			b.Step()
			now, _ := a.Effect(own)
			require.Equal(t, at(a.Tick()), now.Center, "%s, tick %d", name, a.Tick())
			for slot := range a.Slots().Len() {
				at, v, _ := a.Slots().Body(slot)
				wantAt, wantV, _ := b.Slots().Body(slot)
				require.Equal(t, wantAt, at, "%s: slot %d, tick %d", name, slot, a.Tick())
				require.Equal(t, wantV, v)
			}
			require.Equal(t, b.Stats().Awake, a.Stats().Awake)
		}
		require.NoError(t, recorder.Close())
		require.NoError(t, a.CheckInvariants())

		again := windyWorld(t)
		replay := must.Get(again.Replay(&file))
		require.ErrorIs(t, replayToEnd(replay), io.EOF)
		require.Equal(t, a.StateHash(), again.StateHash())

		var saved bytes.Buffer
		a.TakeImage(&img)
		must.Get(img.WriteTo(&saved))
		restored := windyWorld(t)
		require.NoError(t, restored.Restore(read(t, restored, saved.Bytes())))
		steps(a, 30)
		steps(restored, 30)
		require.Equal(t, a.StateHash(), restored.StateHash(), name)
		require.True(t, a.MoveEffect(own, world.Vec3{X: 1}))
		steps(a, 3)
		now, _ := a.Effect(own)
		require.Equal(t, world.Vec3{X: 1}, now.Center, "MoveEffect ends the path")
	}
}

// An effect acts for LifeTicks steps from the next motion on, wherever it is added, and
// EffectState reports these ticks.
func TestEffectTicks(t *testing.T) {
	for where, first := range map[string]uint64{"between": 6, "before": 6, "after": 7} {
		for _, life := range []uint32{1, 2, 5} {
			w, _, _, _ := newWorld(t, world.Config{Gravity: -1})
			leaf := spawn(t, w, addKind(t, w, world.Kind{Name: "leaf", Body: &world.BodyDef{}}), world.Vec3{Y: 5})
			var id world.EffectID
			add := func() {
				id = addEffect(t, w, world.EffectDef{Program: compile(t, "output += (60, 0, 0)\n"), Mode: world.Acceleration, LifeTicks: life})
			}
			for _, phase := range []world.Phase{world.Before, world.After} {
				require.NoError(t, w.AddSystem(phase, phase.String(), func(w *world.World) {
					if w.Tick() == 6 && phase.String() == where {
						add()
					}
				}))
			}
			steps(w, 5)
			if where == "between" {
				add()
			}
			for w.Tick() < first+uint64(life)+3 {
				if e, ok := w.Effect(id); ok {
					require.Equal(t, first, e.First, where)
					require.Equal(t, first+uint64(life)-1, e.Last, where)
				}
				w.Step()
				v, _ := w.Velocity(leaf)
				acted := min(max(int(w.Tick())-int(first)+1, 0), int(life))
				require.InDelta(t, acted, v.X, 1e-4, "%s, life %d, tick %d", where, life, w.Tick())
			}
			must.Lack(w.Effect(id))
		}
	}
}

func TestPathRefusals(t *testing.T) {
	w, crate, _, _ := newWorld(t, world.Config{})
	for _, def := range []world.EffectDef{
		{Velocity: world.Vec3{X: 1}, Orbit: world.EffectOrbit{Rate: 1}},
		{Velocity: world.Vec3{X: 1}, Follow: spawn(t, w, crate, world.Vec3{})},
		{Velocity: world.Vec3{Z: 2e6}},
		{Orbit: world.EffectOrbit{AxisU: world.Vec3{Y: -2e6}}},
	} {
		def.Program = compile(t, blast)
		_, err := w.AddEffect(def)
		require.ErrorIs(t, err, world.ErrValue)
		require.False(t, errors.Is(err, world.ErrFull))
	}
	require.Empty(t, w.AppendEffects(nil))
}
