package world_test

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/world"
)

func TestDeferredSpawnInALoop(t *testing.T) {
	w, crate, ghost, _ := newWorld(t, world.Config{MaxEntities: 100})
	level, parent := register[int32](t, w, "level"), register[world.Entity](t, w, "parent")
	require.NoError(t, world.SetDefault(w, crate, level, 0))
	q := newQuery(t, w, world.QueryDef{With: terms(level)})
	spawn(t, w, crate, world.Vec3{})
	spawn(t, w, ghost, world.Vec3{})
	var children []world.Entity
	require.NoError(t, w.AddSystem(world.Before, "double", func(w *world.World) {
		before := w.Stats().Spawned
		for e := range q.All() {
			n := level.Get(e)
			child := must.Get(w.DeferSpawn(crate, world.Vec3{X: 3}, world.Vec3{}, 4))
			require.Equal(t, bulk.Live, w.Status(child))
			kind := must.Have(w.KindOf(child))
			require.Equal(t, crate, kind)
			require.Nil(t, level.Get(child), "nothing yet")
			must.Lack(w.Position(child))
			require.True(t, level.DeferSet(child, *n+1))
			require.True(t, parent.DeferSet(child, e))
			children = append(children, child)
		}
		require.Equal(t, before, w.Stats().Spawned)
	}))
	require.NoError(t, w.AddSystem(world.Before, "see", func(w *world.World) {
		for _, child := range children {
			at, ok := w.Position(child)
			require.True(t, ok, "each system sees the deferred changes of the one before")
			require.EqualValues(t, 3, at.X)
			require.Equal(t, *level.Get(*parent.Get(child))+1, *level.Get(child))
		}
	}))
	w.Step()
	require.Len(t, children, 1)
	w.Step()
	require.Len(t, children, 3, "one and two: a loop does not see its own spawns")
	require.Equal(t, children[1:], slices.Collect(w.Spawned()))
	children = nil
	steps(w, 3)
	require.Len(t, children, 4+8+16)
	require.Equal(t, 1+1+31-1, w.Stats().Entities, "the first child lived for four ticks")
}

// A spawn, immediate or deferred, writes a value of any size and nothing next to it.
// Deferred spawns of one kind in one word are applied together, other spawns separately.
func TestSpawnsFillAllSizes(t *testing.T) {
	w := must.Get(world.New(world.Config{}))
	all, some := addKind(t, w, world.Kind{Name: "all"}), addKind(t, w, world.Kind{Name: "some"})
	sizes := []sized{
		newSized[struct{}](t, w, all), newSized[[1]byte](t, w, all), newSized[[2]byte](t, w, all), newSized[[3]byte](t, w, all),
		newSized[[4]byte](t, w, all), newSized[[5]byte](t, w, all), newSized[[7]byte](t, w, all), newSized[[8]byte](t, w, all),
		newSized[[9]byte](t, w, all), newSized[[16]byte](t, w, all), newSized[[17]byte](t, w, all), newSized[[100]byte](t, w, all),
	}
	local := must.Get(world.RegisterLocal[*int](w, "local"))
	number := 5
	require.NoError(t, world.SetDefault(w, all, local, &number))

	var kinds []world.KindID
	var entities []world.Entity
	check := func() {
		for i, e := range entities {
			for _, s := range sizes {
				s.check(t, e, kinds[i] == all)
			}
			require.Equal(t, kinds[i] == all, local.Has(e))
			require.True(t, kinds[i] != all || *local.Get(e) == &number)
		}
		require.NoError(t, w.CheckInvariants())
	}
	r := rand.New(rand.NewPCG(1, 3))
	for round := range 12 {
		for range r.IntN(150) {
			k := all
			if r.IntN(round+2) == 0 {
				k = some
			}
			e, err := w.Spawn(k, world.Vec3{}, world.Vec3{})
			if round%2 == 0 {
				w.Destroy(e)
				e, err = w.DeferSpawn(k, world.Vec3{}, world.Vec3{}, 0)
			}
			require.NoError(t, err)
			kinds, entities = append(kinds, k), append(entities, e)
		}
		before := len(slices.Collect(w.Spawned()))
		w.ApplyDeferred()
		if round%2 == 0 {
			spawned := slices.Collect(w.Spawned())[before:]
			require.Equal(t, entities[len(entities)-len(spawned):], spawned)
		}
		check()
		w.Step()
		for i := len(entities) - 1; i >= 0; i -= 1 + r.IntN(3) {
			w.Destroy(entities[i])
			kinds, entities = slices.Delete(kinds, i, i+1), slices.Delete(entities, i, i+1)
		}
		w.Step()
		check()
	}
}

