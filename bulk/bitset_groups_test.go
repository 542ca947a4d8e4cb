package bulk

import (
	"fmt"
	"math/bits"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/racetest"
)

var operations = []struct {
	name string
	op   operation
	word func(a, b uint64) uint64
	set  func(to *Bitset, sets ...BitsetView)
}{
	{"SetAnd", intersection, func(a, b uint64) uint64 { return a & b }, (*Bitset).SetAnd},
	{"SetOr", union, func(a, b uint64) uint64 { return a | b }, (*Bitset).SetOr},
	{"SetAndNot", difference, func(a, b uint64) uint64 { return a &^ b }, func(to *Bitset, sets ...BitsetView) { to.SetAndNot(sets[0], sets[1:]...) }},
}

// TestCombineTwins compares the vector kernel, its Go twin and the definition. They write
// to a third group or to one of the operands, with unrelated words around the group.
func TestCombineTwins(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	const groups, guard = 5, 0xdeadbeefdeadbeef
	for range 300 {
		var memory [groups * wordLen]uint64
		for i := range memory {
			memory[i] = guard
			if r.IntN(3) != 0 {
				memory[i] = r.Uint64() & -(r.Uint64() & 1)
			}
		}
		group := func(m *[groups * wordLen]uint64, g int) *[wordLen]uint64 { return (*[wordLen]uint64)(m[g*wordLen:]) }
		for _, o := range operations {
			a, b, to := 1+r.IntN(3), 1+r.IntN(3), 1+r.IntN(3)
			want, wantSummary := memory, uint64(0)
			for i := range wordLen {
				w := o.word(group(&memory, a)[i], group(&memory, b)[i])
				group(&want, to)[i] = w
				if w != 0 {
					wantSummary |= 1 << i
				}
			}
			got, twin := memory, memory
			require.Equal(t, wantSummary, o.op.combine(group(&got, to), group(&got, a), group(&got, b)))
			require.Equal(t, wantSummary, o.op.combineGo(group(&twin, to), group(&twin, a), group(&twin, b)))
			require.True(t, want == got && want == twin, "%s of %d and %d to %d", o.name, a, b, to)
		}
	}
}

// TestSetsAgainstWords compares the set operations and Count with word-by-word
// definitions, over operands of any number, length and density, writing to an operand
// or to another set.
func TestSetsAgainstWords(t *testing.T) {
	racetest.SkipSequential(t)
	lengths := []uint32{0, 1, 63, 64, 65, 4095, 4096, 4097, 9000, 1 << 17, 300_000}
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 7))
		draw := func() *Bitset {
			b := scattered(r, lengths[r.IntN(len(lengths))], []uint32{1, 2, 10, 300, 5000}[r.IntN(5)])
			for range r.IntN(3) { // empty a block
				for w, n := uint32(r.IntN(80))*wordLen, 0; n < wordLen; w, n = w+1, n+1 {
					b.SetWord(w, 0)
				}
			}
			return b
		}
		for _, o := range operations {
			sets := make([]*Bitset, 1+r.IntN(4))
			views := make([]BitsetView, len(sets))
			words := uint32(0)
			for i := range sets {
				sets[i] = draw()
				views[i] = sets[i].View()
				words = max(words, sets[i].WordCount())
			}
			to := draw()
			if r.IntN(2) == 0 {
				to = sets[r.IntN(len(sets))]
			}
			words = max(words, to.WordCount())
			want, count := make([]uint64, words), 0
			for w := range words {
				word := sets[0].Word(w)
				for _, s := range sets[1:] {
					word = o.word(word, s.Word(w))
				}
				want[w] = word
				count += bits.OnesCount64(word)
			}
			before := to.WordCount()
			o.set(to, views...)
			require.NoError(t, to.CheckInvariants(), o.name)
			for w, word := range want {
				if word != to.Word(uint32(w)) {
					require.Equal(t, word, to.Word(uint32(w)), "%s of %d sets, word %d", o.name, len(sets), w)
				}
			}
			require.LessOrEqual(t, to.WordCount(), words)
			if count == 0 {
				require.Equal(t, before, to.WordCount(), "%s grew for nothing", o.name)
			}
			require.Equal(t, count, to.Count(), o.name)
			byGo := 0
			for s := 0; s < len(to.summary); s += runGroups {
				byGo += to.countRun(s)
			}
			require.Equal(t, count, byGo)
		}
	}
}

func TestSetsAllocateNothing(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	a, b, c, to := scattered(r, 300_000, 3), scattered(r, 300_000, 3), scattered(r, 200_000, 30), new(Bitset)
	to.Set(299_999)
	n := 0
	require.Zero(t, testing.AllocsPerRun(10, func() {
		to.SetAnd(a.View(), b.View(), c.View())
		to.SetOr(a.View(), b.View(), c.View())
		to.SetAndNot(a.View(), b.View(), c.View())
		n = to.Count()
	}))
	require.NotZero(t, n)
}

// BenchmarkSets combines two sets into a third, and counts the members of one.
func BenchmarkSets(b *testing.B) {
	for _, n := range []uint32{300_000, 1 << 20} {
		for _, one := range []uint32{1000, 100, 10, 2} {
			r := rand.New(rand.NewPCG(5, 6))
			x, y, to := scattered(r, n, one), scattered(r, n, one), scattered(r, n, one)
			for _, o := range operations {
				b.Run(fmt.Sprintf("%d/%d/%s", n, one, o.name), func(b *testing.B) {
					for b.Loop() {
						o.set(to, x.View(), y.View())
					}
				})
			}
			b.Run(fmt.Sprintf("%d/%d/Count", n, one), func(b *testing.B) {
				for b.Loop() {
					x.Count()
				}
			})
		}
	}
}
