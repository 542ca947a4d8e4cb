package bulk_test

import (
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/internal/columns"
	"github.com/worldd/worldd/internal/must"
)

// object is 128 pointer-free bytes.
type object [16]uint64

// BenchmarkScanSlots finds the 0.1 % live slots among 1M slots of 128 bytes.
func BenchmarkScanSlots(b *testing.B) {
	const n = 1 << 20
	p := must.Get(bulk.NewPool[object](bulk.Options{}))
	require.NoError(b, p.AddN(n, func(bulk.Handle, *object) {}))
	r := rand.New(rand.NewPCG(5, 6))
	for h := range p.All() {
		if r.IntN(1000) != 0 {
			p.Remove(h)
		}
	}
	type flagged struct {
		live bool
		rest [127]byte
	}
	flags, bools := make([]flagged, n), make([]bool, n)
	for i := range flags {
		flags[i].rest[0], bools[i] = 1, false // touch the memory
	}
	for h := range p.All() {
		flags[h.Index()] = flagged{live: true, rest: [127]byte{1}}
		bools[h.Index()] = true
	}
	var list []uint32
	for _, c := range []struct {
		name string
		scan func() (n int)
	}{
		{"AppendTo", func() (n int) {
			list = p.Live().AppendTo(list[:0])
			return len(list)
		}},
		{"And", func() (n int) {
			for _, word := range bulk.And(p.Live()) {
				for ; word != 0; word &= word - 1 {
					n++
				}
			}
			return n
		}},
		{"flagInObject", func() (n int) {
			for i := range flags {
				if flags[i].live {
					n++
				}
			}
			return n
		}},
		{"bools", func() (n int) {
			for i := range bools {
				if bools[i] {
					n++
				}
			}
			return n
		}},
	} {
		b.Run(c.name, func(b *testing.B) {
			require.Equal(b, p.Len(), c.scan())
			for b.Loop() {
				c.scan()
			}
		})
	}
}

// BenchmarkCollect runs a whole garbage collection with 1M objects of 128 bytes.
func BenchmarkCollect(b *testing.B) {
	const n = 1_000_000
	collect := func(b *testing.B, keep any) {
		runtime.GC()
		b.ResetTimer()
		for range b.N {
			runtime.GC()
		}
		runtime.KeepAlive(keep)
	}
	b.Run("empty", func(b *testing.B) { collect(b, nil) })
	for _, memory := range memories {
		b.Run(memory.String(), func(b *testing.B) {
			p := must.Get(bulk.NewPool[object](bulk.Options{Memory: memory}))
			require.NoError(b, p.AddN(n, func(bulk.Handle, *object) {}))
			collect(b, p)
			require.NoError(b, p.Close())
		})
	}
	b.Run("pointers", func(b *testing.B) {
		all := make([]*object, n)
		for i := range all {
			all[i] = new(object)
		}
		collect(b, all)
	})
}

// BenchmarkThousandPools creates and removes in 1,000 small pools in rotation.
func BenchmarkThousandPools(b *testing.B) {
	const pools, tenants = 1000, 100
	for _, o := range []bulk.Options{
		{Memory: bulk.Growing},
		{Memory: bulk.Growing, Order: bulk.FreeList},
		{Memory: bulk.Growing, Order: bulk.FIFO},
	} {
		b.Run(o.Order.String(), func(b *testing.B) {
			r := rand.New(rand.NewPCG(1, 1))
			all, handles := make([]*bulk.Pool[body], pools), make([][]bulk.Handle, pools)
			bytes := uint64(0)
			for i := range all {
				p := must.Get(bulk.NewPool[body](o))
				for range tenants {
					h, _ := p.Add()
					handles[i] = append(handles[i], h)
				}
				r.Shuffle(tenants, func(x, y int) { handles[i][x], handles[i][y] = handles[i][y], handles[i][x] })
				all[i] = p
				bytes += p.Stats().Bytes
			}
			round := func() {
				for i, p := range all {
					for n := range 10 {
						p.Remove(handles[i][n*10])
					}
					for n := range 10 {
						handles[i][n*10], _ = p.Add()
					}
				}
			}
			round()
			b.ReportAllocs()
			b.ResetTimer()
			for range b.N {
				round()
			}
			perEntity(b, pools*10)
			b.ReportMetric(float64(bytes)/pools, "bytes/pool")
		})
	}
}

// BenchmarkMarkParallel marks random members from several workers: in one set per
// worker, merged at the end, against one set behind a lock.
func BenchmarkMarkParallel(b *testing.B) {
	const n, marks = 1 << 18, 100_000
	workers := runtime.GOMAXPROCS(0)
	work := func(mark func(worker int, i uint32)) {
		var wg sync.WaitGroup
		for worker := range workers {
			wg.Go(func() {
				x := uint32(worker)*2654435761 + 1
				for range marks {
					x ^= x << 13
					x ^= x >> 17
					x ^= x << 5
					mark(worker, x%n)
				}
			})
		}
		wg.Wait()
	}
	var sets [64]struct {
		bulk.Bitset
		_ [64]byte // keep the sets on separate cache lines
	}
	workers = min(workers, len(sets))
	views := make([]bulk.BitsetView, workers)
	for i := range views {
		views[i] = sets[i].View()
		sets[i].Set(n - 1)
	}
	var one bulk.Bitset
	one.Set(n - 1)
	b.Run("aSetEach", func(b *testing.B) {
		for b.Loop() {
			for i := range sets {
				sets[i].Reset()
			}
			work(func(worker int, i uint32) { sets[worker].Set(i) })
			one.SetOr(views...)
		}
		perEntity(b, workers*marks)
	})
	b.Run("oneSetLocked", func(b *testing.B) {
		var mu sync.Mutex
		for b.Loop() {
			one.Reset()
			work(func(_ int, i uint32) {
				mu.Lock()
				one.Set(i)
				mu.Unlock()
			})
		}
		perEntity(b, workers*marks)
	})
	b.Run("oneWorker", func(b *testing.B) {
		for b.Loop() {
			one.Reset()
			for i := range uint32(marks) {
				one.Set(i * 2654435761 % n)
			}
		}
		perEntity(b, marks)
	})
}

// BenchmarkScratch runs one kernel through Scratch, against directly on the structs.
func BenchmarkScratch(b *testing.B) {
	p, live := filled(b, benchSlots, 0, bulk.Options{})
	type buffers struct{ p, v [3][bulk.BlockLen]float32 }
	s := new(buffers)
	require.Less(b, unsafe.Sizeof(*s), uintptr(1<<20))
	b.Run("scratch", func(b *testing.B) {
		for b.Loop() {
			bulk.Scratch(p, s, func(s *buffers, row int, w bulk.Word[body]) int {
				row &= bulk.BlockLen - 64
				for i := range w.Slots {
					e := &w.Slots[i]
					s.p[0][row+i], s.p[1][row+i], s.p[2][row+i] = e.px, e.py, e.pz
					s.v[0][row+i], s.v[1][row+i], s.v[2][row+i] = e.vx, e.vy, e.vz
				}
				return 64
			}, func(s *buffers, rows int) {
				for axis := range 3 {
					columns.AddScaled(s.p[axis][:rows], s.v[axis][:rows], 1.0/60)
				}
			}, func(s *buffers, row int, w bulk.Word[body]) int {
				row &= bulk.BlockLen - 64
				for i := range w.Slots {
					e := &w.Slots[i]
					e.px, e.py, e.pz = s.p[0][row+i], s.p[1][row+i], s.p[2][row+i]
				}
				return 64
			})
		}
		perEntity(b, len(live))
	})
}
