package bulk_test

import (
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
	"weak"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/internal/racetest"
)

func newPool[T any](tb testing.TB, o bulk.Options) *bulk.Pool[T] {
	tb.Helper()
	return must.Get(bulk.NewPool[T](o))
}

func TestNewPoolReportsEveryComplaint(t *testing.T) {
	_, err := bulk.NewPool[int](bulk.Options{MaxSlots: -1, FirstGeneration: 2})
	require.ErrorIs(t, err, bulk.ErrOptions)
	require.ErrorContains(t, err, "MaxSlots is -1")
	require.ErrorContains(t, err, "FirstGeneration is 2")
	if math.MaxInt > math.MaxUint32 {
		require.ErrorIs(t, must.Fail(bulk.NewPool[int](bulk.Options{MaxSlots: math.MaxInt})), bulk.ErrOptions)
	}
}

func TestPoolEmpty(t *testing.T) {
	p := newPool[int](t, bulk.Options{})
	require.NoError(t, p.CheckInvariants())
	require.Zero(t, p.Len())
	require.Zero(t, p.Slots())
	require.Zero(t, p.NewestGeneration())
	require.Nil(t, p.Get(0))
	require.Nil(t, p.Get(bulk.NewHandle(0, 1)))
	require.False(t, p.Remove(bulk.NewHandle(0, 1)))
	require.Equal(t, bulk.Unissued, p.Status(bulk.NewHandle(0, 1)))
	require.False(t, p.Live().Any())
	for range p.All() {
		t.Fatal("nobody lives here")
	}
	for range p.Words() {
		t.Fatal("nobody lives here")
	}
	require.NoError(t, p.AddN(0, nil))
	require.NoError(t, p.AddN(-1, nil))
	require.Zero(t, p.Len())
	require.Equal(t, "bulk.Pool[int]: 0 live, 0 slots used of 16777216, 0 retired", p.String())
}

func TestAddTakesTheLowestFreeSlot(t *testing.T) {
	p := newPool[int](t, bulk.Options{})
	var handles []bulk.Handle
	for range 3 * bulk.BlockLen {
		h, _ := p.Add()
		handles = append(handles, h)
	}
	freed := []int{2*bulk.BlockLen + 1, 70, bulk.BlockLen, 3, 3*bulk.BlockLen - 1, 64}
	for _, i := range freed {
		require.True(t, p.Remove(handles[i]))
	}
	slices.Sort(freed)
	for _, i := range freed {
		h, _ := p.Add()
		require.Equal(t, bulk.NewHandle(uint32(i), 3), h)
	}
	h, _ := p.Add()
	require.Equal(t, bulk.NewHandle(3*bulk.BlockLen, 1), h)
}

// TestNextHandleForgetsHistory: pools with equal slots and generations issue equal handles,
// whatever their history.
func TestNextHandleForgetsHistory(t *testing.T) {
	const n = 500
	var results [2][]bulk.Handle
	for run := range results {
		p := newPool[int](t, bulk.Options{})
		var handles []bulk.Handle
		for range n {
			h, _ := p.Add()
			handles = append(handles, h)
		}
		order := rand.New(rand.NewPCG(uint64(run), 0)).Perm(n)
		for _, i := range order {
			if i%3 == 0 {
				p.Remove(handles[i])
			}
		}
		for range n {
			h, _ := p.Add()
			results[run] = append(results[run], h)
		}
	}
	require.Equal(t, results[0], results[1])
}

func TestPoolFull(t *testing.T) {
	for _, limit := range []int{1, 63, 64, 65, bulk.BlockLen - 1, bulk.BlockLen, bulk.BlockLen + 1} {
		p := newPool[int](t, bulk.Options{MaxSlots: limit})
		require.NoError(t, p.AddN(limit, func(bulk.Handle, *int) {}))
		h, v := p.Add()
		require.Zero(t, h)
		require.Nil(t, v)
		require.ErrorIs(t, p.AddN(1, nil), bulk.ErrFull)
		require.Equal(t, limit, p.Len())
		require.NoError(t, p.CheckInvariants())

		last := p.HandleAt(uint32(limit - 1))
		require.True(t, p.Remove(last))
		require.ErrorIs(t, p.AddN(2, nil), bulk.ErrFull, "all or nothing")
		require.Equal(t, limit-1, p.Len())
		h, _ = p.Add()
		require.Equal(t, bulk.NewHandle(uint32(limit-1), 3), h)
	}
}

