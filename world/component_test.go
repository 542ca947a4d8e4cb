package world_test

import (
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/world"
)

type health struct {
	Current int16
	_       [2]byte
	Max     float32
	Healer  world.Entity
}

func TestComponentRefusesPointersByPath(t *testing.T) {
	type inner struct {
		N     int
		Names []string
	}
	type outer struct {
		Ok  [4]float32
		Bad [2]inner
	}
	w, _, _, _ := newWorld(t, world.Config{})
	_, err := world.Register[outer](w, "outer")
	require.ErrorIs(t, err, world.ErrType)
	require.ErrorContains(t, err, `component "outer": world_test.outer.Bad[0].Names is a []string`)
	require.ErrorIs(t, must.Fail(world.Register[int](w, "")), world.ErrName)
	must.Get(world.Register[int](w, "n"))
	require.ErrorIs(t, must.Fail(world.Register[int](w, "n")), world.ErrName)
}

func TestComponentAll(t *testing.T) {
	w, crate, ghost, _ := newWorld(t, world.Config{})
	hp := must.Get(world.Register[health](w, "health"))
	require.NoError(t, world.SetDefault(w, crate, hp, health{Current: 3}))
	first := must.Get(w.Spawn(crate, world.Vec3{}, world.Vec3{}))
	must.Get(w.Spawn(ghost, world.Vec3{}, world.Vec3{}))
	second := must.Get(w.Spawn(crate, world.Vec3{}, world.Vec3{}))
	var all []world.Entity
	for e, h := range hp.All() {
		require.EqualValues(t, 3, h.Current)
		all = append(all, e)
	}
	require.Equal(t, []world.Entity{first, second}, all)
}

func TestComponentLife(t *testing.T) {
	w, crate, ghost, _ := newWorld(t, world.Config{})
	hp := must.Get(world.Register[health](w, "health"))
	tag := must.Get(world.Register[struct{}](w, "burning"))
	require.NoError(t, world.SetDefault(w, crate, hp, health{Current: 1}))
	require.NoError(t, world.SetDefault(w, crate, hp, health{Current: 10, Max: 10}))

	e, g := spawn(t, w, crate, world.Vec3{}), spawn(t, w, ghost, world.Vec3{})
	require.Equal(t, health{Current: 10, Max: 10}, *hp.Get(e))
	require.Nil(t, hp.Get(g))
	require.False(t, tag.Has(e))
	require.True(t, tag.Set(e, struct{}{}))
	require.True(t, tag.Has(e))

	hp.Mut(e).Current = 3
	other := spawn(t, w, crate, world.Vec3{})
	require.EqualValues(t, 10, hp.Get(other).Current, "a copy of its own")
	require.Equal(t, int16(3), w.Slots().ComponentValue(0, e.Index()).(*health).Current)
	require.Nil(t, w.Slots().ComponentValue(0, g.Index()))
	require.Nil(t, w.Slots().ComponentValue(9, e.Index()))
	require.Nil(t, w.Slots().ComponentValue(-1, e.Index()))
	require.Nil(t, w.Slots().ComponentValue(0, 1<<30))
	require.Equal(t, []world.ComponentInfo{
		{ID: 0, Name: "health", Type: reflect.TypeFor[health]()},
		{ID: 1, Name: "burning", Type: reflect.TypeFor[struct{}]()},
	}, w.Components())

	var both []uint32
	for word, bits := range bulk.And(hp.Presence(), tag.Presence()) {
		for slot := range bulk.Bits(word*64, bits) {
			both = append(both, slot)
		}
	}
	require.Equal(t, []uint32{e.Index()}, both)

	require.True(t, hp.Remove(e))
	require.False(t, hp.Remove(e))
	require.True(t, hp.Set(e, health{Current: 7}))
	w.Destroy(e)
	w.Step()
	require.False(t, hp.Set(e, health{}), "the entity is gone")
	require.Nil(t, hp.Mut(e))
	again := spawn(t, w, ghost, world.Vec3{})
	require.Equal(t, e.Index(), again.Index())
	require.False(t, hp.Has(again), "the next tenant of the slot inherits nothing")
	require.NoError(t, w.CheckInvariants())
}

func TestComponentsRegisteredLate(t *testing.T) {
	w, crate, _, _ := newWorld(t, world.Config{})
	e := spawn(t, w, crate, world.Vec3{})
	late := must.Get(world.Register[uint64](w, "late"))
	require.False(t, late.Has(e))
	require.True(t, late.Set(e, 5))
	require.EqualValues(t, 5, *late.Get(e))
}

func TestDefaultRefusals(t *testing.T) {
	w, crate, _, _ := newWorld(t, world.Config{})
	other, _, _, _ := newWorld(t, world.Config{})
	foreign := must.Get(world.Register[int](other, "n"))
	own := must.Get(world.Register[int](w, "n"))
	require.ErrorIs(t, world.SetDefault(w, crate, foreign, 1), world.ErrUnknown)
	require.ErrorIs(t, world.SetDefault(w, 99, own, 1), world.ErrUnknown)
	require.ErrorIs(t, world.SetDefault[int](w, crate, nil, 1), world.ErrUnknown)
}

func TestHashSeesEveryField(t *testing.T) {
	type all struct {
		B    bool
		I    int
		I8   int8
		I16  int16
		I32  int32
		I64  int64
		U    uint
		U8   uint8
		U16  uint16
		U32  uint32
		U64  uint64
		F32  float32
		F64  float64
		C64  complex64
		C128 complex128
		A    [2]struct{ X, Y uint8 }
	}
	w, crate, _, _ := newWorld(t, world.Config{})
	c := must.Get(world.Register[all](w, "all"))
	e := spawn(t, w, crate, world.Vec3{})
	c.Set(e, all{})
	seen := map[uint64]string{w.StateHash(): "nothing"}
	for what, v := range map[string]all{
		"B": {B: true}, "I": {I: -1}, "I8": {I8: -1}, "I16": {I16: -1}, "I32": {I32: -1}, "I64": {I64: -1},
		"U": {U: 1}, "U8": {U8: 1}, "U16": {U16: 1}, "U32": {U32: 1}, "U64": {U64: 1}, "F32": {F32: 1}, "F64": {F64: 1},
		"C64": {C64: 1i}, "C128": {C128: 1i}, "A0": {A: [2]struct{ X, Y uint8 }{{0, 1}}}, "A1": {A: [2]struct{ X, Y uint8 }{1: {1, 0}}},
	} {
		c.Set(e, v)
		h := w.StateHash()
		require.NotContains(t, seen, h, what)
		seen[h] = what
	}
}

// A component that a system registers reports its changes in the same step.
func TestRegisterInsideAStep(t *testing.T) {
	w, _, ghost, _ := newWorld(t, world.Config{})
	e := spawn(t, w, ghost, world.Vec3{})
	var late *world.Component[int32]
	require.NoError(t, w.AddSystem(world.After, "late", func(w *world.World) {
		if late == nil {
			late = register[int32](t, w, "late")
			late.Set(e, 1)
		}
	}))
	w.Step()
	require.True(t, late.Changed().Has(e.Index()))
	w.Step()
	require.False(t, late.Changed().Has(e.Index()))
}
