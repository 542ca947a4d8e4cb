package world

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/worldd/worldd/internal/columns"
)

// benchBodies is the size of the benchmarks: 100,000 bodies, half of them awake, in eight
// columns of 16 bytes.
const benchBodies = 100_000

type record [16]byte

type flushed struct {
	compaction
	columns [8][]record
	slot    []uint32
	rowOf   []int32
}

func newFlushed(mode Compaction) *flushed {
	f := newOwned(mode)
	for i := range f.columns {
		f.columns[i] = make([]record, benchBodies)
		f.compaction.columns = append(f.compaction.columns, &rows[record]{values: &f.columns[i]})
		for row := range f.columns[i] {
			f.columns[i][row][0] = 1 // touch the memory
		}
	}
	return f
}

// newOwned has one column, the slots.
func newOwned(mode Compaction) *flushed {
	f := &flushed{slot: make([]uint32, benchBodies), rowOf: make([]int32, benchBodies)}
	f.mode, f.owner = mode, &f.slot
	f.compaction.columns = append(f.compaction.columns, &rows[uint32]{values: &f.slot})
	for row := range f.slot {
		f.slot[row], f.rowOf[row] = uint32(row), int32(row)
	}
	f.flips.reserve(benchBodies)
	f.awake = benchBodies / 2
	if mode == InPlace {
		for row := range f.awake {
			f.inPlace.Set(uint32(row))
		}
	}
	return f
}

func (f *flushed) step(requests []request) {
	for _, req := range requests {
		f.requestAwake(int(f.rowOf[req.slot]), req.wake)
	}
	f.flush(f.rowOf)
}

// swapped is the obvious implementation, as in reactphysics3d: it applies each change at
// once, by a swap with the row at the boundary. A map finds a body's row.
type swapped struct {
	columns [8][]record
	slot    []uint32
	rowOf   map[uint32]uint32
	awake   int
}

func newSwapped() *swapped {
	s := &swapped{slot: make([]uint32, benchBodies), rowOf: make(map[uint32]uint32, benchBodies), awake: benchBodies / 2}
	for i := range s.columns {
		s.columns[i] = make([]record, benchBodies)
	}
	for row := range s.slot {
		s.slot[row], s.rowOf[uint32(row)] = uint32(row), uint32(row)
		for _, c := range s.columns {
			c[row][0] = 1
		}
	}
	return s
}

func (s *swapped) step(requests []request) {
	for _, req := range requests {
		row := int(s.rowOf[req.slot])
		if req.wake == (row < s.awake) {
			continue
		}
		to := s.awake
		if req.wake {
			s.awake++
		} else {
			to--
			s.awake--
		}
		for i := range s.columns {
			c := s.columns[i]
			c[row], c[to] = c[to], c[row]
		}
		s.slot[row], s.slot[to] = s.slot[to], s.slot[row]
		s.rowOf[s.slot[row]], s.rowOf[s.slot[to]] = uint32(row), uint32(to)
	}
}

type request struct {
	slot uint32
	wake bool
}

// changes returns the requests of 128 steps that together restore the initial state. In
// each step perMille of the bodies change, individually or as islands of 16 neighbours,
// and reverse flips-1 times.
func changes(perMille, island, flips int) [][]request {
	const steps = 128
	r := rand.New(rand.NewPCG(1, uint64(perMille)))
	awake := make([]bool, benchBodies)
	for slot := range benchBodies / 2 {
		awake[slot] = true
	}
	chosen := make([][]int, steps/2)
	for i := range chosen {
		chosen[i] = r.Perm(benchBodies / island)[:benchBodies*perMille/1000/island]
	}
	all := make([][]request, steps)
	for i := range steps * flips {
		for _, first := range chosen[i/flips%len(chosen)] {
			for slot := first * island; slot < (first+1)*island; slot++ {
				awake[slot] = !awake[slot]
				all[i/flips] = append(all[i/flips], request{uint32(slot), awake[slot]})
			}
		}
	}
	return all
}

// BenchmarkFlush measures one step's requests and its flush.
func BenchmarkFlush(b *testing.B) {
	for _, c := range []struct{ perMille, island, flips int }{
		{1, 1, 1}, {10, 1, 1}, {100, 1, 1}, {10, 16, 1}, {10, 1, 3}, {10, 16, 3},
	} {
		steps := changes(c.perMille, c.island, c.flips)
		for name, step := range map[string]func([]request){
			"exchange": newFlushed(Exchange).step, "stable": newFlushed(Stable).step,
			"inplace": newFlushed(InPlace).step, "mapswap": newSwapped().step,
		} {
			b.Run(fmt.Sprintf("permille=%d/island=%d/flips=%d/%s", c.perMille, c.island, c.flips, name), func(b *testing.B) {
				for i := range b.N {
					step(steps[i%len(steps)])
				}
			})
		}
	}
}

