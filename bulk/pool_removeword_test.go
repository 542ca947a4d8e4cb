package bulk_test

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/internal/racetest"
)

// TestRemoveWordAgainstRemove: RemoveWord leaves the same state, tags and next handles as
// single removals, for every order, with retired slots, and with pointers.
func TestRemoveWordAgainstRemove(t *testing.T) {
	racetest.SkipSequential(t)
	for _, o := range []bulk.Options{
		{},
		{Order: bulk.FreeList},
		{Order: bulk.FIFO},
		{Memory: bulk.Growing},
		{FirstGeneration: bulk.MaxGeneration - 4},
		{Order: bulk.FIFO, FirstGeneration: bulk.MaxGeneration - 4},
	} {
		removeWords(t, newPool[tenant](t, o), newPool[tenant](t, o), false)
		removeWords(t, newPool[tenant](t, o), newPool[tenant](t, o), true)
		if o.Order != bulk.FreeList { // FreeList keeps links in dead data
			removeWords(t, newPool[*int](t, o), newPool[*int](t, o), false)
		}
	}
}

func removeWords[T any](t *testing.T, a, b *bulk.Pool[T], tagged bool) {
	t.Helper()
	r := rand.New(rand.NewPCG(1, 2))
	var as, bs bulk.PoolState
	for range 60 {
		for range r.IntN(300) {
			h, _ := a.Add()
			other, _ := b.Add()
			require.Equal(t, h, other)
			if tagged && h.Index()%3 == 0 {
				a.Tag("third").Set(h.Index())
				b.Tag("third").Set(h.Index())
			}
		}
		for range r.IntN(8) {
			w, mask := r.Uint32N(8), r.Uint64()
			if r.IntN(2) == 0 {
				mask = ^uint64(0)
			}
			live := b.Live().Word(w) & mask
			for slot := range bulk.Bits(w<<6, mask) {
				b.Remove(b.HandleAt(slot))
			}
			require.Equal(t, live, a.RemoveWord(w, mask))
		}
		a.State(&as)
		b.State(&bs)
		require.Equal(t, bs, as)
		require.Equal(t, b.Len(), a.Len())
		require.True(t, b.Live().Equal(a.Live()))
		if tagged {
			require.True(t, b.Tag("third").Equal(a.Tag("third").View()))
		}
		require.NoError(t, a.CheckInvariants())
	}
	require.Zero(t, a.RemoveWord(1<<20, ^uint64(0)), "no such word")
}

func TestRemoveWordLetsGo(t *testing.T) {
	p := newPool[*int](t, bulk.Options{})
	h, v := p.Add()
	*v = new(int)
	require.Equal(t, uint64(1), p.RemoveWord(0, 3))
	require.Nil(t, *v)
	require.Nil(t, p.Get(h))
}
