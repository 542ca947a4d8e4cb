package bulk_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/internal/must"
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
	require.NoError(t, s.Renew(bulk.Renewal{Last: bulk.MaxGeneration, Skip: skip}))
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
	require.ErrorIs(t, last.Renew(bulk.Renewal{Last: bulk.MaxGeneration, Skip: skip}), bulk.ErrState)
	require.Equal(t, []uint32{5}, last.Generations)
}

// Renew chooses the lowest generation of its range that may not have been issued.
func TestRenewedRange(t *testing.T) {
	for _, c := range []struct {
		name          string
		first, newest uint32 // of the state
		to            bulk.Renewal
		want          uint32 // 0: ErrState
	}{
		{"a range above", 1, 99, bulk.Renewal{First: 201, Last: 299, Skip: 10}, 201},
		{"a range below", 201, 299, bulk.Renewal{First: 1, Last: 99, Skip: 10}, 1},
		{"a range that the skip reaches", 101, 199, bulk.Renewal{First: 201, Last: 299, Skip: 10}, 211},
		{"the same range", 101, 149, bulk.Renewal{First: 101, Last: 199, Skip: 10}, 161},
		{"the same range, used up", 101, 189, bulk.Renewal{First: 101, Last: 199, Skip: 10}, 0},
		{"all generations", 101, 149, bulk.Renewal{First: 1, Last: bulk.MaxGeneration, Skip: 10}, 161},
		{"nothing issued", 101, 0, bulk.Renewal{First: 1, Last: bulk.MaxGeneration, Skip: 10}, 113},
		{"an even beginning", 201, 299, bulk.Renewal{Last: 99}, 1},
		{"known generations below", 201, 299, bulk.Renewal{First: 101, Last: 199, Known: 55, Skip: 10}, 101},
		{"known generations above", 1, 99, bulk.Renewal{First: 201, Last: 299, Known: 355, Skip: 10}, 201},
		{"known generations inside", 1, 99, bulk.Renewal{First: 201, Last: 299, Known: 255, Skip: 10}, 267},
		{"known generations that reach it", 1, 99, bulk.Renewal{First: 201, Last: 299, Known: 195, Skip: 10}, 207},
		{"known generations use it up", 1, 99, bulk.Renewal{First: 201, Last: 299, Known: 295, Skip: 10}, 0},
		{"a state of the last generation", bulk.GoneGeneration, bulk.GoneGeneration, bulk.Renewal{First: 1, Last: bulk.MaxGeneration, Skip: 1 << 31}, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := bulk.PoolState{FirstGeneration: c.first, Newest: c.newest, Generations: []uint32{c.newest, 0}, Retired: []uint32{1}}
			err := s.Renew(c.to)
			if c.want == 0 {
				require.ErrorIs(t, err, bulk.ErrState)
				require.Equal(t, c.first, s.FirstGeneration)
				require.Equal(t, c.newest, s.Generations[0])
				return
			}
			require.NoError(t, err)
			require.Equal(t, c.want, s.FirstGeneration)
			require.Equal(t, []uint32{1}, s.Retired)
			require.Zero(t, s.Generations[1], "it stays retired")
		})
	}
}

// stored is a handle in a program's data. It named the tenant with this number.
type stored struct {
	handle bulk.Handle
	tenant uint64
}

// numbered is a tenant with a number that no other has.
type numbered struct{ number uint64 }

// renewals are runs of one pool that its images lead to, in ranges of generations that are used again and again.
type renewals struct {
	*testing.T
	*rand.Rand
	order  bulk.Order
	pool   *bulk.Pool[numbered]
	alive  map[uint64]bulk.Handle // by number of the tenant
	stored []stored
	newest uint64 // number given to a tenant
}

// churn adds and removes tenants, and stores the handle of each.
func (r *renewals) churn() {
	for range 60 {
		if h, t := r.pool.Add(); h != 0 && r.IntN(2) == 0 {
			r.newest++
			t.number, r.alive[r.newest] = r.newest, h
			r.stored = append(r.stored, stored{h, r.newest})
		} else {
			r.pool.Remove(h)
		}
		if h := r.pool.HandleAt(uint32(r.IntN(40))); h != 0 {
			delete(r.alive, r.pool.Get(h).number)
			r.pool.Remove(h)
		}
	}
}

