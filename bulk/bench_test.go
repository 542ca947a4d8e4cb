package bulk_test

import (
	"fmt"
	"math/bits"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/internal/columns"
	"github.com/worldd/worldd/internal/must"
)

// body is the entity of the benchmarks: position and velocity.
type body struct{ px, py, pz, vx, vy, vz float32 }

func (b *body) move() {
	b.px += b.vx * (1.0 / 60)
	b.py += b.vy * (1.0 / 60)
	b.pz += b.vz * (1.0 / 60)
}

const benchSlots = 100_000

// strategies are the compared Options.
var strategies = []bulk.Options{
	{},
	{Memory: bulk.Reserved},
	{Memory: bulk.Growing},
	{Order: bulk.FreeList},
	{Order: bulk.FIFO},
}

// eachBench runs f for each size and strategy.
func eachBench(b *testing.B, sizes []int, f func(*testing.B, int, bulk.Options)) {
	for _, n := range sizes {
		for _, o := range strategies {
			b.Run(fmt.Sprintf("%d/%v/%v", n, o.Order, o.Memory), func(b *testing.B) { f(b, n, o) })
		}
	}
}

var benchSizes = []int{1000, 64_000, 100_000, 1_000_000}

// filled returns a pool of n bodies with the given share of random holes.
func filled(tb testing.TB, n, holesPercent int, o bulk.Options) (*bulk.Pool[body], []bulk.Handle) {
	if o.Memory == bulk.Reserved {
		o.MaxSlots = 2 * n
	}
	p := must.Get(bulk.NewPool[body](o))
	tb.Cleanup(func() { require.NoError(tb, p.Close()) })
	handles := make([]bulk.Handle, 0, n)
	for range n {
		h, b := p.Add()
		b.vx = 1
		handles = append(handles, h)
	}
	r := rand.New(rand.NewPCG(1, 2))
	r.Shuffle(len(handles), func(i, j int) { handles[i], handles[j] = handles[j], handles[i] })
	holes := n * holesPercent / 100
	for _, h := range handles[:holes] {
		p.Remove(h)
	}
	return p, handles[holes:]
}

// perEntity reports the time per operation when each of b.N iterations does n
// operations.
func perEntity(b *testing.B, n int) {
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/entity")
	b.ReportMetric(0, "ns/op")
}

// benchmarkRefill measures fill, which refills a pool from which a random part was removed: one in part of its bodies.
func benchmarkRefill(b *testing.B, part int, fill func(p *bulk.Pool[body], removed []bulk.Handle)) {
	eachBench(b, benchSizes, func(b *testing.B, n int, o bulk.Options) {
		p, handles := filled(b, n, 0, o)
		handles = handles[:n/part]
		b.ReportAllocs()
		b.ResetTimer()
		for range b.N {
			b.StopTimer()
			for _, h := range handles {
				p.Remove(h)
			}
			b.StartTimer()
			fill(p, handles)
		}
		perEntity(b, len(handles))
	})
}

func addEach(p *bulk.Pool[body], handles []bulk.Handle) {
	for i := range handles {
		handles[i], _ = p.Add()
	}
}

func addAll(p *bulk.Pool[body], handles []bulk.Handle) {
	i := 0
	_ = p.AddN(len(handles), func(h bulk.Handle, _ *body) {
		handles[i] = h
		i++
	})
}

func BenchmarkCreateAfterChurn(b *testing.B) { benchmarkRefill(b, 2, addEach) }
func BenchmarkAddNAfterChurn(b *testing.B)   { benchmarkRefill(b, 2, addAll) }

// BenchmarkAddNEmpty fills an emptied pool, in whole words.
func BenchmarkAddNEmpty(b *testing.B) { benchmarkRefill(b, 1, addAll) }

