package world_test

import (
	"math/bits"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/world"
)

// Five components of a typical game.
type (
	position struct{ X, Y, Z float32 }
	motion   struct{ X, Y, Z float32 }
	armour   struct{ Points, Max int32 }
	team     struct{ Number uint8 }
	owner    struct{ Entity world.Entity }
)

type fiveComponents struct {
	*world.World
	position *world.Component[position]
	motion   *world.Component[motion]
	armour   *world.Component[armour]
	kind     world.KindID
}

func register[T any](tb testing.TB, w *world.World, name string) *world.Component[T] {
	tb.Helper()
	return must.Get(world.Register[T](w, name))
}

func newFive(tb testing.TB, maxEntities int, body *world.BodyDef) fiveComponents {
	w := must.Get(world.New(world.Config{MaxEntities: maxEntities}))
	f := fiveComponents{
		World: w, position: register[position](tb, w, "position"), motion: register[motion](tb, w, "motion"),
		armour: register[armour](tb, w, "armour"), kind: addKind(tb, w, world.Kind{Name: "five", Body: body}),
	}
	require.NoError(tb, world.SetDefault(w, f.kind, f.position, position{1, 2, 3}))
	require.NoError(tb, world.SetDefault(w, f.kind, f.motion, motion{1, 0, 0}))
	require.NoError(tb, world.SetDefault(w, f.kind, f.armour, armour{10, 10}))
	require.NoError(tb, world.SetDefault(w, f.kind, register[team](tb, w, "team"), team{1}))
	require.NoError(tb, world.SetDefault(w, f.kind, register[owner](tb, w, "owner"), owner{}))
	return f
}

// fiveFields is the obvious implementation: a struct in a map by number, or in a slice with
// a free list.
type fiveFields struct {
	position position
	motion   motion
	armour   armour
	team     team
	owner    owner
	live     bool
}

var anyFive = fiveFields{position{1, 2, 3}, motion{1, 0, 0}, armour{10, 10}, team{1}, owner{}, true}

// BenchmarkSpawnDestroy spawns and destroys 1,000 entities per step, next to 10,000 that
// stay. The time is per pair and includes the step's share.
func BenchmarkSpawnDestroy(b *testing.B) {
	const pairs = 1000
	perPair := func(b *testing.B) {
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/pairs, "ns/pair")
	}
	atOnce := func(f fiveComponents, i int) world.Entity {
		e, _ := f.Spawn(f.kind, world.Vec3{X: float32(i%100)*10 - 495, Z: float32(i/100)*10 - 495}, world.Vec3{})
		return e
	}
	run := func(body *world.BodyDef, spawn func(f fiveComponents, i int) world.Entity) func(*testing.B) {
		return func(b *testing.B) {
			f := newFive(b, 65536, body)
			for i := range 10_000 {
				atOnce(f, i)
			}
			var list [pairs]world.Entity
			step := func() {
				for i := range list {
					list[i] = spawn(f, i)
				}
				for _, e := range list {
					f.Destroy(e)
				}
				f.Step()
			}
			steps(f.World, 31) // lets those that stay fall asleep
			step()
			b.ReportAllocs()
			for b.Loop() {
				step()
			}
			perPair(b)
		}
	}
	b.Run("at once", run(nil, atOnce))
	b.Run("deferred", run(nil, func(f fiveComponents, _ int) world.Entity {
		e, _ := f.DeferSpawn(f.kind, world.Vec3{}, world.Vec3{}, 0)
		return e
	}))
	b.Run("with a body", run(&world.BodyDef{Kinematic: true}, atOnce))
	b.Run("plain map", func(b *testing.B) {
		m, next := map[uint64]*fiveFields{}, uint64(0)
		for range 10_000 {
			v := anyFive
			m[next] = &v
			next++
		}
		b.ReportAllocs()
		for b.Loop() {
			first := next
			for range pairs {
				v := anyFive
				m[next] = &v
				next++
			}
			for e := first; e < next; e++ {
				delete(m, e)
			}
		}
		perPair(b)
	})
	b.Run("plain slice", func(b *testing.B) {
		all, free := make([]fiveFields, 11_000), []uint32{}
		for i := 10_999; i >= 10_000; i-- {
			free = append(free, uint32(i))
		}
		var list [pairs]uint32
		b.ReportAllocs()
		for b.Loop() {
			for i := range list {
				list[i] = free[len(free)-1]
				free = free[:len(free)-1]
				all[list[i]] = anyFive
			}
			for _, i := range list {
				all[i] = fiveFields{}
				free = append(free, i)
			}
		}
		perPair(b)
	})
}

// BenchmarkQuery moves 100,000 entities. Nine tenths of them match.
func BenchmarkQuery(b *testing.B) {
	const n = 100_000
	f := newFive(b, n, nil)
	still := register[struct{}](b, f.World, "still")
	plain := make([]fiveFields, n)
	for i := range plain {
		e := spawn(b, f.World, f.kind, world.Vec3{})
		plain[i] = anyFive
		if i%10 == 0 {
			still.Set(e, struct{}{})
			plain[i].live = false
		}
	}
	q := must.Get(f.NewQuery(world.QueryDef{With: []world.Term{f.position, f.motion}, Without: []world.Term{still}}))
	require.Equal(b, n/10*9, q.Count())
	perEntity := func(b *testing.B) {
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/(n/10*9), "ns/entity")
	}
	b.Run("Words", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			for word, mask := range q.Words() {
				places, motions := f.position.MutWord(word, mask), f.motion.Word(word)
				for ; mask != 0; mask &= mask - 1 {
					i := bits.TrailingZeros64(mask) & 63
					places[i].X += motions[i].X
				}
			}
		}
		perEntity(b)
	})
	b.Run("All", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			for e := range q.All() {
				f.position.Mut(e).X += f.motion.Get(e).X
			}
		}
		perEntity(b)
	})
	b.Run("plain slice", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			for i := range plain {
				if p := &plain[i]; p.live {
					p.position.X += p.motion.X
				}
			}
		}
		perEntity(b)
	})
}

// BenchmarkVolumes steps 10,000 sleeping and 500 flying crates, with no volumes, with 100
// still ones and with 100 that follow bodies.
func BenchmarkVolumes(b *testing.B) {
	for _, c := range []struct {
		name          string
		count, moving int
	}{{"none", 0, 0}, {"100 at rest", 100, 0}, {"100 carried", 100, 100}} {
		b.Run(c.name, func(b *testing.B) {
			w, up := resting(b, 500)
			volumes := register[world.Volume](b, w, "volume")
			ghost := addKind(b, w, world.Kind{Name: "post"})
			for i := range c.count {
				at, _ := w.Position(up[i])
				if i < c.moving {
					volumes.Set(up[i], world.Volume{Radius: 12})
				} else {
					volumes.Set(spawn(b, w, ghost, world.Vec3{}), world.Volume{Center: at, Radius: 12})
				}
			}
			w.Step()
			changes := w.NewChangeReader()
			b.ReportAllocs()
			for b.Loop() {
				lift(w, up)
				w.Step()
				changes.Next()
			}
		})
	}
}
