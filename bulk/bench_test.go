package bulk_test

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/bulk"
)

// body is the entity of the benchmarks: position and velocity.
type body struct{ px, py, pz, vx, vy, vz float32 }

func (b *body) move() {
	b.px += b.vx * (1.0 / 60)
	b.py += b.vy * (1.0 / 60)
	b.pz += b.vz * (1.0 / 60)
}

const benchSlots = 100_000

// filled returns a pool of benchSlots bodies with that share of random holes.
func filled(tb testing.TB, holesPercent int) (*bulk.Pool[body], []bulk.Handle) {
	p, err := bulk.NewPool[body](bulk.Options{})
	require.NoError(tb, err)
	handles := make([]bulk.Handle, 0, benchSlots)
	for range benchSlots {
		h, b := p.Add()
		b.vx = 1
		handles = append(handles, h)
	}
	r := rand.New(rand.NewPCG(1, 2))
	r.Shuffle(len(handles), func(i, j int) { handles[i], handles[j] = handles[j], handles[i] })
	holes := benchSlots * holesPercent / 100
	for _, h := range handles[:holes] {
		p.Remove(h)
	}
	return p, handles[holes:]
}

// perEntity reports the time of one of n operations; the whole benchmark does
// b.N batches of n.
func perEntity(b *testing.B, n int) {
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/entity")
	b.ReportMetric(0, "ns/op")
}

func BenchmarkCreateAfterChurn(b *testing.B) {
	p, handles := filled(b, 0)
	b.ReportAllocs()
	b.ResetTimer()
	for range b.N {
		b.StopTimer()
		for _, h := range handles[:benchSlots/2] {
			p.Remove(h)
		}
		b.StartTimer()
		for i := range handles[:benchSlots/2] {
			handles[i], _ = p.Add()
		}
	}
	perEntity(b, benchSlots/2)
}

func BenchmarkAddNAfterChurn(b *testing.B) {
	p, handles := filled(b, 0)
	b.ReportAllocs()
	b.ResetTimer()
	for range b.N {
		b.StopTimer()
		for _, h := range handles[:benchSlots/2] {
			p.Remove(h)
		}
		b.StartTimer()
		i := 0
		_ = p.AddN(benchSlots/2, func(h bulk.Handle, _ *body) {
			handles[i] = h
			i++
		})
	}
	perEntity(b, benchSlots/2)
}

func BenchmarkDestroyShuffled(b *testing.B) {
	p, handles := filled(b, 0)
	r := rand.New(rand.NewPCG(3, 4))
	b.ReportAllocs()
	b.ResetTimer()
	for range b.N {
		b.StopTimer()
		r.Shuffle(len(handles), func(i, j int) { handles[i], handles[j] = handles[j], handles[i] })
		b.StartTimer()
		for _, h := range handles[:benchSlots/2] {
			p.Remove(h)
		}
		b.StopTimer()
		for i := range handles[:benchSlots/2] {
			handles[i], _ = p.Add()
		}
		b.StartTimer()
	}
	perEntity(b, benchSlots/2)
}

func BenchmarkGetRandom(b *testing.B) {
	b.Run("pool", func(b *testing.B) {
		p, handles := filled(b, 0)
		sum := float32(0)
		b.ReportAllocs()
		for b.Loop() {
			for _, h := range handles {
				if body := p.Get(h); body != nil {
					sum += body.vx
				}
			}
		}
		perEntity(b, len(handles))
	})
	b.Run("slice", func(b *testing.B) { // no check of who lives there
		_, handles := filled(b, 0)
		plain := make([]body, benchSlots)
		sum := float32(0)
		for b.Loop() {
			for _, h := range handles {
				sum += plain[h.Index()].vx
			}
		}
		perEntity(b, len(handles))
	})
	b.Run("map", func(b *testing.B) {
		_, handles := filled(b, 0)
		m := make(map[bulk.Handle]*body, benchSlots)
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

func BenchmarkGetStale(b *testing.B) {
	p, _ := filled(b, 0)
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

func benchmarkIterate(b *testing.B, holesPercent int) {
	p, live := filled(b, holesPercent)
	b.Run("All", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			for _, e := range p.All() {
				e.move()
			}
		}
		perEntity(b, len(live))
	})
	b.Run("Words", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			for _, w := range p.Words() {
				for i := range bulk.Bits(0, w.Live) {
					w.Slots[i&63].move()
				}
			}
		}
		perEntity(b, len(live))
	})
	b.Run("WordsDense", func(b *testing.B) { // holes are computed on, too
		b.ReportAllocs()
		for b.Loop() {
			for _, w := range p.Words() {
				for i := range w.Slots {
					w.Slots[i].move()
				}
			}
		}
		perEntity(b, len(live))
	})
	b.Run("slice", func(b *testing.B) { // the same structs, a flag in each
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
	b.Run("packedSlice", func(b *testing.B) { // the limit: no holes, no handles
		plain := make([]body, len(live))
		for b.Loop() {
			for i := range plain {
				plain[i].move()
			}
		}
		perEntity(b, len(live))
	})
}

// BenchmarkScanSparse finds the few members of a large set.
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
			for w, word := range bulk.And(&s, &everything) {
				for i := range bulk.Bits(w*64, word) {
					sum += i
				}
			}
		}
	})
}