// BenchmarkSleepAndWake puts 1 % of a world's 100,000 bodies to sleep by handle and wakes
// them.
func BenchmarkSleepAndWake(b *testing.B) {
	w := sleepers(b, benchBodies, benchBodies/2)
	r := rand.New(rand.NewPCG(1, 1))
	var sets [50][]Entity
	for i, slot := range r.Perm(benchBodies / 2) {
		sets[i%len(sets)] = append(sets[i%len(sets)], w.Slots().Handle(uint32(slot)))
	}
	n := 0
	for b.Loop() {
		w.events.begin()
		for _, e := range sets[n%len(sets)] {
			w.Sleep(e)
		}
		w.flushSleep()
		for _, e := range sets[n%len(sets)] {
			w.Wake(e)
		}
		w.flushSleep()
		n++
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(sets[0])), "ns/body")
}

// BenchmarkStableAgainstMemmove alternates a stable flush, without its requests, and a
// memmove by one row of the rows that the flush moved, in the same memory. (Bodies that
// change often gather at the boundary, which leaves few rows in between.) A body has 128
// bytes in columns of 16 or 4, or a world's 38 bytes.
func BenchmarkStableAgainstMemmove(b *testing.B) {
	for _, perMille := range []int{1, 10, 100} {
		steps := changes(perMille, 1, 1)
		for _, c := range []struct {
			name string
			make func() *flushed
		}{
			{"8x16", func() *flushed { return newFlushed(Stable) }},
			{"32x4", func() *flushed { return newNarrow(Stable) }},
			{"world", func() *flushed { return newWorldColumns(Stable) }},
		} {
			b.Run(fmt.Sprintf("permille=%d/%s", perMille, c.name), func(b *testing.B) { alternate(b, c.make(), steps) })
		}
	}
}

// newNarrow has 32 columns of 4 bytes.
func newNarrow(mode Compaction) *flushed {
	f := newOwned(mode)
	for range 32 {
		f.compaction.columns = append(f.compaction.columns, newColumn[float32]())
	}
	return f
}

// newWorldColumns has the columns of a world's bodies.
func newWorldColumns(mode Compaction) *flushed {
	f := newOwned(mode)
	for range 6 {
		f.compaction.columns = append(f.compaction.columns, newColumn[float32]())
	}
	f.compaction.columns = append(f.compaction.columns, newColumn[uint32](), newColumn[int32](), newColumn[KindID]())
	return f
}

func newColumn[T columns.Packable]() *rows[T] {
	var row T
	values := slices.Repeat([]T{row}, benchBodies) // touch the memory
	return &rows[T]{values: &values}
}

func alternate(b *testing.B, f *flushed, steps [][]request) {
	beside := make([]uint32, benchBodies)
	flushes, moves := make([]time.Duration, b.N), make([]time.Duration, b.N)
	for i := range b.N {
		for _, req := range steps[i%len(steps)] {
			f.requestAwake(int(f.rowOf[req.slot]), req.wake)
		}
		f.collect()
		awake := f.awake
		first, end := f.span()
		began := time.Now()
		f.flush(f.rowOf)
		flushes[i] = time.Since(began)
		began = time.Now()
		for _, column := range f.compaction.columns {
			shift(column, beside, first, awake, end)
		}
		moves[i] = time.Since(began)
	}
	slices.Sort(flushes)
	slices.Sort(moves)
	for name, d := range map[string][]time.Duration{"flush": flushes, "memmove": moves} {
		b.ReportMetric(d[0].Seconds()*1e6, "us-"+name+"-least")
		b.ReportMetric(d[b.N/2].Seconds()*1e6, "us-"+name+"-median")
	}
	b.ReportMetric(flushes[0].Seconds()/moves[0].Seconds(), "least/least")
	b.ReportMetric(flushes[b.N/2].Seconds()/moves[b.N/2].Seconds(), "median/median")
	b.ReportMetric(0, "ns/op")
}

// shift moves by one row the rows that a flush moved. Only owners differ between rows, so
// the contents stay plausible.
func shift(column rowColumn, beside []uint32, first, awake, end int) {
	switch column := column.(type) {
	case *rows[record]:
		shiftHalves(*column.values, first, awake, end)
	case *rows[float32]:
		shiftHalves(*column.values, first, awake, end)
	case *rows[int32]:
		shiftHalves(*column.values, first, awake, end)
	case *rows[KindID]:
		shiftHalves(*column.values, first, awake, end)
	case *rows[uint32]:
		shiftHalves(beside, first, awake, end)
	}
}

func shiftHalves[T any](values []T, first, awake, end int) {
	copy(values[first:awake], values[min(first+1, awake):awake])
	copy(values[min(awake+1, end):end], values[awake:])
}
