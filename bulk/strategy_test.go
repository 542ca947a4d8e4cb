package bulk_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/internal/must"
)

// eachStrategy runs f for every Order and Memory supported here.
func eachStrategy(t *testing.T, f func(*testing.T, bulk.Options)) {
	for _, order := range orders {
		for _, memory := range memories {
			if memory == bulk.Reserved && !canReserve() {
				continue
			}
			t.Run(order.String()+"/"+memory.String(), func(t *testing.T) {
				f(t, bulk.Options{Order: order, Memory: memory})
			})
		}
	}
}

// TestStrategiesAgree runs the same commands on all strategies: only the choice of
// slots may differ.
func TestStrategiesAgree(t *testing.T) {
	type observed struct {
		values  []uint64 // of live tenants, sorted
		removed []bool
		verdict []bulk.Status
		len     int
	}
	var want *observed
	slots := map[bulk.Order][]bulk.Handle{} // must not depend on Memory
	eachStrategy(t, func(t *testing.T, o bulk.Options) {
		o.MaxSlots = 20_000
		p := newPool[[2]uint64](t, o)
		defer func() { require.NoError(t, p.Close()) }()
		r := rand.New(rand.NewPCG(9, 9))
		var got observed
		var handles []bulk.Handle
		for n := range 30_000 {
			switch k := r.IntN(10); {
			case k < 6 || len(handles) == 0:
				h, v := p.Add()
				v[0], v[1] = uint64(n), uint64(n)
				handles = append(handles, h)
			case k < 9: // including removed ones
				h := handles[r.IntN(len(handles))]
				got.removed = append(got.removed, p.Remove(h))
			default:
				got.verdict = append(got.verdict, p.Status(handles[r.IntN(len(handles))]))
			}
		}
		require.NoError(t, p.CheckInvariants())
		for h, v := range p.All() {
			require.Equal(t, v[0], v[1])
			require.Same(t, v, p.Get(h))
			got.values = append(got.values, v[0])
		}
		slices.Sort(got.values)
		got.len = p.Len()
		if want == nil {
			want = &got
		}
		require.Equal(t, *want, got)
		if slots[o.Order] == nil {
			slots[o.Order] = handles
		}
		require.Equal(t, slots[o.Order], handles, "the same slots in any memory")
	})
}

func TestOptionsThatMakeNoSense(t *testing.T) {
	refused := func(err error, parts ...string) {
		t.Helper()
		require.ErrorIs(t, err, bulk.ErrOptions)
		for _, part := range parts {
			require.ErrorContains(t, err, part)
		}
	}
	_, err := bulk.NewPool[*int](bulk.Options{Order: bulk.FreeList})
	refused(err, "FreeList writes its links over dead data, but *int holds pointers")
	_, err = bulk.NewPool[string](bulk.Options{Memory: bulk.Reserved, MaxSlots: -5})
	refused(err, "string holds pointers", "MaxSlots is -5")
	_, err = bulk.NewPool[any](bulk.Options{Memory: bulk.Reserved})
	refused(err, "holds pointers")
	_, err = bulk.NewPool[float32](bulk.Options{Order: bulk.FreeList, MaxSlots: 1})
	refused(err, "needs 8 bytes", "at least 2")
	_, err = bulk.NewPool[int](bulk.Options{Order: 7, Memory: 9})
	refused(err, "Order(7)", "Memory(9)")
	_, err = bulk.NewPool[[1 << 17]byte](bulk.Options{})
	refused(err, "use Growing")
	must.Get(bulk.NewPool[[1 << 17]byte](bulk.Options{Memory: bulk.Growing}))
	if math.MaxInt > math.MaxUint32 {
		_, err = bulk.NewPool[[1 << 17]byte](bulk.Options{Memory: bulk.Reserved, MaxSlots: math.MaxInt & math.MaxUint32})
		refused(err, "exceed the Reserved limit")
	}
	must.Get(bulk.NewPool[[0]*int](bulk.Options{Order: bulk.FIFO, Memory: bulk.Growing}))
}

