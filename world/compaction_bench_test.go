package world

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// benchBodies is what a flush is measured on: 100,000 bodies, half of them awake, of
// eight columns with 16 bytes each, whose slot and place know of each other.
const benchBodies = 100_000

type record [16]byte

type flushed struct {
	compaction
	columns [8][]record
	slot    []uint32
	rowOf   []int32
}

func newFlushed(mode Compaction) *flushed {
	f := &flushed{slot: make([]uint32, benchBodies), rowOf: make([]int32, benchBodies)}
	f.mode, f.owner = mode, &f.slot
	f.compaction.columns = append(f.compaction.columns, &rows[uint32]{values: &f.slot})
	for i := range f.columns {
		f.columns[i] = make([]record, benchBodies)
		f.compaction.columns = append(f.compaction.columns, &rows[record]{values: &f.columns[i]})
	}
	for row := range f.slot {
		f.slot[row], f.rowOf[row] = uint32(row), int32(row)
		for _, c := range f.columns {
			c[row][0] = 1 // memory that is there
		}
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

func (f *flushed) step(words []word) {
	for _, said := range words {
		f.say(int(f.rowOf[said.slot]), said.wake)
	}
	f.flush(f.rowOf)
}

// swapped is the way that is written first, and that of reactphysics3d: each
// change is carried out at once, by a swap with the row at the boundary, and a
// map says where a body is.
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

func (s *swapped) step(words []word) {
	for _, said := range words {
		row := int(s.rowOf[said.slot])
		if said.wake == (row < s.awake) {
			continue
		}
		to := s.awake
		if said.wake {
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

type word struct {
	slot uint32
	wake bool
}

// changes returns the words of 128 steps, after which everything is as before:
// in each, so many of a thousand bodies change, single ones or islands of 16
// neighbours, and change their minds flips-1 times.
func changes(perMille, island, flips int) [][]word {
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
	all := make([][]word, steps)
	for i := range steps * flips {
		for _, first := range chosen[i/flips%len(chosen)] {
			for slot := first * island; slot < (first+1)*island; slot++ {
				awake[slot] = !awake[slot]
				all[i/flips] = append(all[i/flips], word{uint32(slot), awake[slot]})
			}
		}
	}
	return all
}

// BenchmarkFlush is one step's changes, the words included.
func BenchmarkFlush(b *testing.B) {
	for _, c := range []struct{ perMille, island, flips int }{
		{1, 1, 1}, {10, 1, 1}, {100, 1, 1}, {10, 16, 1}, {10, 1, 3}, {10, 16, 3},
	} {
		steps := changes(c.perMille, c.island, c.flips)
		for name, step := range map[string]func([]word){
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

// BenchmarkSpan is what a stable flush is measured against: one memmove of as
// many bytes for each column.
func BenchmarkSpan(b *testing.B) {
	f := newFlushed(Exchange)
	for b.Loop() {
		for _, c := range f.columns {
			copy(c[1:benchBodies/2], c)
			copy(c[benchBodies/2+1:], c[benchBodies/2:])
		}
		copy(f.slot[1:], f.slot)
	}
}

// BenchmarkSleepAndWake puts 1 % of a world's 100,000 bodies to sleep, and wakes
// them again, by their handles.
func BenchmarkSleepAndWake(b *testing.B) {
	w := sleepers(b, benchBodies, benchBodies/2)
	r := rand.New(rand.NewPCG(1, 1))
	var sets [50][]Entity
	for i, slot := range r.Perm(benchBodies / 2) {
		sets[i%len(sets)] = append(sets[i%len(sets)], w.HandleAt(uint32(slot)))
	}
	n := 0
	for b.Loop() {
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