// BenchmarkDestroyShuffled removes half of the bodies in random order.
func BenchmarkDestroyShuffled(b *testing.B) {
	eachBench(b, benchSizes, func(b *testing.B, n int, o bulk.Options) {
		p, handles := filled(b, n, 0, o)
		r := rand.New(rand.NewPCG(3, 4))
		b.ReportAllocs()
		b.ResetTimer()
		for range b.N {
			b.StopTimer()
			r.Shuffle(len(handles), func(i, j int) { handles[i], handles[j] = handles[j], handles[i] })
			b.StartTimer()
			for _, h := range handles[:n/2] {
				p.Remove(h)
			}
			b.StopTimer()
			addEach(p, handles[:n/2])
			b.StartTimer()
		}
		perEntity(b, n/2)
	})
}

// found keeps results alive. Loops do not add results to it directly: an addition in memory
// is slower than a lookup.
var found float32

//go:noinline
func getAll(p *bulk.Pool[body], handles []bulk.Handle) (sum float32) {
	for _, h := range handles {
		if body := p.Get(h); body != nil {
			sum += body.vx
		}
	}
	return sum
}

//go:noinline
func indexAll(plain []body, handles []bulk.Handle) (sum float32) {
	for _, h := range handles {
		sum += plain[h.Index()].vx
	}
	return sum
}

// BenchmarkGetRandom looks up all bodies in random order, against a slice without a
// liveness check, and against a map.
func BenchmarkGetRandom(b *testing.B) {
	eachBench(b, benchSizes, func(b *testing.B, n int, o bulk.Options) {
		p, handles := filled(b, n, 0, o)
		b.ReportAllocs()
		for b.Loop() {
			found += getAll(p, handles)
		}
		perEntity(b, len(handles))
	})
	for _, n := range benchSizes {
		_, handles := filled(b, n, 0, bulk.Options{})
		b.Run(fmt.Sprintf("%d/slice", n), func(b *testing.B) {
			plain := make([]body, n)
			for i := range plain {
				plain[i].vx = 1
			}
			for b.Loop() {
				found += indexAll(plain, handles)
			}
			perEntity(b, len(handles))
		})
		b.Run(fmt.Sprintf("%d/map", n), func(b *testing.B) {
			m := make(map[bulk.Handle]*body, n)
			for _, h := range handles {
				m[h] = &body{}
			}
			sum := float32(0)
			for b.Loop() {
				for _, h := range handles {
					sum += m[h].vx
				}
			}
			perEntity(b, len(handles))
		})
	}
}

func BenchmarkGetStale(b *testing.B) {
	p, _ := filled(b, benchSlots, 0, bulk.Options{})
	var stale []bulk.Handle
	for h := range p.All() {
		stale = append(stale, h)
	}
	for _, h := range stale {
		p.Remove(h)
		p.Add()
	}
	hits := 0
	for b.Loop() {
		for _, h := range stale {
			if p.Get(h) != nil {
				hits++
			}
		}
	}
	require.Zero(b, hits)
	perEntity(b, len(stale))
}

func BenchmarkIterate(b *testing.B) {
	for _, holes := range []struct {
		name    string
		percent int
	}{{"0%holes", 0}, {"50%holes", 50}, {"90%holes", 90}} {
		b.Run(holes.name, func(b *testing.B) { benchmarkIterate(b, holes.percent) })
	}
}

// The loops of benchmarkIterate are separate functions: directly inside b.Loop, the
// compiler does not inline the body of a range over a function.

func moveAll(p *bulk.Pool[body]) {
	for _, e := range p.All() {
		e.move()
	}
}

func moveBits(p *bulk.Pool[body]) {
	for _, w := range p.Words() {
		for i := range bulk.Bits(0, w.Live) {
			w.Slots[i&63].move()
		}
	}
}

// moveWords also computes on holes.
func moveWords(p *bulk.Pool[body]) {
	for _, w := range p.Words() {
		for i := range w.Slots {
			w.Slots[i].move()
		}
	}
}