// sized is a component of a given size.
type sized struct {
	check func(t *testing.T, e world.Entity, has bool)
}

func newSized[T any](t *testing.T, w *world.World, k world.KindID) sized {
	c := register[T](t, w, fmt.Sprintf("%T", *new(T)))
	var value T
	bytes := unsafe.Slice((*byte)(unsafe.Pointer(&value)), unsafe.Sizeof(value))
	for i := range bytes {
		bytes[i] = byte(i + 1)
	}
	require.NoError(t, world.SetDefault(w, k, c, value))
	return sized{func(t *testing.T, e world.Entity, has bool) {
		require.Equal(t, has, c.Has(e), "%T", value)
		if has && !reflect.DeepEqual(*c.Get(e), value) {
			require.Equal(t, value, *c.Get(e))
		}
		word := c.Word(e.Index() >> 6)
		if zero := *new(T); !has && !reflect.DeepEqual(word[e.Index()&63], zero) {
			require.Equal(t, zero, word[e.Index()&63], "slots without the component hold zeros")
		}
	}}
}

func TestDeferredChangesKeepTheirOrder(t *testing.T) {
	w, crate, _, _ := newWorld(t, world.Config{MaxEntities: 3})
	n := register[int32](t, w, "n")
	a, b := spawn(t, w, crate, world.Vec3{}), spawn(t, w, crate, world.Vec3{})
	n.DeferSet(a, 1)
	n.DeferSet(b, 10)
	n.DeferRemove(a)
	n.DeferSet(a, 2)
	n.DeferSet(b, 11)
	n.DeferRemove(b)
	c := must.Get(w.DeferSpawn(crate, world.Vec3{}, world.Vec3{}, 0))
	require.ErrorIs(t, must.Fail(w.DeferSpawn(crate, world.Vec3{}, world.Vec3{}, 0)), world.ErrFull, "places are counted at once")
	require.ErrorIs(t, must.Fail(w.DeferSpawn(99, world.Vec3{}, world.Vec3{}, 0)), world.ErrUnknown)
	require.True(t, w.Destroy(c))
	require.False(t, n.Has(a))
	require.NoError(t, w.CheckInvariants(), "an entity may wait for its body")
	w.ApplyDeferred()
	require.EqualValues(t, 2, *n.Get(a))
	require.False(t, n.Has(b))
	must.Have(w.Position(c))
	w.Step()
	require.Equal(t, bulk.Stale, w.Status(c))
	require.Equal(t, []world.Entity{c}, destroyed(w))
	require.False(t, n.DeferSet(c, 1))
	require.False(t, n.DeferRemove(c))
	n.DeferSet(a, 3)
	w.Step()
	require.EqualValues(t, 3, *n.Get(a), "at the latest when the next step begins")
	require.True(t, n.Changed().Has(a.Index()))
}

func TestLocalComponent(t *testing.T) {
	type session struct {
		Name string
		Path []world.Vec3
	}
	w, crate, _, _ := newWorld(t, world.Config{})
	local := must.Get(world.RegisterLocal[session](w, "session"))
	require.ErrorIs(t, must.Fail(world.RegisterLocal[int](w, "session")), world.ErrName)
	e := spawn(t, w, crate, world.Vec3{})
	before := w.StateHash()
	require.True(t, local.Set(e, session{Name: "ann", Path: make([]world.Vec3, 3)}))
	require.Equal(t, before, w.StateHash(), "it is not part of the state")
	require.True(t, w.Components()[0].Local)
	require.True(t, local.DeferSet(e, session{Name: "bob"}))
	w.Step()
	require.Equal(t, "bob", local.Get(e).Name)
	w.Destroy(e)
	value := local.Get(e)
	w.Step()
	require.Zero(t, *value, "its memory is released")
}