// TestLimitIsNeverPassed fills a pool to its last slot, repeatedly.
func TestLimitIsNeverPassed(t *testing.T) {
	eachStrategy(t, func(t *testing.T, o bulk.Options) {
		for _, limit := range []int{2, 63, 64, 65, 130, bulk.BlockLen - 1, bulk.BlockLen, bulk.BlockLen + 1} {
			o.MaxSlots = limit
			p := newPool[uint64](t, o)
			most := limit
			if o.Order == bulk.FreeList {
				most-- // slot 0 is the head
			}
			for round := range 3 {
				require.ErrorIs(t, p.AddN(most+1, nil), bulk.ErrFull)
				require.NoError(t, p.AddN(most, func(bulk.Handle, *uint64) {}))
				h, v := p.Add()
				require.Zero(t, h)
				require.Nil(t, v)
				require.Equal(t, most, p.Len())
				require.Equal(t, uint32(limit), p.Slots())
				for h := range p.All() {
					require.Equal(t, uint32(2*round+1), h.Generation())
					require.True(t, p.Remove(h))
				}
				require.NoError(t, p.CheckInvariants())
			}
			require.ErrorIs(t, must.Fail(p.AddAt(bulk.NewHandle(uint32(limit), 1))), bulk.ErrLimit)
			require.NoError(t, p.Close())
		}
	})
}

// TestGenerationsNearTheirEnd uses up each slot, and then the pool.
func TestGenerationsNearTheirEnd(t *testing.T) {
	eachStrategy(t, func(t *testing.T, o bulk.Options) {
		o.MaxSlots, o.FirstGeneration = 67, bulk.MaxGeneration-4
		p := newPool[uint64](t, o)
		defer func() { require.NoError(t, p.Close()) }()
		seen := map[bulk.Handle]bool{}
		for {
			h, _ := p.Add()
			if h == 0 {
				break
			}
			require.False(t, seen[h], "%v again", h)
			seen[h] = true
			require.True(t, p.Remove(h))
			require.NoError(t, p.CheckInvariants())
		}
		slots := 67
		if o.Order == bulk.FreeList {
			slots--
		}
		require.Equal(t, 3*slots, len(seen))
		require.Equal(t, slots, p.Retired())
		for h := range seen {
			require.Equal(t, bulk.Stale, p.Status(h))
			require.ErrorIs(t, must.Fail(p.AddAt(h)), bulk.ErrStale, "%v", h)
		}
	})
}

// TestForeignHandles passes another pool's handles, and random bits.
func TestForeignHandles(t *testing.T) {
	other := newPool[uint64](t, bulk.Options{FirstGeneration: 7})
	require.NoError(t, other.AddN(10_000, func(bulk.Handle, *uint64) {}))
	eachStrategy(t, func(t *testing.T, o bulk.Options) {
		o.MaxSlots = 5000
		p := newPool[uint64](t, o)
		defer func() { require.NoError(t, p.Close()) }()
		require.NoError(t, p.AddN(3000, func(h bulk.Handle, v *uint64) { *v = uint64(h) }))
		r := rand.New(rand.NewPCG(11, 11))
		ask := func(h bulk.Handle) {
			if v := p.Get(h); v != nil {
				require.Equal(t, uint64(h), *v)
				return
			}
			require.False(t, p.Remove(h))
			require.NotEqual(t, bulk.Live, p.Status(h))
		}
		for h := range other.All() {
			ask(h)
		}
		for range 20_000 {
			ask(bulk.Handle(r.Uint64()))
			ask(bulk.NewHandle(r.Uint32N(6000), r.Uint32()))
			ask(bulk.NewHandle(r.Uint32N(6000), r.Uint32N(4)))
			ask(bulk.NewHandle(math.MaxUint32-r.Uint32N(70), 1))
		}
		require.Equal(t, 3000, p.Len())
		require.NoError(t, p.CheckInvariants())
	})
}

// TestFreeListSurvivesWritesToHoles: forbidden writes change the order of reuse, but
// corrupt neither memory nor uniqueness.
func TestFreeListSurvivesWritesToHoles(t *testing.T) {
	for seed := range uint64(50) {
		r := rand.New(rand.NewPCG(seed, 0))
		p := newPool[uint64](t, bulk.Options{Order: bulk.FreeList, MaxSlots: 500})
		live := map[bulk.Handle]bool{}
		for range 400 {
			if h, _ := p.Add(); h != 0 && r.IntN(2) == 0 {
				live[h] = true
			} else if h != 0 {
				p.Remove(h)
			}
			for _, w := range p.Words() {
				w.Slots[r.IntN(64)] = uint64(r.Uint32N(600))<<32 | uint64(r.Uint32N(600))
			}
			for h := range live {
				if r.IntN(8) == 0 {
					require.True(t, p.Remove(h))
					delete(live, h)
				}
			}
			require.Equal(t, len(live), p.Len())
			for h := range live {
				require.NotNil(t, p.Get(h))
			}
		}
	}
}

