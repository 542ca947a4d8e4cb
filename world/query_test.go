package world_test

import (
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/worldd/worldd/internal/alloctest"
	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/world"
)

func newQuery(t testing.TB, w *world.World, d world.QueryDef) *world.Query {
	t.Helper()
	return must.Get(w.NewQuery(d))
}

func terms(list ...world.Term) []world.Term { return list }

// modelledWorld is a world with two components, and a map of each entity's components and
// changes.
type modelledWorld struct {
	w          *world.World
	kinds      []world.KindID
	a          *world.Component[int32]
	b          *world.Component[float64]
	model      map[world.Entity]*modelledEntity
	waiting    []func() // deferred changes
	queries    map[string]*world.Query
	conditions map[string]func(*modelledEntity) bool
}

type modelledEntity struct {
	body                 bool
	a                    *int32
	b                    *float64
	changed, changedNext bool // of component a
	doomed, unborn       bool
}

func newModelledWorld(t *testing.T) *modelledWorld {
	w, crate, ghost, _ := newWorld(t, world.Config{MaxEntities: 300, RestSeconds: 2.0 / 60})
	p := &modelledWorld{
		w: w, kinds: []world.KindID{crate, ghost}, model: map[world.Entity]*modelledEntity{},
		a: register[int32](t, w, "a"), b: register[float64](t, w, "b"),
	}
	require.NoError(t, world.SetDefault(w, ghost, p.a, 7))
	p.queries = map[string]*world.Query{
		"all":       newQuery(t, w, world.QueryDef{}),
		"a":         newQuery(t, w, world.QueryDef{With: terms(p.a)}),
		"a and b":   newQuery(t, w, world.QueryDef{With: terms(p.a, p.b)}),
		"a not b":   newQuery(t, w, world.QueryDef{With: terms(p.a), Without: terms(p.b)}),
		"neither":   newQuery(t, w, world.QueryDef{Without: terms(p.a, p.b)}),
		"changed":   newQuery(t, w, world.QueryDef{Changed: terms(p.a)}),
		"changed b": newQuery(t, w, world.QueryDef{Changed: terms(p.a), With: terms(p.b)}),
	}
	p.conditions = map[string]func(*modelledEntity) bool{
		"all":       func(*modelledEntity) bool { return true },
		"a":         func(c *modelledEntity) bool { return c.a != nil },
		"a and b":   func(c *modelledEntity) bool { return c.a != nil && c.b != nil },
		"a not b":   func(c *modelledEntity) bool { return c.a != nil && c.b == nil },
		"neither":   func(c *modelledEntity) bool { return c.a == nil && c.b == nil },
		"changed":   func(c *modelledEntity) bool { return c.a != nil && c.changed },
		"changed b": func(c *modelledEntity) bool { return c.a != nil && c.b != nil && c.changed },
	}
	return p
}

// any draws an entity that is or was live.
func (p *modelledWorld) any(t *rapid.T) (world.Entity, *modelledEntity) {
	if len(p.model) == 0 {
		t.Skip("no entity")
	}
	all := slices.SortedFunc(maps.Keys(p.model), func(x, y world.Entity) int { return int(x.Index()) - int(y.Index()) })
	e := rapid.SampledFrom(all).Draw(t, "entity")
	return e, p.model[e]
}

func (c *modelledEntity) setA(v int32) {
	c.a = &v
	c.changedNext = true
}

func (c *modelledEntity) born(ghost bool) {
	c.unborn = false
	if ghost {
		c.setA(7)
	}
}

func (p *modelledWorld) spawn(t *rapid.T) {
	kind := rapid.IntRange(0, 1).Draw(t, "kind")
	c := &modelledEntity{body: kind == 0}
	if rapid.Bool().Draw(t, "deferred") {
		e := must.Get(p.w.DeferSpawn(p.kinds[kind], world.Vec3{Y: 1}, world.Vec3{}, 0))
		c.unborn = true
		p.model[e] = c
		p.waiting = append(p.waiting, func() { c.born(kind == 1) })
		return
	}
	e := must.Get(p.w.Spawn(p.kinds[kind], world.Vec3{Y: 1}, world.Vec3{}))
	c.born(kind == 1)
	p.model[e] = c
}

func (p *modelledWorld) destroy(t *rapid.T) {
	e, c := p.any(t)
	require.Equal(t, !c.doomed, p.w.Destroy(e))
	c.doomed = true
}

