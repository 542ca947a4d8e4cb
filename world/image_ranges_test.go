package world_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/internal/racetest"
	"github.com/worldd/worldd/world"
)

// bond is a component with handles. Number is the entity's own, and Friends has the numbers of those that it names.
type bond struct {
	Number  uint64
	Friend  world.Entity
	Others  [2]world.Entity
	Friends [3]uint64
}

// bonds is a world of entities that store the handles of each other, over many runs.
type bonds struct {
	*testing.T
	*rand.Rand
	w       *world.World
	crate   world.KindID
	bonds   *world.Component[bond]
	numbers uint64
	alive   map[uint64]world.Entity // by number
	extra   map[uint64]world.Entity // stored outside the world, by number
}

func newBonds(t *testing.T, seed uint64, first, last uint32) *bonds {
	w, crate, _, _ := newWorld(t, world.Config{Seed: seed, MaxEntities: 64, FirstGeneration: first, LastGeneration: last})
	return &bonds{
		T: t, Rand: rand.New(rand.NewPCG(seed, 1)), w: w, crate: crate, bonds: register[bond](t, w, "bond"),
		alive: map[uint64]world.Entity{}, extra: map[uint64]world.Entity{},
	}
}

// churn runs steps in which entities come and go, and bind themselves to others.
func (b *bonds) churn(steps int) {
	for range steps {
		if len(b.alive) < 40 {
			e := spawn(b.T, b.w, b.crate, world.Vec3{X: float32(b.IntN(40)), Y: 1})
			b.numbers++
			b.bonds.Set(e, bond{Number: b.numbers})
			b.alive[b.numbers], b.extra[b.numbers] = e, e
			_, _ = b.w.AddEffect(world.EffectDef{Program: compile(b.T, blast), Follow: e, LifeTicks: 1000}) // until there are too many
		}
		for n := uint64(1); n <= b.numbers; n++ {
			e, lives := b.alive[n]
			switch {
			case lives && b.IntN(30) == 0:
				b.w.Destroy(e)
				delete(b.alive, n)
			case lives && b.IntN(9) == 0:
				other := 1 + b.Uint64N(b.numbers)
				v := b.bonds.Mut(e)
				i := b.IntN(3)
				v.Friends[i] = other
				*[]*world.Entity{&v.Friend, &v.Others[0], &v.Others[1]}[i] = b.extra[other]
			}
		}
		b.w.Step()
	}
}

// check compares what the stored handles name with the model.
func (b *bonds) check() {
	require.NoError(b, b.w.CheckInvariants())
	require.Len(b, b.alive, b.w.Stats().Entities)
	compare := func(where string, number uint64, h world.Entity) {
		e, lives := b.alive[number]
		switch {
		case number == 0:
			require.Zero(b, h)
		case lives:
			require.Equal(b, e, h, where)
			require.Equal(b, number, b.bonds.Get(h).Number, where)
		default:
			require.Equal(b, bulk.Stale, b.w.Status(h), "H5: %s: %v of %d, which is dead", where, h, number)
			require.Nil(b, b.bonds.Get(h))
		}
	}
	for n, e := range b.alive {
		v := b.bonds.Get(e)
		for i, h := range []world.Entity{v.Friend, v.Others[0], v.Others[1]} {
			compare(fmt.Sprint("friend of ", n), v.Friends[i], h)
		}
	}
	for n, h := range b.extra {
		compare("outside", n, h)
	}
}

// restored returns the world restored from a file of its image, in a range, or nil if the range has been used up.
func (b *bonds) restored(first, last uint32) *bonds {
	next := newBonds(b.T, 1, first, last)
	spawn(b.T, next.w, next.crate, world.Vec3{}) // which the image replaces
	next.Rand = rand.New(rand.NewPCG(b.numbers, 2))
	img := read(b.T, next.w, written(b.T, b.w))
	if err := next.w.RestoreRun(img); err != nil {
		require.ErrorIs(b, err, world.ErrImageWorld)
		require.Equal(b, 1, next.w.Stats().Entities, "nothing has changed")
		return nil
	}
	next.numbers = b.numbers
	for n, e := range b.alive {
		require.NotEqual(b, bulk.Live, next.w.Status(e), "a handle that nobody has renamed")
		next.alive[n] = next.w.RenamedEntity(img, e)
		require.Equal(b, next.w.Slots().Handle(e.Index()), next.alive[n])
	}
	for n, e := range b.extra {
		next.extra[n] = next.w.RenamedEntity(img, e)
	}
	return next
}

// A world is restored into ranges above, below and equal to its own, again and again: what a handle in a component, an
// effect or outside the world named, it names in all later runs, or it is Stale for ever (H5, B11). And the
// world continues in the same way in each range.
func TestRestoreRunInAnyRange(t *testing.T) {
	racetest.SkipSequential(t)
	const block, blocks = world.RunGenerations, 3
	b := newBonds(t, 1, 1, block-1)
	restoredIn := func(i int) *bonds { return b.restored(uint32(i)*block+1, uint32(i+1)*block-1) }
	equal := 0
	for at, round := 0, 0; round < 24; round++ {
		b.churn(30)
		b.check()
		var first *bonds
		for i := range blocks {
			w := restoredIn(i)
			require.Equal(t, i != at, w != nil, "only the run's own range is refused, since the run may have used it up")
			if w == nil {
				continue
			}
			require.Equal(t, b.w.Stats().Effects, w.w.Stats().Effects)
			w.check()
			w.churn(5)
			w.check()
			if first == nil {
				first = w
			}
			requireSameBonds(t, first, w)
		}
		next := b.IntN(blocks)
		if next == at { // in a wider range, where a new run continues above
			equal++
			next = (at + 1) % blocks
			for range 2 {
				b = b.restored(uint32(at)*block+1, 0)
				b.check()
				b.churn(10)
			}
		}
		b, at = restoredIn(next), next
	}
	require.Positive(t, equal)
}

// requireSameBonds requires that two worlds differ in nothing but the generations of their handles.
func requireSameBonds(t *testing.T, one, other *bonds) {
	require.Equal(t, one.w.Stats(), other.w.Stats())
	require.Equal(t, one.w.Slots().Len(), other.w.Slots().Len())
	for slot := range one.w.Slots().Len() {
		a, b := one.w.Slots().Handle(slot), other.w.Slots().Handle(slot)
		require.Equal(t, a == 0, b == 0)
		if a == 0 {
			continue
		}
		require.Equal(t, one.bonds.Get(a).Friends, other.bonds.Get(b).Friends)
		at, _ := one.w.Position(a)
		there, _ := other.w.Position(b)
		require.Equal(t, at, there)
	}
}