// TestSpentSlotIsRetired is H4: generations never wrap.
func TestSpentSlotIsRetired(t *testing.T) {
	p := newPool[int](t, bulk.Options{MaxSlots: 2, FirstGeneration: bulk.MaxGeneration - 2})
	var all []bulk.Handle
	for {
		h, _ := p.Add()
		if h == 0 {
			break
		}
		require.NotContains(t, all, h)
		all = append(all, h)
		require.True(t, p.Remove(h))
		require.NoError(t, p.CheckInvariants())
	}
	require.Equal(t, []bulk.Handle{
		bulk.NewHandle(0, bulk.MaxGeneration-2), bulk.NewHandle(0, bulk.MaxGeneration),
		bulk.NewHandle(1, bulk.MaxGeneration-2), bulk.NewHandle(1, bulk.MaxGeneration),
	}, all)
	require.Equal(t, 2, p.Retired())
	require.Zero(t, p.Len())
	require.Equal(t, uint32(bulk.MaxGeneration), p.NewestGeneration())
	for _, h := range all {
		require.Equal(t, bulk.Stale, p.Status(h))
		require.Nil(t, p.Get(h))
		require.ErrorIs(t, must.Fail(p.AddAt(h)), bulk.ErrStale)
	}
	for generation := range uint32(4) { // generations that wrapping would issue
		h := bulk.NewHandle(0, generation)
		require.Nil(t, p.Get(h))
		require.False(t, p.Remove(h))
		require.NotEqual(t, bulk.Live, p.Status(h))
		must.Fail(p.AddAt(h))
	}
	require.ErrorIs(t, p.AddN(1, nil), bulk.ErrFull)
	require.Equal(t, "bulk.Pool[int]: 0 live, 2 slots used of 2, 2 retired", p.String())
}

// A slot that AddAt has skipped, and that has then had its last tenant, is never used again (H4).
func TestSkippedSlotIsRetired(t *testing.T) {
	eachStrategy(t, func(t *testing.T, o bulk.Options) {
		o.MaxSlots = 4
		p := newPool[uint64](t, o)
		add := func(h bulk.Handle) { must.Get(p.AddAt(h)) }
		add(bulk.NewHandle(3, 1)) // slots 1 and 2 become holes
		last := bulk.NewHandle(2, bulk.MaxGeneration)
		add(last)
		require.True(t, p.Remove(last))
		require.NoError(t, p.CheckInvariants())
		var state bulk.PoolState
		p.State(&state)
		require.NotContains(t, state.Holes, last.Index())
		require.NoError(t, p.CheckState(&state))
		for h, _ := p.Add(); h != 0; h, _ = p.Add() {
			require.NotEqual(t, last.Index(), h.Index())
		}
		require.Equal(t, bulk.Stale, p.Status(last))
	})
}

func TestAddAt(t *testing.T) {
	p := newPool[int](t, bulk.Options{MaxSlots: 3 * bulk.BlockLen})
	h := bulk.NewHandle(2*bulk.BlockLen+9, 7)
	v := must.Get(p.AddAt(h))
	require.Zero(t, *v)
	require.Same(t, v, p.Get(h))
	require.Equal(t, h.Index()+1, p.Slots())
	require.Equal(t, uint32(7), p.NewestGeneration())
	require.NoError(t, p.CheckInvariants())

	for _, other := range []uint32{1, 5, 7, 9} {
		require.ErrorIs(t, must.Fail(p.AddAt(bulk.NewHandle(h.Index(), other))), bulk.ErrLive)
	}
	require.True(t, p.Remove(h))
	for _, used := range []uint32{1, 5, 7} { // 1 and 5 were skipped
		require.ErrorIs(t, must.Fail(p.AddAt(bulk.NewHandle(h.Index(), used))), bulk.ErrStale)
		require.Equal(t, bulk.Stale, p.Status(bulk.NewHandle(h.Index(), used)))
	}
	require.ErrorIs(t, must.Fail(p.AddAt(bulk.NewHandle(h.Index(), 8))), bulk.ErrHandle)
	require.ErrorIs(t, must.Fail(p.AddAt(0)), bulk.ErrHandle)
	require.ErrorIs(t, must.Fail(p.AddAt(bulk.NewHandle(3*bulk.BlockLen, 1))), bulk.ErrLimit)

	// The slot continues from its generation. Add still starts at the lowest hole.
	must.Get(p.AddAt(bulk.NewHandle(h.Index(), 9)))
	lowest, _ := p.Add()
	require.Equal(t, bulk.NewHandle(0, 1), lowest)
	require.NoError(t, p.CheckInvariants())
}