func TestReservedMemory(t *testing.T) {
	if !canReserve() {
		t.Skip("not on this system")
	}
	slots := uint32(1 << 24) // 2 GiB of address space
	if math.MaxInt == math.MaxInt32 {
		slots = 1 << 18
	}
	p := newPool[object](t, bulk.Options{Memory: bulk.Reserved, MaxSlots: int(slots)})
	h, v := p.Add()
	last := must.Get(p.AddAt(bulk.NewHandle(slots-1, 1)))
	last[15] = 1
	require.Equal(t, uintptr(slots-1)*128, uintptr(unsafe.Pointer(last))-uintptr(unsafe.Pointer(v)), "one array")
	require.NoError(t, p.Close())
	require.Nil(t, p.Get(h))
	require.False(t, p.Remove(h))
	require.Nil(t, p.At(0))
	again, _ := p.Add()
	require.Zero(t, again)
	require.ErrorIs(t, p.AddN(1, nil), bulk.ErrFull)
	require.Zero(t, p.Len())
	require.NoError(t, p.Close(), "twice is once")
	for range p.All() {
		t.Fatal("closed")
	}
}

// TestGrowingStartsSmall creates a thousand small pools.
func TestGrowingStartsSmall(t *testing.T) {
	p := newPool[[1024]byte](t, bulk.Options{Memory: bulk.Growing})
	pointers := map[bulk.Handle]*[1024]byte{}
	for range 1000 {
		h, v := p.Add()
		v[0] = byte(h)
		pointers[h] = v
	}
	for h, v := range pointers {
		require.Same(t, v, p.Get(h))
		require.Equal(t, byte(h), v[0])
	}
	require.NoError(t, p.CheckInvariants())
}

func TestWarmStrategiesDoNotAllocate(t *testing.T) {
	eachStrategy(t, func(t *testing.T, o bulk.Options) {
		p := newPool[uint64](t, o)
		defer func() { require.NoError(t, p.Close()) }()
		tag := p.Tag("x")
		var handles []bulk.Handle
		for range 2*bulk.BlockLen + 5 {
			h, _ := p.Add()
			handles = append(handles, h)
			tag.Set(h.Index())
		}
		i := 0
		collect := func(h bulk.Handle, _ *uint64) { handles[i] = h; i++ }
		require.Zero(t, testing.AllocsPerRun(10, func() {
			for _, h := range handles {
				p.Remove(h)
			}
			for n := range len(handles) / 2 {
				handles[n], _ = p.Add()
			}
			i = len(handles) / 2
			_ = p.AddN(len(handles)-i, collect)
		}))
	})
}

func TestNames(t *testing.T) {
	require.Equal(t, "LowestFree FreeList FIFO Order(3)", bulk.LowestFree.String()+" "+bulk.FreeList.String()+" "+bulk.FIFO.String()+" "+bulk.Order(3).String())
	require.Equal(t, "Blocks Growing Reserved Memory(4)", bulk.Blocks.String()+" "+bulk.Growing.String()+" "+bulk.Reserved.String()+" "+bulk.Memory(4).String())
}

func TestTags(t *testing.T) {
	p := newPool[int](t, bulk.Options{})
	bullets, frozen := p.Tag("bullet"), p.Tag("frozen")
	require.Same(t, bullets, p.Tag("bullet"))
	var handles []bulk.Handle
	for i := range uint32(200) {
		h, _ := p.Add()
		handles = append(handles, h)
		if i%2 == 0 {
			bullets.Set(i)
		}
		if i%3 == 0 {
			frozen.Set(i)
		}
	}
	p.Remove(handles[2])
	require.False(t, bullets.Has(2))
	p.Add() // into slot 2
	require.False(t, bullets.Has(2), "a new tenant has no tags")
	n := 0
	for w, word := range bulk.AndNot(bullets.View(), frozen.View()) {
		for i := range bulk.Bits(w*64, word) {
			require.True(t, i%2 == 0 && i%3 != 0 && i != 2)
			n++
		}
	}
	require.Equal(t, 200/2-200/6-1-1, n)
	require.NoError(t, p.CheckInvariants())
	require.NoError(t, p.Close())
}
