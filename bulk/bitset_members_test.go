package bulk

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// appendGo is AppendTo using only the Go twin.
func appendGo(b *Bitset, list []uint32) []uint32 {
	for s := 0; s < len(b.summary); s += runGroups {
		list = b.appendRun(list, s, uint32(b.top[s>>wordShift]>>(s&wordMask)))
	}
	return list
}

// scattered returns a random set of numbers below n, with one member in `one` on
// average.
func scattered(r *rand.Rand, n, one uint32) *Bitset {
	b := new(Bitset)
	for i := range n {
		if r.Uint32N(one) == 0 {
			b.Set(i)
		}
	}
	return b
}

// requireTwins compares AppendTo with its Go twin, in a list with an element in front,
// exact capacity, and guard values behind.
func requireTwins(t *testing.T, b *Bitset) {
	const front, guard = 0xf00f, 0xdeadbeef
	want := appendGo(b, []uint32{front})
	requireSame(t, want, b.AppendTo([]uint32{front}))
	for _, spare := range []int{0, 1, 100} {
		memory := slices.Repeat([]uint32{guard}, len(want)+100)
		memory[0] = front
		got := b.AppendTo(memory[: 1 : len(want)+spare])
		requireSame(t, want, got)
		require.Same(t, &memory[0], &got[0], "moved, with room for all")
		require.Equal(t, slices.Repeat([]uint32{guard}, 100), memory[len(want):], "written behind the last")
		if len(want) > 1 { // capacity for all but one
			memory[len(want)-1] = guard
			requireSame(t, want, b.AppendTo(memory[:1:len(want)-1]))
			require.Equal(t, uint32(guard), memory[len(want)-1], "written behind the capacity")
		}
	}
}

// requireSame is require.Equal without printing whole lists.
func requireSame(t *testing.T, want, got []uint32) {
	require.Equal(t, len(want), len(got))
	for i := range want {
		if want[i] != got[i] {
			require.Equal(t, want[i], got[i], "member %d of %d", i, len(want))
		}
	}
}

func TestAppendToTwins(t *testing.T) {
	// A run is 131,072 slots: test the edges of runs, words and blocks.
	for _, n := range []uint32{0, 1, 63, 64, 65, 4095, 4096, 4097, 1<<17 - 1, 1 << 17, 1<<17 + 1, 300_000} {
		for _, one := range []uint32{10_000, 1000, 100, 30, 10, 3, 2, 1} {
			t.Run(fmt.Sprintf("%d/%d", n, one), func(t *testing.T) {
				b := scattered(rand.New(rand.NewPCG(uint64(n), uint64(one))), n, one)
				requireTwins(t, b)
				if n > 0 {
					b.Set(n - 1)
					requireTwins(t, b)
				}
			})
		}
	}
}

// TestAppendToMixed varies the density per word and per block, to reach every path of
// the assembly.
func TestAppendToMixed(t *testing.T) {
	for seed := range uint64(30) {
		r := rand.New(rand.NewPCG(seed, 3))
		var b Bitset
		b.SetWord(uint32(5000+r.IntN(200)), 1<<63)
		few := uint32(1)
		for w := range b.WordCount() {
			if w&wordMask == 0 {
				few = []uint32{1, 2, 8, 64}[r.IntN(4)]
			}
			if r.Uint32N(few) != 0 {
				continue
			}
			switch word := r.Uint64(); r.IntN(6) {
			case 0, 1, 2:
				b.SetWord(w, 1<<(word&wordMask))
			case 3:
				b.SetWord(w, 1<<(word&wordMask)|1<<(word>>8&wordMask))
			case 4:
				b.SetWord(w, word)
			case 5:
				b.SetWord(w, allOnes)
			}
		}
		require.NoError(t, b.CheckInvariants())
		requireTwins(t, &b)
	}
}

// TestAppendToDamaged tests wrong summaries (B1): a bit without members yields nothing,
// and members without a bit stay hidden.
func TestAppendToDamaged(t *testing.T) {
	b := scattered(rand.New(rand.NewPCG(1, 1)), 300_000, 50)
	b.summary[3], b.summary[40] = allOnes, 0
	for s := range 20 {
		clear(b.words[s*wordLen : s*wordLen+50])
	}
	require.Error(t, b.CheckInvariants())
	requireTwins(t, b)
}

func FuzzAppendTo(f *testing.F) {
	f.Add([]byte("\x01\x00\x00\x00\x00\x00\x00\x80"), uint8(1))
	f.Add(slices.Repeat([]byte{0xff}, 100), uint8(3))
	f.Fuzz(func(t *testing.T, data []byte, stride uint8) {
		// The bytes are words, repeated with gaps to span several runs.
		words := make([]uint64, 1, len(data)/8+1)
		for ; len(data) >= 8; data = data[8:] {
			words = append(words, binary.LittleEndian.Uint64(data))
		}
		var b Bitset
		for i, w := 0, uint32(0); w < 5000; i, w = i+1, w+1+uint32(stride) {
			b.SetWord(w, words[i%len(words)])
		}
		requireTwins(t, &b)
	})
}

func TestAppendToAllocatesNothing(t *testing.T) {
	for _, one := range []uint32{1000, 100, 2} {
		b := scattered(rand.New(rand.NewPCG(1, 2)), 300_000, one)
		list := make([]uint32, 0, b.Count())
		require.Zero(t, testing.AllocsPerRun(10, func() { list = b.AppendTo(list[:0]) }))
	}
}

// BenchmarkAppendTo reports ns per member at several densities, and for the Go twin.
func BenchmarkAppendTo(b *testing.B) {
	for _, n := range []uint32{300_000, 1 << 20} {
		for _, one := range []uint32{100_000, 10_000, 1000, 100, 30, 10, 2, 1} {
			s := scattered(rand.New(rand.NewPCG(5, 6)), n, one)
			list := make([]uint32, 0, n)
			for _, twin := range []struct {
				name     string
				appendTo func([]uint32) []uint32
			}{
				{"AppendTo", s.AppendTo},
				{"go", func(list []uint32) []uint32 { return appendGo(s, list) }},
			} {
				b.Run(fmt.Sprintf("%d/%d/%s", n, one, twin.name), func(b *testing.B) {
					for b.Loop() {
						list = twin.appendTo(list[:0])
					}
					b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(max(len(list), 1)), "ns/member")
				})
			}
		}
	}
}
