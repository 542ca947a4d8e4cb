package bulk_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/bulk"
)

// churn adds and removes at random, as a function of r and the pool's answers.
func churn(p *bulk.Pool[tenant], r *rand.Rand, steps int) (given []bulk.Handle) {
	for range steps {
		switch at := r.IntN(400); {
		case r.IntN(3) == 0:
			h, _ := p.Add()
			given = append(given, h)
		case r.IntN(40) == 0:
			_, _ = p.AddAt(bulk.NewHandle(uint32(at), p.NewestGeneration()))
		default:
			p.Remove(p.HandleAt(uint32(at)))
		}
	}
	return given
}

// A pool restored from another pool's state issues the same handles, whatever it held
// before and however it allocates.
func TestStateGivesTheSameNextHandles(t *testing.T) {
	for _, order := range orders {
		for i, memory := range memories {
			for _, first := range []uint32{1, 7, bulk.MaxGeneration - 6} {
				t.Run(fmt.Sprint(order, memory, first), func(t *testing.T) {
					p := newPool[tenant](t, bulk.Options{MaxSlots: 300, Order: order, Memory: memory, FirstGeneration: first})
					q := newPool[tenant](t, bulk.Options{MaxSlots: 300, Order: order, Memory: memories[(i+1)%len(memories)]})
					churn(q, rand.New(rand.NewPCG(3, 4)), 500)
					q.Tag("old").Set(0)
					var s bulk.PoolState
					for round := range uint64(6) {
						churn(p, rand.New(rand.NewPCG(1, round)), 300)
						p.State(&s)
						require.NoError(t, q.SetState(&s))
						require.NoError(t, q.CheckInvariants())
						require.True(t, p.Live().Equal(q.Live()))
						require.Equal(t, p.Stats().Retired, q.Stats().Retired)
						require.False(t, q.Tag("old").Any())
						for _, now := range q.All() {
							require.Zero(t, *now)
						}
						var again bulk.PoolState
						q.State(&again)
						require.Equal(t, s.Generations, again.Generations)
						require.True(t, slices.Equal(s.Holes, again.Holes))
						want := churn(p, rand.New(rand.NewPCG(2, round)), 300)
						require.Equal(t, want, churn(q, rand.New(rand.NewPCG(2, round)), 300))
						require.NoError(t, q.CheckInvariants())
					}
				})
			}
		}
	}
}

// The same holds for a pool without memory, when words of the state are full: makeRoom
// opens all words.
func TestStateOfFullWordsInANewPool(t *testing.T) {
	for _, order := range orders {
		for _, memory := range memories {
			for _, tenants := range []int{1, 63, 64, 65, 128, 4096, 4097} {
				t.Run(fmt.Sprint(order, memory, tenants), func(t *testing.T) {
					o := bulk.Options{MaxSlots: 10_000, Order: order, Memory: memory}
					p, q := newPool[tenant](t, o), newPool[tenant](t, o)
					for range tenants {
						p.Add()
					}
					var s bulk.PoolState
					p.State(&s)
					require.NoError(t, q.SetState(&s))
					require.NoError(t, q.CheckInvariants())
					for range 130 {
						want, _ := p.Add()
						got, _ := q.Add()
						require.NotZero(t, want)
						require.Equal(t, want, got)
					}
					require.NoError(t, q.CheckInvariants())
				})
			}
		}
	}
}