func TestReferences(t *testing.T) {
	type crew struct {
		Captain world.Entity
		Mates   [3]world.Entity
		Age     uint64
		Ship    struct{ Home world.Entity }
	}
	w, crate, _, _ := newWorld(t, world.Config{})
	crews, hp := register[crew](t, w, "crew"), register[health](t, w, "health")
	e, friend, gone := spawn(t, w, crate, world.Vec3{}), spawn(t, w, crate, world.Vec3{}), spawn(t, w, crate, world.Vec3{})
	hp.Set(friend, health{Current: 3, Healer: e})
	w.Destroy(gone)
	w.Step()
	heir := spawn(t, w, crate, world.Vec3{})
	require.Equal(t, gone.Index(), heir.Index())
	forged := bulk.NewHandle(heir.Index(), heir.Generation()+2)

	v := crew{Captain: friend, Mates: [3]world.Entity{1: gone, 2: heir}, Age: uint64(friend)}
	v.Ship.Home = forged
	crews.Set(e, v)
	require.EqualValues(t, 3, hp.Get(friend).Current)
	require.Nil(t, hp.Get(heir), "it has no health")
	require.Nil(t, hp.Get(gone))

	var img world.Image
	w.TakeImage(&img)
	require.NoError(t, w.RestoreRun(&img))
	now := func(old world.Entity) world.Entity { return w.Slots().Handle(old.Index()) }
	require.NotEqual(t, friend, now(friend))
	v.Captain, v.Mates[2] = now(friend), now(heir)
	v.Mates[1] = bulk.NewHandle(gone.Index(), bulk.GoneGeneration)
	v.Ship.Home = v.Mates[1]
	require.Equal(t, v, *crews.Get(now(e)), "live targets have new handles, the others none that a later entity may have")
	require.Equal(t, now(e), hp.Get(now(friend)).Healer)
}

// Two worlds in one process distinguish their handles if their generations are disjoint.
func TestHandleOfAnotherWorld(t *testing.T) {
	const apart = 1 << 24
	worlds := make([]*world.World, 2)
	handles := make([]world.Entity, 2)
	for i := range worlds {
		w, crate, _, _ := newWorld(t, world.Config{FirstGeneration: 1 + uint32(i)*apart})
		hp := register[health](t, w, "health")
		require.NoError(t, world.SetDefault(w, crate, hp, health{Current: 5}))
		worlds[i], handles[i] = w, spawn(t, w, crate, world.Vec3{})
	}
	for i, w := range worlds {
		foreign := handles[1-i]
		require.Equal(t, []bulk.Status{bulk.Unissued, bulk.Stale}[i], w.Status(foreign), "later, and earlier")
		require.False(t, w.Destroy(foreign))
		require.False(t, w.SetVelocity(foreign, world.Vec3{X: 1}))
		must.Lack(w.Position(foreign))
		require.False(t, w.Awake(foreign))
		w.Step()
		require.Empty(t, destroyed(w))
	}
	require.False(t, slices.Equal(handles[:1], handles[1:]))
}

// An entity that loses a component counts as changed, even if the removal was deferred.
func TestDeferredRemovalIsDirty(t *testing.T) {
	w, _, ghost, _ := newWorld(t, world.Config{})
	points := register[int32](t, w, "points")
	e := spawn(t, w, ghost, world.Vec3{})
	points.Set(e, 1)
	changes := w.NewChangeReader()
	changes.Next()
	points.DeferRemove(e)
	require.False(t, changes.Next().Has(e.Index()))
	w.Step()
	require.False(t, points.Has(e))
	require.True(t, changes.Next().Has(e.Index()))
}
