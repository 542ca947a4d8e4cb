package world_test

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/world"
)

// A body in an effect's layers moves as in a world where all bodies feel it; any other body
// moves as in a world without it.
func TestLayersFeelTheirEffects(t *testing.T) {
	const leaf, ship world.Layers = 2, 4
	for name, text := range map[string]string{"boxed": blast, "everywhere": gust} {
		run := func(layers world.Layers, effect bool) (*world.World, []world.Entity) {
			w, crate, _, _ := newWorld(t, world.Config{HalfExtent: world.Vec3{X: 40, Y: 30, Z: 40}})
			body := world.BodyDef{Mass: 2, Drag: 0.3, Radius: 0.5, Layers: leaf}
			kinds := []world.KindID{crate, addKind(t, w, world.Kind{Name: "leaf", Body: &body})}
			body.Layers = ship | leaf
			kinds = append(kinds, addKind(t, w, world.Kind{Name: "ship", Body: &body}))
			r := rand.New(rand.NewPCG(1, 2))
			var list []world.Entity
			for i := range 900 {
				at := world.Vec3{X: spread(r, 30), Y: 10 + spread(r, 3), Z: spread(r, 30)}
				list = append(list, spawn(t, w, kinds[i%3], at))
			}
			if effect {
				addEffect(t, w, world.EffectDef{Program: compile(t, text), Center: world.Vec3{X: 3, Y: 9}, Layers: layers})
			}
			steps(w, 40)
			return w, list
		}
		felt, list := run(0, true)
		unaffected, _ := run(0, false)
		for _, layers := range []world.Layers{leaf, ship, world.DefaultLayer | ship, 8} {
			w, _ := run(layers, true)
			moved := 0
			for i, e := range list {
				like := unaffected
				if layers&[]world.Layers{world.DefaultLayer, leaf, ship | leaf}[i%3] != 0 {
					like = felt
				}
				want, _ := like.Position(e)
				got, _ := w.Position(e)
				require.Equal(t, want, got, "%s: %v, layers %b", name, e, layers)
				if still, _ := unaffected.Position(e); still != got {
					moved++
				}
			}
			require.Equal(t, layers == 8, moved == 0, "%s: some body feels it", name)
		}
	}
}

func TestLayersWakeTheirBodies(t *testing.T) {
	w, crate, _, _ := newWorld(t, world.Config{RestSeconds: 2.0 / 60})
	other := addKind(t, w, world.Kind{Name: "other", Body: &world.BodyDef{Layers: 2, Friction: 1}})
	a, b := spawn(t, w, crate, world.Vec3{Y: 0.5}), spawn(t, w, other, world.Vec3{X: 1})
	rest := func() {
		w.Sleep(a)
		w.Sleep(b)
		w.Step()
	}
	rest()
	id := addEffect(t, w, world.EffectDef{Program: compile(t, blast), Layers: 2})
	require.Equal(t, []bool{false, true}, []bool{w.Awake(a), w.Awake(b)}, "boxed, added")
	rest()
	w.MoveEffect(id, world.Vec3{X: 0.5})
	require.Equal(t, []bool{false, true}, []bool{w.Awake(a), w.Awake(b)}, "boxed, moved")
	w.RemoveEffect(id)
	rest()
	addEffect(t, w, world.EffectDef{Program: compile(t, gust), Layers: world.DefaultLayer})
	require.Equal(t, []bool{true, false}, []bool{w.Awake(a), w.Awake(b)}, "everywhere, added")
}

// An effect that follows a body is at the position to which a careful caller would move it.
func TestEffectFollows(t *testing.T) {
	offset := world.Vec3{X: 2, Y: -1, Z: 0.5}
	run := func(follow bool) (*world.World, world.Entity, world.EffectID) {
		w, crate, _, lift := newWorld(t, world.Config{HalfExtent: world.Vec3{X: 60, Y: 30, Z: 40}, RestSeconds: 5.0 / 60})
		r := rand.New(rand.NewPCG(1, 2))
		for range 300 {
			spawn(t, w, crate, world.Vec3{X: spread(r, 50), Y: 0.5, Z: spread(r, 10)})
		}
		carrier := must.Get(w.Spawn(lift, world.Vec3{X: -40, Y: 1}, world.Vec3{X: 9}))
		def := world.EffectDef{Program: compile(t, blast), Center: offset, Follow: carrier}
		position := func() world.Vec3 {
			at, _ := w.Position(carrier)
			return at.Add(offset)
		}
		if !follow {
			def.Follow, def.Center = 0, position()
		}
		id := addEffect(t, w, def)
		if !follow {
			move := func(w *world.World) { w.MoveEffect(id, position()) }
			require.NoError(t, w.AddSystem(world.Before, "move", move, "steer"))
		}
		require.NoError(t, w.AddSystem(world.Before, "steer", func(w *world.World) {
			if w.Tick() == 50 {
				w.SetPosition(carrier, world.Vec3{X: 20, Y: 1, Z: 4})
			}
		}))
		return w, carrier, id
	}
	a, carrier, id := run(true)
	b, _, _ := run(false)
	for tick := range 120 {
		a.Step()
		b.Step()
		for slot := range a.Slots().Len() {
			at, v, _ := a.Slots().Body(slot)
			wantAt, wantV, _ := b.Slots().Body(slot)
			require.Equal(t, wantAt, at, "slot %d, tick %d", slot, tick)
			require.Equal(t, wantV, v)
		}
		require.Equal(t, b.Stats().Awake, a.Stats().Awake)
	}
	require.True(t, a.MoveEffect(id, world.Vec3{}), "relative to the followed body")
	require.NotEqual(t, a.StateHash(), b.StateHash())
	a.Destroy(carrier)
	require.Equal(t, 1, a.Stats().Effects)
	a.Step()
	require.Zero(t, a.Stats().Effects, "it ends with its entity")
	require.False(t, a.MoveEffect(id, world.Vec3{}))
	require.NoError(t, a.CheckInvariants())
}

func TestEffectFollowRefusals(t *testing.T) {
	w, crate, ghost, _ := newWorld(t, world.Config{})
	def := world.EffectDef{Program: compile(t, blast), Follow: spawn(t, w, ghost, world.Vec3{})}
	require.ErrorIs(t, must.Fail(w.AddEffect(def)), world.ErrValue)
	def.Follow = spawn(t, w, crate, world.Vec3{})
	w.Destroy(def.Follow)
	w.Step()
	require.ErrorContains(t, must.Fail(w.AddEffect(def)), bulk.Stale.String())
	require.Zero(t, w.Stats().Effects)
}
