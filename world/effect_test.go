package world_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/field"
	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/world"
)

func addEffect(t testing.TB, w *world.World, d world.EffectDef) world.EffectID {
	t.Helper()
	return must.Get(w.AddEffect(d))
}

func TestEffectRefusals(t *testing.T) {
	w, _, _, _ := newWorld(t, world.Config{})
	nan := float32(math.NaN())
	wind := compile(t, gust)
	bounded := compile(t, "param strength = 5 in 0..9\noutput += position * strength")
	for what, d := range map[string]world.EffectDef{
		"program":    {},
		"no program": {Program: &field.Program{}},
		"mode":       {Program: wind, Mode: 9},
		"centre":     {Program: wind, Center: world.Vec3{X: nan}},
		"declares 1": {Program: wind, Params: make([]field.Vec4, 2)},
		`"wind" is`:  {Program: wind, Params: []field.Vec4{{nan}}},
		"0 to 9":     {Program: bounded, Params: []field.Vec4{{10}}},
	} {
		_, err := w.AddEffect(d)
		require.ErrorIs(t, err, world.ErrValue)
		require.ErrorContains(t, err, what)
	}
	id := addEffect(t, w, world.EffectDef{Program: bounded, Params: []field.Vec4{{9}}})
	require.False(t, w.SetEffectParams(id, []field.Vec4{{-1}}))
	require.True(t, w.RemoveEffect(id))
	id = addEffect(t, w, world.EffectDef{Program: wind})
	require.False(t, w.MoveEffect(id, world.Vec3{Y: nan}))
	require.False(t, w.SetEffectParams(id, nil))
	require.False(t, w.SetEffectParams(id, []field.Vec4{{nan}}))
	require.True(t, w.RemoveEffect(id))
	require.False(t, w.RemoveEffect(id))
	require.False(t, w.MoveEffect(id, world.Vec3{}))
	require.False(t, w.SetEffectParams(id, []field.Vec4{{1}}))
	require.Equal(t, "wind acceleration EffectMode(7)",
		world.Wind.String()+" "+world.Acceleration.String()+" "+world.EffectMode(7).String())
	for range 4096 {
		addEffect(t, w, world.EffectDef{Program: wind})
	}
	require.ErrorIs(t, must.Fail(w.AddEffect(world.EffectDef{Program: wind})), world.ErrFull)
	require.NoError(t, w.CheckInvariants())
}

func TestWindCouplesByDrag(t *testing.T) {
	w, _, _, _ := newWorld(t, world.Config{Gravity: -1})
	leaf := addKind(t, w, world.Kind{Name: "leaf", Body: &world.BodyDef{Drag: 5}})
	bullet := addKind(t, w, world.Kind{Name: "bullet", Body: &world.BodyDef{}})
	addEffect(t, w, world.EffectDef{Program: compile(t, gust)})
	a, b := spawn(t, w, leaf, world.Vec3{Y: 9}), spawn(t, w, bullet, world.Vec3{Y: 9})
	w.Step()
	v, _ := w.Velocity(a)
	k := float32(5. / 60 / (1 + 5./60))
	require.InDelta(t, 6*k, v.X, 1e-5)
	require.InDelta(t, 2*k, v.Z, 1e-5)
	steps(w, 300)
	v, _ = w.Velocity(a)
	require.InDelta(t, 6, v.X, 1e-3, "it ends at the speed of the wind")
	v, _ = w.Velocity(b)
	require.Zero(t, v, "no drag, no wind")
}