func (p *modelledWorld) set(t *rapid.T) {
	e, c := p.any(t)
	v := rapid.Int32().Draw(t, "a")
	switch rapid.IntRange(0, 4).Draw(t, "how") {
	case 0:
		require.True(t, p.a.Set(e, v))
		c.setA(v)
	case 1:
		require.True(t, p.a.DeferSet(e, v))
		p.waiting = append(p.waiting, func() { c.setA(v) })
	case 2:
		require.Equal(t, c.a != nil, p.a.Mut(e) != nil)
		if c.a != nil {
			*p.a.Mut(e) = v
			c.setA(v)
		}
	case 3:
		f := float64(v)
		require.True(t, p.b.Set(e, f))
		c.b = &f
	case 4:
		f := float64(v)
		require.True(t, p.b.DeferSet(e, f))
		p.waiting = append(p.waiting, func() { c.b = &f })
	}
}

func (p *modelledWorld) remove(t *rapid.T) {
	e, c := p.any(t)
	switch rapid.IntRange(0, 2).Draw(t, "how") {
	case 0:
		require.Equal(t, c.a != nil, p.a.Remove(e))
		c.a, c.changed, c.changedNext = nil, false, false
	case 1:
		require.True(t, p.a.DeferRemove(e))
		p.waiting = append(p.waiting, func() { c.a, c.changed, c.changedNext = nil, false, false })
	case 2:
		require.True(t, p.b.DeferRemove(e))
		p.waiting = append(p.waiting, func() { c.b = nil })
	}
}

func (p *modelledWorld) apply(*rapid.T) {
	p.w.ApplyDeferred()
	p.applied()
}

func (p *modelledWorld) applied() {
	for _, f := range p.waiting {
		f()
	}
	p.waiting = nil
}

func (p *modelledWorld) step(*rapid.T) {
	p.w.Step()
	p.applied()
	for e, c := range p.model {
		c.changed, c.changedNext = c.changedNext, false
		if c.doomed {
			delete(p.model, e)
		}
	}
}

func (p *modelledWorld) compare(t *rapid.T) {
	require.NoError(t, p.w.CheckInvariants())
	for name, q := range p.queries {
		var want []world.Entity
		for e, c := range p.model {
			if p.conditions[name](c) && !c.unborn {
				want = append(want, e)
			}
		}
		slices.SortFunc(want, func(x, y world.Entity) int { return int(x.Index()) - int(y.Index()) })
		require.Equal(t, want, slices.Collect(q.All()), name)
		require.Equal(t, len(want), q.Count(), name)
	}
	n := 0
	for e, a := range p.a.All() {
		require.Equal(t, *p.model[e].a, *a)
		n++
	}
	require.Equal(t, p.queries["a"].Count(), n)
	for e := range p.queries["a and b"].All() {
		require.Equal(t, *p.model[e].a, *p.a.Get(e))
		require.Equal(t, *p.model[e].b, *p.b.Get(e))
	}
}

func TestQueriesAgainstModel(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		p := newModelledWorld(t)
		r.Repeat(map[string]func(*rapid.T){
			"spawn": p.spawn, "spawn2": p.spawn, "spawn3": p.spawn, "destroy": p.destroy, "set": p.set, "set2": p.set,
			"remove": p.remove, "apply": p.apply, "step": p.step, "": p.compare,
		})
	})
}

func TestQueryAwake(t *testing.T) {
	for _, mode := range []world.Compaction{world.Exchange, world.Stable, world.InPlace} {
		w, crate, ghost, lift := newWorld(t, world.Config{RestSeconds: 1.0 / 60, Compaction: mode})
		tag := register[uint8](t, w, "tag")
		require.NoError(t, world.SetDefault(w, crate, tag, 1))
		q := newQuery(t, w, world.QueryDef{With: terms(tag), Awake: true})
		anyone := newQuery(t, w, world.QueryDef{Awake: true})
		a, b := spawn(t, w, crate, world.Vec3{Y: 50}), spawn(t, w, crate, world.Vec3{X: 8, Y: 0.5})
		spawn(t, w, ghost, world.Vec3{})
		l := must.Get(w.Spawn(lift, world.Vec3{}, world.Vec3{X: 1}))
		require.Empty(t, slices.Collect(q.All()), "%v: before the first flush", mode)
		w.Step()
		require.Equal(t, []world.Entity{a, b}, slices.Collect(q.All()), "%v", mode)
		require.Equal(t, []world.Entity{a, b, l}, slices.Collect(anyone.All()), "%v", mode)
		require.Empty(t, slices.Collect(w.Woke()), "%v: a new body does not wake", mode)
		w.Step()
		require.Equal(t, []world.Entity{a}, slices.Collect(q.All()), "%v: the other lies on the ground", mode)
		require.Equal(t, []world.Entity{b}, slices.Collect(w.Slept()))
		w.Sleep(a)
		w.Wake(b)
		require.Equal(t, []world.Entity{a}, slices.Collect(q.All()), "%v: requests are not applied yet", mode)
		w.Step()
		require.Equal(t, []world.Entity{b}, slices.Collect(q.All()), "%v", mode)
		require.Equal(t, []world.Entity{a}, slices.Collect(w.Slept()))
		require.Equal(t, []world.Entity{b}, slices.Collect(w.Woke()))
		w.Destroy(b)
		w.Step()
		require.Equal(t, []world.Entity{l}, slices.Collect(anyone.All()), "%v: asleep or gone", mode)
		require.NoError(t, w.CheckInvariants())
	}
}

