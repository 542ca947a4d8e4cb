package world_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/field"
	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/world"
)

// An effect's record has the first tick to which the newest change applies, and the first
// tick after the effect's end.
func TestEffectChangedAndEnd(t *testing.T) {
	w := must.Get(world.New(world.Config{Seed: 1}))
	program := must.Get(field.Compile("effect gust\nparam wind = (6,0,2,0)\neverywhere\noutput = add output, wind\n"))
	var id world.EffectID
	at := func(id world.EffectID) uint64 {
		e := must.Have(w.Effect(id))
		return e.Changed
	}
	require.NoError(t, w.AddSystem(world.After, "late", func(w *world.World) {
		switch w.Tick() {
		case 3:
			require.True(t, w.MoveEffect(id, world.Vec3{X: 2}))
		case 5:
			require.True(t, w.RemoveEffect(id))
		}
	}))
	w.Step()
	id = must.Get(w.AddEffect(world.EffectDef{Program: program}))
	require.EqualValues(t, 2, at(id), "added between steps")
	w.Step()
	require.True(t, w.MoveEffect(id, world.Vec3{X: 1}))
	require.EqualValues(t, 3, at(id), "moved between steps")
	w.Step()
	require.EqualValues(t, 4, at(id), "moved by an After system of tick 3")
	w.Step()
	require.Zero(t, w.Slots().EffectEnd(id))
	w.Step()
	require.EqualValues(t, 6, w.Slots().EffectEnd(id), "removed by an After system of tick 5")

	short := must.Get(w.AddEffect(world.EffectDef{Program: program, LifeTicks: 1}))
	e, _ := w.Effect(short)
	require.True(t, e.Hidden, "an effect of one tick ends before anybody can be told of it")
	long := must.Get(w.AddEffect(world.EffectDef{Program: program, LifeTicks: 2}))
	e, _ = w.Effect(long)
	require.False(t, e.Hidden)
	w.Step()
	w.Step()
	require.EqualValues(t, 8, w.Slots().EffectEnd(long), "ended by itself after tick 7")
}

// An effect whose parameters change after the bodies moved is reported with the parameters
// with which it acted.
func TestActedEffectHasTheParametersThatActed(t *testing.T) {
	w, _, _, _ := newWorld(t, world.Config{})
	before, after := []field.Vec4{{1, 2, 3}}, []field.Vec4{{4, 5, 6}}
	id := addEffect(t, w, world.EffectDef{Program: compile(t, gust), Params: before})
	require.NoError(t, w.AddSystem(world.After, "change", func(w *world.World) { w.SetEffectParams(id, after) }))
	w.Step()
	acted := w.Slots().AppendActedEffects(nil)
	require.Len(t, acted, 1)
	require.Equal(t, before, acted[0].Params)
	now, _ := w.Effect(id)
	require.Equal(t, after, now.Params)
}

// So is an effect on a path that changes after its last motion.
func TestActedEffectHasTheParametersThatActedLast(t *testing.T) {
	w, _, _, _ := newWorld(t, world.Config{})
	before, after := []field.Vec4{{1, 2, 3}}, []field.Vec4{{4, 5, 6}}
	id := addEffect(t, w, world.EffectDef{Program: compile(t, gust), Params: before, LifeTicks: 2, Velocity: world.Vec3{X: 1}})
	w.Step()
	require.NoError(t, w.AddSystem(world.After, "change", func(w *world.World) { require.True(t, w.SetEffectParams(id, after)) }))
	w.Step()
	acted := w.Slots().AppendActedEffects(nil)
	require.Len(t, acted, 1)
	require.Equal(t, before, acted[0].Params)
}
