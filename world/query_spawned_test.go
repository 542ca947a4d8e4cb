package world_test

import (
	"fmt"
	"iter"
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/world"
)

// Loops over entities, in every form.
func (p *modelledWorld) loops() map[string]func() iter.Seq[world.Entity] {
	first := func(all iter.Seq2[world.Entity, world.Vec3]) iter.Seq[world.Entity] {
		return func(yield func(world.Entity) bool) {
			for e := range all {
				if !yield(e) {
					return
				}
			}
		}
	}
	return map[string]func() iter.Seq[world.Entity]{
		"Query.All": p.queries["all"].All,
		"All": func() iter.Seq[world.Entity] {
			return func(yield func(world.Entity) bool) {
				for e := range p.a.All() {
					if !yield(e) {
						return
					}
				}
			}
		},
		"a and b": p.queries["a and b"].All,
		"Words": func() iter.Seq[world.Entity] {
			return func(yield func(world.Entity) bool) {
				for word, mask := range p.queries["a"].Words() {
					for i := range uint32(64) {
						if mask>>i&1 != 0 && !yield(p.w.Slots().Handle(word<<6|i)) {
							return
						}
					}
				}
			}
		},
		"Within": func() iter.Seq[world.Entity] { return first(p.w.Within(world.Vec3{}, 1000)) },
		"WithinBox": func() iter.Seq[world.Entity] {
			return first(p.w.WithinBox(world.Vec3{X: -1e3, Y: -1e3, Z: -1e3}, world.Vec3{X: 1e3, Y: 1e3, Z: 1e3}))
		},
	}
}

// A loop yields the entities that were live when it began. A loop that spawns matching
// entities therefore ends, even if the entities fill holes ahead of the loop. Nested loops
// and concurrent reads of the changes make no difference.
func TestLoopsDoNotYieldWhatTheySpawn(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		p := newModelledWorld(t)
		reader := p.w.NewChangeReader()
		spawn := func() (world.Entity, error) {
			e, err := p.w.Spawn(p.kinds[rapid.IntRange(0, 1).Draw(rt, "kind")], world.Vec3{X: float32(rapid.IntRange(-50, 50).Draw(rt, "x")), Y: 1}, world.Vec3{})
			if err == nil {
				p.a.Set(e, 1)
				p.b.Set(e, 1)
			}
			return e, err
		}
		var all []world.Entity
		for range rapid.IntRange(1, 150).Draw(rt, "entities") {
			e := must.Get(spawn())
			all = append(all, e)
		}
		for _, e := range all {
			if rapid.IntRange(0, 3).Draw(rt, "hole") == 0 {
				p.w.Destroy(e)
			}
		}
		if rapid.Bool().Draw(rt, "stepped") {
			p.w.Step()
		}
		if rapid.Bool().Draw(rt, "spawned before") {
			_, _ = spawn()
		}
		loops := p.loops()
		names := slices.Sorted(maps.Keys(loops))
		name := rapid.SampledFrom(names).Draw(rt, "loop")
		want := slices.Collect(loops[name]())
		var got []world.Entity
		for e := range loops[name]() {
			got = append(got, e)
			require.LessOrEqual(rt, len(got), len(want), "%s yields what it spawns", name)
			for range rapid.IntRange(0, 2).Draw(rt, "spawns") {
				_, _ = spawn() // until the world is full
			}
			switch rapid.IntRange(0, 9).Draw(rt, "else") {
			case 0:
				reader.Next()
			case 1:
				inner := rapid.SampledFrom(names).Draw(rt, "inner")
				before := len(slices.Collect(loops[inner]()))
				n := 0
				for range loops[inner]() {
					n++
					_, _ = spawn()
				}
				require.Equal(rt, before, n, "%s in %s", inner, name)
			}
		}
		require.Equal(rt, want, got, name)
	})
}

// A rule of a game as an example: each crate splits once.
func TestSystemThatSpawnsInAll(t *testing.T) {
	p := newModelledWorld(t)
	for i := range 3 {
		e := must.Get(p.w.Spawn(p.kinds[0], world.Vec3{X: float32(i)}, world.Vec3{}))
		p.a.Set(e, 1)
	}
	require.NoError(t, p.w.AddSystem(world.Before, "split", func(w *world.World) {
		for range p.a.All() {
			e := must.Get(w.Spawn(p.kinds[0], world.Vec3{}, world.Vec3{}))
			p.a.Set(e, 1)
		}
	}))
	for _, want := range []int{6, 12, 24} {
		p.w.Step()
		require.Equal(t, want, p.queries["a"].Count(), fmt.Sprint(want))
	}
}