// check compares what all stored handles name with the model.
func (r *renewals) check() {
	require.NoError(r, r.pool.CheckInvariants())
	require.Len(r, r.alive, r.pool.Len())
	for _, s := range r.stored {
		if h, lives := r.alive[s.tenant]; lives {
			require.Equal(r, h, s.handle)
			require.Equal(r, s.tenant, r.pool.Get(h).number)
		} else {
			require.Equal(r, bulk.Stale, r.pool.Status(s.handle), "B11: %v of tenant %d", s.handle, s.tenant)
		}
	}
}

// renew restores the pool in a range, or reports that the range has no generations left.
func (r *renewals) renew(first, last, skip uint32) bool {
	var before, state bulk.PoolState
	r.pool.State(&before)
	r.pool.State(&state)
	old := r.pool
	if err := state.Renew(bulk.Renewal{First: first, Last: last, Skip: skip}); err != nil {
		require.ErrorIs(r, err, bulk.ErrState)
		require.Equal(r, before, state)
		require.LessOrEqual(r, before.FirstGeneration, last, "only a range that the run has issued is refused")
		require.Greater(r, before.Newest+skip, first)
		return false
	}
	r.pool = newPool[numbered](r.T, bulk.Options{MaxSlots: 64, Order: r.order, FirstGeneration: first, LastGeneration: last})
	require.NoError(r, r.pool.SetState(&state))
	for h, t := range old.All() {
		require.Equal(r, bulk.Stale, r.pool.Status(h), "a handle that nobody has renamed")
		renamed := before.Renamed(h, state.FirstGeneration)
		require.Equal(r, bulk.NewHandle(h.Index(), state.FirstGeneration), renamed)
		*r.pool.Get(renamed) = *t
		r.alive[t.number] = renamed
	}
	for i := range r.stored {
		r.stored[i].handle = before.Renamed(r.stored[i].handle, state.FirstGeneration)
	}
	return true
}

// Over many rounds in a few ranges, a stored handle names its tenant or is Stale for ever (B11).
func TestRenewedHandles(t *testing.T) {
	const ranges, width, skip = 4, 4000, 100
	for _, order := range orders {
		t.Run(order.String(), func(t *testing.T) {
			r := &renewals{T: t, Rand: rand.New(rand.NewPCG(1, uint64(order))), order: order, alive: map[uint64]bulk.Handle{}}
			r.pool = newPool[numbered](t, bulk.Options{MaxSlots: 64, Order: order, LastGeneration: width - 1})
			lower, higher, again := 0, 0, 0
			for round, at := 0, 0; round < 60; round++ {
				r.churn()
				r.check()
				next := r.IntN(ranges)
				if !r.renew(uint32(next*width)+1, uint32((next+1)*width)-1, skip) {
					t.Fatalf("round %d: range %d after %d", round, next, at)
				}
				switch {
				case next < at:
					lower++
				case next > at:
					higher++
				default:
					again++
				}
				at = next
				r.check()
			}
			require.Greater(t, min(lower, higher, again), 5)
			for !t.Failed() && r.renew(1, width-1, skip) { // until the range is used up
				r.check()
			}
		})
	}
}

// A handle of the dead names nothing in any pool.
func TestGoneGeneration(t *testing.T) {
	p := newPool[tenant](t, bulk.Options{MaxSlots: 8, FirstGeneration: bulk.MaxGeneration})
	p.Add()
	gone := bulk.NewHandle(0, bulk.GoneGeneration)
	require.True(t, gone.Valid())
	require.Equal(t, bulk.Stale, p.Status(gone))
	require.ErrorIs(t, must.Fail(p.AddAt(gone)), bulk.ErrLimit)
	require.ErrorIs(t, must.Fail(bulk.NewPool[tenant](bulk.Options{LastGeneration: bulk.GoneGeneration})), bulk.ErrOptions)
	s := bulk.PoolState{Generations: []uint32{5}}
	for _, h := range []bulk.Handle{0, bulk.NewHandle(0, 4), bulk.NewHandle(7, 0)} {
		require.Equal(t, h, s.Renamed(h, 101), "it names nothing")
	}
	require.Equal(t, bulk.NewHandle(1, bulk.GoneGeneration), s.Renamed(bulk.NewHandle(1, 5), 101), "a slot beyond the state")
}