func TestStateThatIsRefused(t *testing.T) {
	for _, c := range []struct {
		name  string
		order bulk.Order
		spoil func(*bulk.PoolState)
		want  error
	}{
		{"as it was taken", bulk.FIFO, func(*bulk.PoolState) {}, nil},
		{"even first generation", bulk.LowestFree, func(s *bulk.PoolState) { s.FirstGeneration = 2 }, bulk.ErrState},
		{"newest below first", bulk.LowestFree, func(s *bulk.PoolState) { s.FirstGeneration = 99 }, bulk.ErrState},
		{"even newest", bulk.LowestFree, func(s *bulk.PoolState) { s.Newest++ }, bulk.ErrState},
		{"generation of the future", bulk.LowestFree, func(s *bulk.PoolState) { s.Generations[3] = s.Newest + 2 }, bulk.ErrState},
		{"tenants, though no generation was issued", bulk.LowestFree, func(s *bulk.PoolState) {
			s.Newest, s.Generations = 0, s.Generations[:2] // slots 0 and 1 have tenants of generation 1
		}, bulk.ErrState},
		{"retired beyond the slots", bulk.LowestFree, func(s *bulk.PoolState) { s.Newest, s.Retired = bulk.MaxGeneration, []uint32{99} }, bulk.ErrState},
		{"holes with LowestFree", bulk.LowestFree, func(s *bulk.PoolState) { s.Holes = []uint32{2} }, bulk.ErrState},
		{"hole left out", bulk.FIFO, func(s *bulk.PoolState) { s.Holes = s.Holes[1:] }, bulk.ErrState},
		{"hole twice", bulk.FIFO, func(s *bulk.PoolState) { s.Holes[0] = s.Holes[1] }, bulk.ErrState},
		{"hole where somebody lives", bulk.FreeList, func(s *bulk.PoolState) { s.Holes[0] = 9 }, bulk.ErrState},
		{"hole beyond the slots", bulk.FreeList, func(s *bulk.PoolState) { s.Holes[0] = 1 << 31 }, bulk.ErrState},
		{"the list's own slot as a hole", bulk.FreeList, func(s *bulk.PoolState) { s.Holes[0] = 0 }, bulk.ErrState},
		{"a tenant in the list's own slot", bulk.FreeList, func(s *bulk.PoolState) { s.Generations[0] = 1 }, bulk.ErrState},
		{"too many slots", bulk.LowestFree, func(s *bulk.PoolState) { s.Generations = make([]uint32, 21) }, bulk.ErrLimit},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := newPool[tenant](t, bulk.Options{MaxSlots: 20, Order: c.order})
			for range 12 {
				p.Add()
			}
			for _, i := range []uint32{2, 7, 4} {
				p.Remove(p.HandleAt(i))
			}
			var s, now bulk.PoolState
			p.State(&s)
			c.spoil(&s)
			err := p.SetState(&s)
			if c.want == nil {
				require.NoError(t, err)
				return
			}
			require.ErrorIs(t, err, c.want)
			require.NoError(t, p.CheckInvariants())
			p.State(&now)
			require.Len(t, now.Generations, int(p.Slots()), "the pool is as it was")
			require.Equal(t, uint32(1), now.FirstGeneration)
		})
	}
}

// CheckState refuses a state of a later range, and CheckRenewable accepts it.
func TestStateOfALaterRange(t *testing.T) {
	p := newPool[tenant](t, bulk.Options{MaxSlots: 64, FirstGeneration: 101, LastGeneration: 199})
	p.Add()
	var s bulk.PoolState
	p.State(&s)
	own := newPool[tenant](t, bulk.Options{MaxSlots: 64, LastGeneration: 99})
	require.ErrorIs(t, own.CheckState(&s), bulk.ErrState)
	require.NoError(t, own.CheckRenewable(&s))
	s.Newest = 3
	require.ErrorIs(t, own.CheckRenewable(&s), bulk.ErrState, "all else is checked")
}

// After Renew every handle is new, with a generation above all that could have been issued
// within the skip (H5).
func TestRenewedState(t *testing.T) {
	p := newPool[tenant](t, bulk.Options{MaxSlots: 300, Order: bulk.FIFO})
	churn(p, rand.New(rand.NewPCG(1, 1)), 2000)
	var s bulk.PoolState
	p.State(&s)
	old := []bulk.Handle{}
	for h := range p.All() {
		old = append(old, h)
	}
	const skip = 1000
	later := churn(p, rand.New(rand.NewPCG(1, 2)), 900) // a slot issues at most 450 generations here
	require.NoError(t, s.Renew(skip, 0, bulk.MaxGeneration))
	q := newPool[tenant](t, bulk.Options{MaxSlots: 300, Order: bulk.FIFO})
	require.NoError(t, q.SetState(&s))
	require.NoError(t, q.CheckInvariants())
	require.Equal(t, len(old), q.Len())
	for _, h := range append(old, later...) {
		if h != 0 {
			require.Equal(t, bulk.Stale, q.Status(h), h)
			require.Less(t, h.Generation(), s.FirstGeneration)
		}
	}
	for _, h := range old {
		require.Equal(t, bulk.NewHandle(h.Index(), s.FirstGeneration), q.HandleAt(h.Index()))
	}
	h, _ := q.Add()
	require.GreaterOrEqual(t, h.Generation(), s.FirstGeneration)

	last := bulk.PoolState{FirstGeneration: bulk.MaxGeneration - skip, Generations: []uint32{5}}
	require.ErrorIs(t, last.Renew(skip, 0, bulk.MaxGeneration), bulk.ErrState)
	require.Equal(t, []uint32{5}, last.Generations)
}