func TestFirstGenerationMakesOlderOnesStale(t *testing.T) {
	p := newPool[int](t, bulk.Options{MaxSlots: 2 * bulk.BlockLen, FirstGeneration: 101})
	before, ahead := bulk.NewHandle(0, 99), bulk.NewHandle(0, 101)
	check := func(index uint32) {
		require.Equal(t, bulk.Stale, p.Status(bulk.NewHandle(index, 99)), "H5: an earlier run's")
		require.Equal(t, bulk.Unissued, p.Status(bulk.NewHandle(index, 101)))
		require.Equal(t, bulk.Unissued, p.Status(bulk.NewHandle(index, 100)), "even")
		require.ErrorIs(t, must.Fail(p.AddAt(bulk.NewHandle(index, 99))), bulk.ErrStale)
	}
	check(0) // no block yet
	require.Equal(t, bulk.Unissued, p.Status(bulk.NewHandle(2*bulk.BlockLen, 99)), "beyond the limit")
	h, _ := p.Add()
	require.Equal(t, ahead, h)
	require.Equal(t, bulk.Live, p.Status(h))
	require.Equal(t, bulk.Stale, p.Status(before))
	check(1)             // in a block
	check(bulk.BlockLen) // in a block not yet allocated
}

// TestForgedHandles passes random bits to random pools (B8).
func TestForgedHandles(t *testing.T) {
	racetest.SkipSequential(t)
	r := rand.New(rand.NewPCG(7, 7))
	p := newPool[tenant](t, bulk.Options{MaxSlots: 10_000})
	for range 9000 {
		h, v := p.Add()
		v.self = h
		if r.IntN(3) == 0 {
			p.Remove(h)
		}
	}
	n := p.Len()
	for range 200_000 {
		h := bulk.Handle(r.Uint64())
		if r.IntN(2) == 0 { // more likely to hit a slot
			h = bulk.NewHandle(r.Uint32N(12_000), r.Uint32N(8))
		}
		v := p.Get(h)
		require.Equal(t, v != nil, p.Status(h) == bulk.Live)
		if v != nil {
			require.Equal(t, h, v.self)
			continue
		}
		require.False(t, p.Remove(h))
		if at := p.HandleAt(h.Index()); at != 0 {
			require.NotEqual(t, h, at)
		}
	}
	require.Equal(t, n, p.Len())
	require.NoError(t, p.CheckInvariants())
}

func TestAddZeroesWhatWasWrittenToHoles(t *testing.T) {
	p := newPool[[4]float32](t, bulk.Options{})
	h, v := p.Add()
	v[0] = 1
	p.Remove(h)
	p.At(0)[2] = 5 // a loop over whole words does this
	_, v = p.Add()
	require.Equal(t, [4]float32{}, *v)
}

func TestRemoveLetsGoOfWhatTPointsTo(t *testing.T) {
	p := newPool[*[64]int](t, bulk.Options{})
	h, v := p.Add()
	*v = new([64]int)
	target := weak.Make(*v)
	runtime.GC()
	require.NotNil(t, target.Value())
	p.Remove(h)
	runtime.GC()
	require.Nil(t, target.Value())
	runtime.KeepAlive(p)
}

// TestPoolsOfAnyType: zero-sized, with pointers, with bools.
func TestPoolsOfAnyType(t *testing.T) {
	anyType(t, struct{}{})
	anyType(t, true)
	anyType(t, "text")
	anyType(t, any(5))
	anyType(t, [3]uint16{1, 2, 3})
	anyType(t, struct {
		name string
		on   bool
		next *int
	}{name: "x", on: true})
	anyType(t, struct {
		a uint8
		b [2]float64
	}{a: 1})
}