func benchmarkIterate(b *testing.B, holesPercent int) {
	p, live := filled(b, benchSlots, holesPercent, bulk.Options{})
	b.Run("All", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			moveAll(p)
		}
		perEntity(b, len(live))
	})
	b.Run("Words", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			moveBits(p)
		}
		perEntity(b, len(live))
	})
	b.Run("WordsDense", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			moveWords(p)
		}
		perEntity(b, len(live))
	})
	b.Run("slice", func(b *testing.B) { // the same structs with a flag each
		type flagged struct {
			body
			live bool
		}
		plain := make([]flagged, benchSlots)
		for _, h := range live {
			plain[h.Index()].live = true
		}
		for b.Loop() {
			for i := range plain {
				if plain[i].live {
					plain[i].move()
				}
			}
		}
		perEntity(b, len(live))
	})
	b.Run("bareBits", func(b *testing.B) { // lower bound with holes: arrays of structs and bits, no pool
		plain, words := make([]body, benchSlots+63), make([]uint64, (benchSlots+63)/64)
		for _, h := range live {
			words[h.Index()/64] |= 1 << (h.Index() % 64)
		}
		for i := range plain {
			plain[i].vx = 1
		}
		for b.Loop() {
			for w, word := range words {
				slots := plain[w*64:]
				for ; word != 0; word &= word - 1 {
					slots[bits.TrailingZeros64(word)].move()
				}
			}
		}
		perEntity(b, len(live))
	})
	b.Run("packedSlice", func(b *testing.B) { // lower bound: no holes, no handles
		plain := make([]body, len(live))
		for b.Loop() {
			for i := range plain {
				plain[i].move()
			}
		}
		perEntity(b, len(live))
	})
}

// BenchmarkIterateColumns runs position += velocity*dt over SoA columns parallel to a pool.
// It processes dense words as a whole, including holes, and sparse words bit by bit.
func BenchmarkIterateColumns(b *testing.B) {
	for _, n := range benchSizes {
		for _, holes := range []int{0, 50, 90} {
			b.Run(fmt.Sprintf("%d/%d%%", n, holes), func(b *testing.B) { benchmarkColumns(b, n, holes) })
		}
	}
}

// denseBits is the number of live slots above which a word is processed whole.
const denseBits = 12

// touch writes to every element. Untouched memory is a single cached page of zeros,
// which makes loops look twice as fast.
func touch(c *columns.Group[float32]) {
	for column := range c.Len() {
		for slot := range uint32(c.Slots()) {
			*c.At(column, slot) = 1
		}
	}
}

func benchmarkColumns(b *testing.B, n, holesPercent int) {
	p, live := filled(b, n, holesPercent, bulk.Options{})
	soa := must.Get(columns.NewGroup[float32](6, columns.SoA))
	soa.Grow(uint32(n))
	touch(soa)
	b.Run("columns", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			stepColumns(p.Live(), soa)
		}
		perEntity(b, len(live))
	})
	aosoa := must.Get(columns.NewGroup[float32](6, columns.AoSoA))
	aosoa.Grow(uint32(n))
	touch(aosoa)
	b.Run("aosoa", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			stepLanes(p.Live(), aosoa)
		}
		perEntity(b, len(live))
	})
	b.Run("bareIndex", func(b *testing.B) { // lower bound with holes: bare arrays and a list of live slots
		var plain [6][]float32
		for c := range plain {
			plain[c] = make([]float32, n+16*c)[16*c:]
			for i := range plain[c] {
				plain[c][i] = 1
			}
		}
		index := p.Live().AppendTo(nil)
		for b.Loop() {
			px, py, pz := plain[0], plain[1][:len(plain[0])], plain[2][:len(plain[0])]
			vx, vy, vz := plain[3][:len(plain[0])], plain[4][:len(plain[0])], plain[5][:len(plain[0])]
			for _, i := range index {
				px[i] += float32(vx[i] * (1.0 / 60))
				py[i] += float32(vy[i] * (1.0 / 60))
				pz[i] += float32(vz[i] * (1.0 / 60))
			}
		}
		perEntity(b, len(live))
	})
	var plain [6][]float32 // lower bounds: packed, no holes, no handles
	for c := range plain {
		plain[c] = make([]float32, len(live)+16*c)[16*c:]
		for i := range plain[c] {
			plain[c][i] = 1
		}
	}
	b.Run("packedGo", func(b *testing.B) {
		for b.Loop() {
			for c := range 3 {
				to, from := plain[c], plain[c+3][:len(plain[c])]
				for i := range to {
					to[i] += float32(from[i] * (1.0 / 60))
				}
			}
		}
		perEntity(b, len(live))
	})
	b.Run("packedSIMD", func(b *testing.B) { // bare arrays, as in C
		for b.Loop() {
			for c := range 3 {
				columns.AddScaled(plain[c], plain[c+3], 1.0/60)
			}
		}
		perEntity(b, len(live))
	})
}