func TestWindsAddUpAndStillAirBrakes(t *testing.T) {
	w, _, _, _ := newWorld(t, world.Config{Gravity: -1})
	leaf := addKind(t, w, world.Kind{Name: "leaf", Body: &world.BodyDef{Drag: 1e6}})
	wind := compile(t, gust)
	e := spawn(t, w, leaf, world.Vec3{Y: 9})
	ids := []world.EffectID{
		addEffect(t, w, world.EffectDef{Program: wind}),
		addEffect(t, w, world.EffectDef{Program: wind, Center: world.Vec3{X: 300}, Params: []field.Vec4{{1, 2, 3}}}),
	}
	w.Step()
	v, _ := w.Velocity(e)
	require.InDelta(t, 7, v.X, 1e-2, "a stable step at any drag")
	require.InDelta(t, 2, v.Y, 1e-2)
	for _, id := range ids {
		w.RemoveEffect(id)
	}
	w.Step()
	v, _ = w.Velocity(e)
	require.InDelta(t, 0, v.Len(), 1e-2)
}

func TestBoxedEffectActsInItsBoxAlone(t *testing.T) {
	w, crate, _, _ := newWorld(t, world.Config{})
	boom := compile(t, blast)
	in := spawn(t, w, crate, world.Vec3{X: 103, Y: 2})
	out := spawn(t, w, crate, world.Vec3{X: 109, Y: 2})
	for range 600 { // more than a chunk, far away
		spawn(t, w, crate, world.Vec3{X: -100, Y: 0.5})
	}
	id := addEffect(t, w, world.EffectDef{Program: boom, Center: world.Vec3{X: 100, Y: 1}})
	steps(w, 5)
	v, _ := w.Velocity(in)
	require.Greater(t, v.X, float32(0.1))
	v, _ = w.Velocity(out)
	require.Zero(t, v.X)
	w.MoveEffect(id, world.Vec3{X: 104, Y: 1})
	steps(w, 5)
	v, _ = w.Velocity(out)
	require.Greater(t, v.X, float32(0.1))
}

func TestAccelerationModeAndTime(t *testing.T) {
	w, _, _, _ := newWorld(t, world.Config{Gravity: -1})
	k := addKind(t, w, world.Kind{Name: "ball", Body: &world.BodyDef{Mass: 50}})
	e := spawn(t, w, k, world.Vec3{Y: 5})
	steps(w, 20)
	addEffect(t, w, world.EffectDef{Program: compile(t, updraft), Mode: world.Acceleration})
	steps(w, 60)
	v, _ := w.Velocity(e)
	require.InDelta(t, 9./2, v.Y, 0.1, "9 m/s2 a second from the effect's own start, for a second, at any mass")
}

// asleep returns a world with crates at rest, one per metre of a line.
func asleep(t *testing.T) (*world.World, []world.Entity) {
	t.Helper()
	w, crate, _, lift := newWorld(t, world.Config{})
	var crates []world.Entity
	for x := range 100 {
		crates = append(crates, spawn(t, w, crate, world.Vec3{X: float32(x) - 50, Y: 0.5}))
	}
	spawn(t, w, lift, world.Vec3{})
	for w.Stats().Awake > 0 {
		w.Step()
		require.Less(t, w.Tick(), uint64(100))
	}
	return w, crates
}

func awakeOf(w *world.World, all []world.Entity) (low, high, n int) {
	low = -1
	for i, e := range all {
		if w.Awake(e) {
			if low < 0 {
				low = i
			}
			high = i
			n++
		}
	}
	return low, high, n
}