func anyType[T comparable](t *testing.T, value T) {
	p := newPool[T](t, bulk.Options{})
	var zero T
	for range 3 {
		h, v := p.Add()
		require.Equal(t, zero, *v)
		*v = value
		require.Equal(t, value, *p.Get(h))
		require.True(t, p.Remove(h))
	}
	require.NoError(t, p.CheckInvariants())
}

// TestWordsDuringChanges: a yielded word is a copy; later words show the changes.
func TestWordsDuringChanges(t *testing.T) {
	p := newPool[int](t, bulk.Options{})
	var handles []bulk.Handle
	for range 300 {
		h, _ := p.Add()
		handles = append(handles, h)
	}
	for i := 70; i < 128; i++ {
		p.Remove(handles[i])
	}
	for i := 128; i < 192; i++ {
		p.Remove(handles[i])
	}
	var bases []uint32
	for base, word := range p.Words() {
		bases = append(bases, base)
		if base > 0 {
			continue
		}
		require.Equal(t, uint64(math.MaxUint64), word.Live)
		for _, h := range handles[:70] { // this word, and the rest of the next
			p.Remove(h)
		}
		require.Equal(t, uint64(math.MaxUint64), word.Live, "a copy")
		for range 64 + 64 + 64 + 500 { // fills the holes, then grows
			p.Add()
		}
	}
	require.Equal(t, []uint32{0, 64, 128, 192, 256}, bases, "up to the 300 slots of the beginning")
	require.NoError(t, p.CheckInvariants())
}

// TestAddingForEachVisitedEnds: All does not visit values that the loop's body adds beyond
// the initial slots.
func TestAddingForEachVisitedEnds(t *testing.T) {
	p := newPool[int](t, bulk.Options{})
	require.NoError(t, p.AddN(100, func(bulk.Handle, *int) {}))
	p.Remove(bulk.NewHandle(5, 1))
	p.Remove(bulk.NewHandle(90, 1))
	var seen []uint32
	for h := range p.All() {
		seen = append(seen, h.Index())
		p.Add()
	}
	require.Len(t, seen, 100, "the holes that were filled ahead, and no slot beyond the first 100")
	require.True(t, slices.IsSorted(seen))
	require.Equal(t, 198, p.Len())
}

func TestWarmPoolDoesNotAllocate(t *testing.T) {
	p := newPool[tenant](t, bulk.Options{})
	var handles []bulk.Handle
	for range 2*bulk.BlockLen + 5 {
		h, _ := p.Add()
		handles = append(handles, h)
	}
	var extra bulk.Bitset
	extra.Set(handles[len(handles)-1].Index())
	sum := uint64(0)
	for name, f := range map[string]func(){
		"Add and Remove": func() {
			for i := 0; i < len(handles); i += 100 {
				p.Remove(handles[i])
			}
			for i := 0; i < len(handles); i += 100 {
				handles[i], _ = p.Add()
			}
		},
		"Get and Status": func() {
			for _, h := range handles {
				sum += p.Get(h).dirty + uint64(p.Status(h))
			}
		},
		"All": func() {
			for h, v := range p.All() {
				sum += uint64(h) + v.dirty
			}
		},
		"Words": func() {
			for base, w := range p.Words() {
				for i := range bulk.Bits(0, w.Live) {
					sum += uint64(base) + w.Slots[i].dirty
				}
			}
		},
		"Bitset": func() {
			for w, word := range bulk.And(p.Live(), extra.View()) {
				for i := range bulk.Bits(w*64, word) {
					sum += uint64(i)
				}
			}
			for w := range bulk.Or(p.Live(), extra.View()) {
				sum += uint64(w)
			}
			for w := range bulk.AndNot(p.Live(), extra.View()) {
				sum += uint64(w)
			}
			for i := range extra.All() {
				sum += uint64(i)
			}
		},
	} {
		require.Zero(t, testing.AllocsPerRun(10, f), name)
	}
	require.NotZero(t, sum)
}

func TestStatusString(t *testing.T) {
	require.Equal(t, "unissued", bulk.Unissued.String())
	require.Equal(t, "stale", bulk.Stale.String())
	require.Equal(t, "live", bulk.Live.String())
	require.Equal(t, "Status(9)", bulk.Status(9).String())
}