func TestLoopsOverComponents(t *testing.T) {
	w, crate, _, _ := newWorld(t, world.Config{})
	a, b, c := register[int32](t, w, "a"), register[int64](t, w, "b"), register[uint8](t, w, "c")
	every := newQuery(t, w, world.QueryDef{With: terms(a, b, c)})
	both := newQuery(t, w, world.QueryDef{With: terms(b, c)})
	var list []world.Entity
	for i := range 200 {
		e := spawn(t, w, crate, world.Vec3{})
		list = append(list, e)
		a.Set(e, int32(i))
		b.Set(e, int64(i)*10)
		if i%3 == 0 {
			c.Set(e, uint8(i))
		}
	}
	w.Step()
	w.Step()
	changes := w.NewChangeReader()
	changes.Next()
	require.False(t, a.Changed().Any(), "the changes of an earlier step")

	sum := int64(0)
	for e := range every.All() {
		i := e.Index()
		require.EqualValues(t, i, *a.Get(e))
		require.EqualValues(t, i*10, *b.Get(e))
		require.EqualValues(t, i, *c.Get(e))
		sum += *b.Get(e)
	}
	require.EqualValues(t, 10*3*66*67/2, sum)
	require.False(t, changes.Next().Any(), "reading is not a change")
	for e := range every.All() {
		*a.Mut(e) = -*a.Get(e)
		require.EqualValues(t, e.Index(), *c.Get(e))
	}
	for e := range both.All() {
		*b.Mut(e)++
	}
	require.True(t, changes.Next().Equal(c.Presence()))
	require.EqualValues(t, -3, *a.Get(list[3]))
	require.EqualValues(t, 31, *b.Get(list[3]))
	require.False(t, a.Changed().Any(), "marked between two steps, for the next")
	w.Step()
	require.True(t, a.Changed().Equal(c.Presence()))
	require.True(t, b.Changed().Equal(c.Presence()))
	require.False(t, c.Changed().Any())
	w.Step()
	require.False(t, a.Changed().Any())

	met := 0
	for e := range a.All() {
		met++
		if met == 2 {
			a.Remove(list[2])
			a.Remove(list[199])
			require.Equal(t, list[1], e)
		}
		require.NotEqual(t, list[2], e, "it lost the component before its turn")
	}
	require.Equal(t, 198, met)
	for range a.All() {
		break
	}
}

func TestQueryOfAnotherWorld(t *testing.T) {
	w, _, _, _ := newWorld(t, world.Config{})
	other, _, _, _ := newWorld(t, world.Config{})
	own, foreign := register[int](t, w, "n"), register[int](t, other, "n")
	for _, d := range []world.QueryDef{
		{With: terms(foreign)},
		{Without: terms(own, foreign)},
		{Changed: terms(foreign)},
		{With: []world.Term{nil}},
		{With: terms((*world.Component[int])(nil))}, // Register's result on error
	} {
		require.ErrorIs(t, must.Fail(w.NewQuery(d)), world.ErrUnknown)
	}
}

func TestLoopsAllocateNothing(t *testing.T) {
	alloctest.SkipAudited(t)
	w, crate, _, _ := newWorld(t, world.Config{})
	a, b := register[int32](t, w, "a"), register[int32](t, w, "b")
	require.NoError(t, world.SetDefault(w, crate, a, 1))
	require.NoError(t, world.SetDefault(w, crate, b, 2))
	q := newQuery(t, w, world.QueryDef{With: terms(a), Changed: terms(b), Awake: true})
	both := newQuery(t, w, world.QueryDef{With: terms(a, b)})
	churn := func() {
		e, _ := w.DeferSpawn(crate, world.Vec3{Y: 50}, world.Vec3{}, 0)
		a.DeferSet(e, 5)
		b.DeferRemove(e)
		_, _ = w.SpawnFor(crate, world.Vec3{Y: 50}, world.Vec3{}, 2)
		w.Step()
		w.Destroy(e)
		for word, mask := range q.Words() {
			a.MutWord(word, mask)[0]++
		}
		for e := range both.All() {
			*a.Mut(e) += *b.Get(e)
		}
		sum := int32(0)
		for _, n := range a.All() {
			sum += *n
		}
		if sum == 0 {
			t.Fatal("no entity has a value")
		}
		for e := range q.All() {
			b.Mut(e)
		}
	}
	alloctest.RequireNone(t, 100, 100, churn)
}
