package world_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/field"
	"github.com/worldd/worldd/internal/alloctest"
	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/world"
)

// Writing to values that a World returns changes neither the World nor the values of other
// callers.
func TestReadersCannotChangeTheWorld(t *testing.T) {
	w, crate, _, _ := newWorld(t, world.Config{})
	id := addEffect(t, w, world.EffectDef{Program: compile(t, gust), Params: []field.Vec4{{1, 2, 3}}})
	steps(w, 2)

	m := w.Motion()
	want := m.Kinds[crate]
	m.Kinds[crate].Radius++
	require.Equal(t, want, w.Motion().Kinds[crate])

	params := []field.Vec4{{1, 2, 3}}
	e := must.Have(w.Effect(id))
	require.Equal(t, params, e.Params)
	e.Params[0][0]++
	list := w.AppendEffects(nil)
	require.Equal(t, params, list[0].Params)
	list[0].Params[0][0]++
	e, _ = w.Effect(id)
	require.Equal(t, params, e.Params)

	// A change by a system that runs after the bodies moved.
	require.NoError(t, w.AddSystem(world.After, "change", func(w *world.World) { w.SetEffectParams(id, []field.Vec4{{4, 5, 6}}) }))
	w.Step()
	acted := w.Slots().AppendActedEffects(nil)
	require.NotEmpty(t, acted)
	params = slices.Clone(acted[0].Params)
	acted[0].Params[0][0]++
	require.Equal(t, params, w.Slots().AppendActedEffects(nil)[0].Params)
}

// Lists of effects reuse the memory of the list that is passed in.
func TestEventsAndEffectsAreReadWithoutAllocating(t *testing.T) {
	alloctest.SkipAudited(t)
	w, crate, _, _ := newWorld(t, world.Config{})
	addEffect(t, w, world.EffectDef{Program: compile(t, gust), Params: []field.Vec4{{1, 2, 3}}})
	var effects []world.EffectState
	seen := 0
	read := func() {
		e := spawn(t, w, crate, world.Vec3{})
		w.Destroy(e)
		w.Step()
		effects = w.AppendEffects(effects[:0])
		for range w.Spawned() {
			seen++
		}
		for range w.Destroyed() {
			seen++
		}
		for range w.Slept() {
			seen++
		}
		for range w.Woke() {
			seen++
		}
		for range w.Entered() {
			seen++
		}
		for range w.Left() {
			seen++
		}
		for range w.Quarantined() {
			seen++
		}
	}
	alloctest.RequireNone(t, 10, 100, read)
	require.Positive(t, seen)
	require.Len(t, effects, 1)
}