// stepColumns merges runs of dense words within a block into one call per column, and
// visits live slots one by one in other words.
func stepColumns(live bulk.BitsetView, c *columns.Group[float32]) {
	const blockWords = bulk.BlockLen / 64
	for block := range (live.WordCount() + blockWords - 1) / blockWords {
		px, py, pz := c.Block(0, block), c.Block(1, block), c.Block(2, block)
		vx, vy, vz := c.Block(3, block), c.Block(4, block), c.Block(5, block)
		if px == nil {
			return
		}
		start := block * blockWords
		for w := uint32(0); w < blockWords; {
			word := live.Word(start + w)
			if n := bits.OnesCount64(word); n <= denseBits {
				for rest := word; rest != 0; rest &= rest - 1 {
					i := (w*64 + uint32(bits.TrailingZeros64(rest))) % bulk.BlockLen
					px[i] += float32(vx[i] * (1.0 / 60))
					py[i] += float32(vy[i] * (1.0 / 60))
					pz[i] += float32(vz[i] * (1.0 / 60))
				}
				w++
				continue
			}
			from := w * 64
			for w++; w < blockWords && bits.OnesCount64(live.Word(start+w)) > denseBits; w++ {
			}
			to := w * 64
			columns.AddScaled(px[from:to], vx[from:to], 1.0/60)
			columns.AddScaled(py[from:to], vy[from:to], 1.0/60)
			columns.AddScaled(pz[from:to], vz[from:to], 1.0/60)
		}
	}
}

// stepLanes processes groups of sixteen slots: three position columns, then three
// velocity columns, each 48 consecutive floats.
func stepLanes(live bulk.BitsetView, c *columns.Group[float32]) {
	for w := range live.WordCount() {
		word := live.Word(w)
		for g := range uint32(4) {
			if word>>(g*16)&0xffff == 0 {
				continue
			}
			for axis := range 3 {
				to, from := c.Lanes(axis, w*4+g), c.Lanes(axis+3, w*4+g)
				for i := range to {
					to[i] += float32(from[i] * (1.0 / 60))
				}
			}
		}
	}
}

// BenchmarkScanSparse iterates over the few members of a large set.
func BenchmarkScanSparse(b *testing.B) {
	var s bulk.Bitset
	r := rand.New(rand.NewPCG(5, 6))
	const n = 1 << 20
	for range n / 1000 {
		s.Set(r.Uint32N(n))
	}
	var everything bulk.Bitset
	for i := range uint32(n) {
		everything.Set(i)
	}
	b.Run("All", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			sum := uint32(0)
			for i := range s.All() {
				sum += i
			}
		}
	})
	b.Run("And", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			sum := uint32(0)
			for w, word := range bulk.And(s.View(), everything.View()) {
				for i := range bulk.Bits(w*64, word) {
					sum += i
				}
			}
		}
	})
}