func TestEffectsWakeWhatTheyTouch(t *testing.T) {
	w, crates := asleep(t)
	expect := func(what string, low, high, n int) {
		t.Helper()
		gotLow, gotHigh, got := awakeOf(w, crates)
		require.Equal(t, []int{low, high, n}, []int{gotLow, gotHigh, got}, what)
		for _, e := range crates {
			w.Sleep(e)
		}
		w.Step()
	}
	id := addEffect(t, w, world.EffectDef{Program: compile(t, blast), Center: world.Vec3{X: 0, Y: 1}, LifeTicks: 6})
	expect("added", 42, 58, 17)
	w.MoveEffect(id, world.Vec3{X: 2, Y: 1})
	expect("moved a little: both boxes", 42, 60, 19)
	w.MoveEffect(id, world.Vec3{X: 40, Y: 1})
	expect("jumped: both boxes, not what is between", 44, 98, 34)
	w.MoveEffect(id, world.Vec3{X: 40, Y: 1})
	expect("moved to where it is", -1, 0, 0)
	w.SetEffectParams(id, []field.Vec4{{1, 1, 1}})
	expect("changed", 82, 98, 17)
	w.Step()
	require.Zero(t, w.Stats().Effects, "expired")
	expect("expired", 82, 98, 17)
	id = addEffect(t, w, world.EffectDef{Program: compile(t, gust)})
	expect("everywhere", 0, 99, 100)
	require.Equal(t, 0, w.Stats().Awake, "kinematic bodies do not care")
	w.SetEffectParams(id, []field.Vec4{{6, 0, 2, 1}})
	expect("everywhere, changed", 0, 99, 100)
	w.SetEffectParams(id, []field.Vec4{{6, 0, 2, 1}})
	expect("everywhere, set to what it is", -1, 0, 0)
	w.RemoveEffect(id)
	expect("everywhere, removed", 0, 99, 100)
	require.NoError(t, w.CheckInvariants())
}

func TestCratesSleepUnderASteadyWind(t *testing.T) {
	w, crates := asleep(t)
	addEffect(t, w, world.EffectDef{Program: compile(t, gust)})
	before, _ := w.Position(crates[3])
	steps(w, 60)
	require.Zero(t, w.Stats().Awake, "friction holds them")
	after, _ := w.Position(crates[3])
	require.Equal(t, before, after)
}

func TestQuarantine(t *testing.T) {
	w, crate, _, _ := newWorld(t, world.Config{})
	e := spawn(t, w, crate, world.Vec3{Y: 20})
	w.Step()
	before, _ := w.Position(e)
	id := addEffect(t, w, world.EffectDef{Program: compile(t, gust), Params: []field.Vec4{{3e38, 3e38, 3e38}}, Mode: world.Acceleration})
	steps(w, 3)
	p, _ := w.Position(e)
	v, _ := w.Velocity(e)
	require.Equal(t, before, p, "back at its last finite position")
	require.Zero(t, v)
	require.EqualValues(t, 3, w.Stats().Quarantined)
	require.Equal(t, []world.Quarantine{{Entity: e}}, slices.Collect(w.Quarantined()), "by no system")
	require.NoError(t, w.CheckInvariants())
	w.RemoveEffect(id)
	w.Step()
	p, _ = w.Position(e)
	require.Less(t, p.Y, before.Y, "and free again when the cause is gone")
}

// Stats names the effects that run interpreted, up to a bounded number of names.
func TestInterpretedEffects(t *testing.T) {
	w, _, _, _ := newWorld(t, world.Config{})
	if compile(t, gust).Interpreted() == nil { // the normal case on machines with vector kernels
		addEffect(t, w, world.EffectDef{Program: compile(t, gust)})
	}
	require.Empty(t, w.Stats().Interpreted)
	large := compile(t, interpreted("large"))
	require.Error(t, large.Interpreted())
	first := addEffect(t, w, world.EffectDef{Program: large})
	addEffect(t, w, world.EffectDef{Program: large})
	require.Equal(t, []world.InterpretedEffect{{Name: "large", Live: 2, Reason: large.Interpreted()}}, w.Stats().Interpreted)
	for i := range 20 {
		addEffect(t, w, world.EffectDef{Program: compile(t, interpreted(fmt.Sprint("large", i)))})
	}
	counts := w.Stats().Interpreted
	require.Len(t, counts, 16)
	require.Equal(t, "large0 1", fmt.Sprint(counts[1].Name, " ", counts[1].Live))
	require.Equal(t, "other 6", fmt.Sprint(counts[15].Name, " ", counts[15].Live))
	require.True(t, w.RemoveEffect(first))
	require.Equal(t, 1, w.Stats().Interpreted[0].Live)
}
