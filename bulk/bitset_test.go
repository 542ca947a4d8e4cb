package bulk_test

import (
	"fmt"
	"iter"
	"math/bits"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/internal/racetest"
)

// Sizes at which levels begin and end.
var bitsetSizes = []uint32{0, 1, 63, 64, 65, 4095, 4096, 4097, 300_000}

// randomSet returns a set of numbers below n, and the same as bools. Densities vary so
// that some summary words are empty.
func randomSet(r *rand.Rand, n uint32) (*bulk.Bitset, []bool) {
	s, model := new(bulk.Bitset), make([]bool, n)
	if n == 0 {
		return s, model
	}
	for range []uint32{0, 1, n / 5000, n / 50, n}[r.IntN(5)] {
		i := r.Uint32N(n)
		s.Set(i)
		model[i] = true
	}
	for range r.Uint32N(n/3 + 1) {
		i := r.Uint32N(n)
		s.Clear(i)
		model[i] = false
	}
	if r.IntN(2) == 0 { // the last bit of the range is an edge case
		s.Set(n - 1)
		model[n-1] = true
	}
	return s, model
}

func members(model []bool) []uint32 {
	var m []uint32
	for i, in := range model {
		if in {
			m = append(m, uint32(i))
		}
	}
	return m
}

// unroll expands the words of a set operation into members, and requires that words are
// ascending and nonempty.
func unroll(t require.TestingT, words iter.Seq2[uint32, uint64]) []uint32 {
	var m []uint32
	last := int64(-1)
	for w, word := range words {
		require.Greater(t, int64(w), last)
		require.NotZero(t, word)
		last = int64(w)
		m = slices.AppendSeq(m, bulk.Bits(w*64, word))
	}
	return m
}

func TestBitsetAgainstBools(t *testing.T) {
	for _, n := range bitsetSizes {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			for seed := range uint64(5) {
				r := rand.New(rand.NewPCG(seed, uint64(n)))
				s, model := randomSet(r, n)
				want := members(model)
				require.NoError(t, s.CheckInvariants())
				require.Equal(t, want, slices.Collect(s.All()))
				require.Equal(t, want, s.AppendTo(nil))
				require.Equal(t, len(want), s.Count())
				require.Equal(t, len(want) > 0, s.Any())
				for range 1000 {
					checkAround(t, s, want, r.Uint32N(n+200))
				}
				checkAround(t, s, want, n)
				checkAround(t, s, want, 1<<32-1)

				s.Reset()
				require.False(t, s.Any())
				require.Empty(t, slices.Collect(s.All()))
				require.NoError(t, s.CheckInvariants())
			}
		})
	}
}

// checkAround tests the queries near one number.
func checkAround(t *testing.T, s *bulk.Bitset, want []uint32, i uint32) {
	at, in := slices.BinarySearch(want, i)
	require.Equal(t, in, s.Has(i))
	next, ok := s.Next(i)
	require.Equal(t, at < len(want), ok)
	if ok {
		require.Equal(t, want[at], next)
	}
	require.Equal(t, in, s.Word(i/64)>>(i%64)&1 == 1)

	if !in {
		at-- // the nearest member below
	}
	previous, ok := s.Prev(i)
	require.Equal(t, at >= 0, ok)
	if ok {
		require.Equal(t, want[at], previous)
	}
}

// TestClearSearches searches for non-members, excluding padding.
func TestClearSearches(t *testing.T) {
	for _, n := range bitsetSizes {
		r := rand.New(rand.NewPCG(3, uint64(n)))
		for range 4 {
			s, model := randomSet(r, n)
			if n > 0 && r.IntN(2) == 0 { // long runs of members
				from := r.Uint32N(n)
				for i := from; i < min(n, from+9000); i++ {
					s.Set(i)
					model[i] = true
				}
			}
			for range 300 {
				from, end := r.Uint32N(n+100), r.Uint32N(n+100)
				if r.IntN(2) == 0 {
					end = n
				}
				want := int64(-1)
				for i := from; i < end; i++ {
					if i >= n || !model[i] {
						want = int64(i)
						break
					}
				}
				got, ok := s.NextClear(from, end)
				require.Equal(t, want >= 0, ok, "%d to %d of %d", from, end, n)
				require.True(t, !ok || int64(got) == want)
			}
		}
	}
	var s bulk.Bitset
	for i := range uint32(128) {
		s.Set(i)
	}
	_, ok := s.NextClear(0, 128)
	require.False(t, ok, "padding")
	i, ok := s.NextClear(0, 129)
	require.True(t, ok && i == 128)
	i, ok = s.NextClear(1<<32-2, 1<<32-1)
	require.True(t, ok && i == 1<<32-2)
}

func TestBitsetOperationsAgainstBools(t *testing.T) {
	for _, n := range bitsetSizes {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			racetest.SkipSequential(t)
			for seed := range uint64(6) {
				r := rand.New(rand.NewPCG(seed, uint64(n)+1))
				// Operands of different lengths: one covers the whole range.
				a, ma := randomSet(r, n)
				b, mb := randomSet(r, n)
				c, mc := randomSet(r, n/2)
				viewA, viewB, viewC := a.View(), b.View(), c.View()
				has := func(m []bool, i int) bool { return i < len(m) && m[i] }
				and, or, and1 := make([]bool, n), make([]bool, n), make([]bool, n)
				andNot, cNot := make([]bool, n), make([]bool, n)
				for i := range int(n) {
					and[i] = ma[i] && mb[i] && has(mc, i)
					and1[i] = ma[i] && mb[i]
					or[i] = ma[i] || mb[i] || has(mc, i)
					andNot[i] = ma[i] && !mb[i] && !has(mc, i)
					cNot[i] = has(mc, i) && !ma[i]
				}
				require.Equal(t, members(and), unroll(t, bulk.And(viewA, viewB, viewC)))
				require.Equal(t, members(and), unroll(t, bulk.And(viewC, viewB, viewA)))
				require.Equal(t, members(and1), unroll(t, bulk.And(viewB, viewA)))
				require.Equal(t, members(ma), unroll(t, bulk.And(viewA)))
				require.Equal(t, members(or), unroll(t, bulk.Or(viewA, viewB, viewC)))
				require.Equal(t, members(or), unroll(t, bulk.Or(viewC, viewA, viewB)))
				require.Equal(t, members(andNot), unroll(t, bulk.AndNot(viewA, viewB, viewC)))
				require.Equal(t, members(cNot), unroll(t, bulk.AndNot(viewC, viewA)))
				require.Equal(t, members(ma), unroll(t, bulk.AndNot(viewA)))
				require.Empty(t, unroll(t, bulk.AndNot(viewA, viewA)))

				// The destination has other members, or is an operand.
				for _, op := range []struct {
					name string
					want []uint32
					do   func(into *bulk.Bitset, a, b, c bulk.BitsetView)
				}{
					{"SetAnd", members(and), func(into *bulk.Bitset, a, b, c bulk.BitsetView) { into.SetAnd(a, b, c) }},
					{"SetOr", members(or), func(into *bulk.Bitset, a, b, c bulk.BitsetView) { into.SetOr(a, b, c) }},
					{"SetAndNot", members(andNot), func(into *bulk.Bitset, a, b, c bulk.BitsetView) { into.SetAndNot(a, b, c) }},
				} {
					for operand := range 4 {
						sets := [4]*bulk.Bitset{a, b, c}
						sets[3], _ = randomSet(r, 350_000)
						for i, s := range sets[:3] {
							sets[i] = new(bulk.Bitset)
							sets[i].CopyFrom(s.View())
						}
						op.do(sets[operand], sets[0].View(), sets[1].View(), sets[2].View())
						require.Equal(t, op.want, slices.Collect(sets[operand].All()), "%s into %d", op.name, operand)
						require.NoError(t, sets[operand].CheckInvariants())
					}
				}
			}
		})
	}
	require.Empty(t, unroll(t, bulk.And()))
	require.Empty(t, unroll(t, bulk.Or()))
	require.Empty(t, unroll(t, bulk.Or(new(bulk.Bitset).View(), new(bulk.Bitset).View())))
}

func TestBitsetEqualAndCopy(t *testing.T) {
	var a, b, c bulk.Bitset
	a.Set(5)
	b.Set(5)
	b.Set(200_000)
	require.False(t, a.Equal(b.View()))
	require.False(t, b.Equal(a.View()))
	b.Clear(200_000) // longer now, but still equal
	require.True(t, a.Equal(b.View()))
	require.True(t, b.Equal(a.View()))

	c.Set(70_000)
	c.CopyFrom(a.View())
	require.True(t, c.Equal(a.View()))
	c.Set(70_000) // grows into memory that held another set
	require.Equal(t, []uint32{5, 70_000}, slices.Collect(c.All()))
	require.NoError(t, c.CheckInvariants())
	require.Equal(t, []uint32{5}, slices.Collect(a.All()), "a copy has memory of its own")
	c.CopyFrom(c.View())
	require.Equal(t, 2, c.Count())
	c.CopyFrom(new(bulk.Bitset).View())
	require.False(t, c.Any())
}

func TestBitsetView(t *testing.T) {
	var a, b bulk.Bitset
	view := a.View()
	require.False(t, view.Any())
	a.Set(70)
	require.True(t, view.Has(70), "a view shows later changes")
	require.Equal(t, []uint32{70}, view.AppendTo(nil))
	b.Set(70)
	require.True(t, view.Equal(b.View()))
	require.True(t, view == a.View() && view != b.View())
	require.True(t, view.Valid())
	require.False(t, bulk.BitsetView{}.Valid())

	writers := []string{"Clear", "CopyFrom", "Join", "Reset", "Set", "SetAnd", "SetAndNot", "SetOr", "SetWord", "View"}
	var others []string
	set, reading := reflect.TypeFor[*bulk.Bitset](), reflect.TypeFor[bulk.BitsetView]()
	for m := range set.Methods() {
		if _, ok := reading.MethodByName(m.Name); !ok {
			others = append(others, m.Name)
		}
	}
	require.Equal(t, writers, others, "what a view must not offer")
}

func TestBitsetJoin(t *testing.T) {
	var b bulk.Bitset
	require.False(t, b.Join(0, 1), "there is no word yet")
	b.Set(70)
	require.False(t, b.Join(0, 1), "an empty word has no summary")
	require.False(t, b.Has(0))
	require.True(t, b.Join(1, 5))
	require.Equal(t, uint64(1<<6|5), b.Word(1))
	require.Equal(t, 3, b.Count())
}

func TestBitsetReadsBeyondItsEnd(t *testing.T) {
	var s bulk.Bitset
	require.False(t, s.Has(1<<32-1))
	require.Zero(t, s.Word(1<<26-1))
	require.Zero(t, s.WordCount())
	s.Clear(1<<32 - 1)
	s.SetWord(1<<26-1, 0)
	require.Zero(t, s.WordCount(), "clearing does not grow")
	require.True(t, s.Equal(new(bulk.Bitset).View()))
	s.Set(0)
	require.Equal(t, uint32(64), s.WordCount(), "grows by blocks")
	must.Lack(s.Next(1<<32 - 1))
}

// TestBitsetCommands compares random commands at any index with a map.
func TestBitsetCommands(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var s bulk.Bitset
		model := map[uint32]bool{}
		index := rapid.OneOf(rapid.Uint32Range(0, 200), rapid.Uint32Range(0, 10_000), rapid.Uint32Range(262_000, 263_000))
		t.Repeat(map[string]func(*rapid.T){
			"set":   func(t *rapid.T) { i := index.Draw(t, "i"); s.Set(i); model[i] = true },
			"clear": func(t *rapid.T) { i := index.Draw(t, "i"); s.Clear(i); delete(model, i) },
			"word": func(t *rapid.T) {
				w, word := index.Draw(t, "i")/64, rapid.Uint64().Draw(t, "word")
				s.SetWord(w, word)
				for i := range uint32(64) {
					if word>>i&1 != 0 {
						model[w*64+i] = true
					} else {
						delete(model, w*64+i)
					}
				}
				require.Equal(t, word, s.Word(w))
			},
			"next": func(t *rapid.T) {
				from := index.Draw(t, "from")
				want, found := uint32(0), false
				for i := range model {
					if i >= from && (!found || i < want) {
						want, found = i, true
					}
				}
				got, ok := s.Next(from)
				require.Equal(t, found, ok)
				require.Equal(t, want, got)
			},
			"": func(t *rapid.T) {
				require.NoError(t, s.CheckInvariants())
				require.Equal(t, len(model), s.Count())
			},
		})
	})
}

// TestBitsetChangesDuringIteration tests what All and the set operations promise about
// sets that change during iteration.
func TestBitsetChangesDuringIteration(t *testing.T) {
	fresh := func(members ...uint32) *bulk.Bitset {
		s := new(bulk.Bitset)
		for _, i := range members {
			s.Set(i)
		}
		return s
	}
	t.Run("All sees what changes ahead", func(t *testing.T) {
		s := fresh(10, 11, 12, 70, 5000)
		var seen []uint32
		for i := range s.All() {
			seen = append(seen, i)
			if i == 10 {
				s.Clear(10)
				s.Clear(11)
				s.Set(3) // behind
				s.Set(13)
				s.Clear(70)
				s.Set(400_000)
			}
		}
		require.Equal(t, []uint32{10, 12, 13, 5000, 400_000}, seen)
	})
	t.Run("All of a set that becomes a smaller one", func(t *testing.T) {
		s, n := fresh(5000, 5001, 400_000), 0
		for range s.All() {
			s.CopyFrom(fresh(1).View()) // too short for the yielded word
			n++
		}
		require.Equal(t, 1, n)
	})
	type operation func(*bulk.Bitset) iter.Seq2[uint32, uint64]
	for name, op := range map[string]operation{
		"And":    func(s *bulk.Bitset) iter.Seq2[uint32, uint64] { return bulk.And(s.View(), s.View()) },
		"Or":     func(s *bulk.Bitset) iter.Seq2[uint32, uint64] { return bulk.Or(s.View(), s.View()) },
		"AndNot": func(s *bulk.Bitset) iter.Seq2[uint32, uint64] { return bulk.AndNot(s.View(), new(bulk.Bitset).View()) },
	} {
		t.Run(name+" copies its word and reads the next ones late", func(t *testing.T) {
			s := fresh(10, 11, 70, 5000)
			var seen []uint32
			for w, word := range op(s) {
				for i := range bulk.Bits(w*64, word) {
					seen = append(seen, i)
					if i == 10 {
						s.Clear(11)
						s.Set(13)
						s.Clear(70)
						s.Set(130)
						s.Set(400_000)
					}
				}
			}
			require.Equal(t, []uint32{10, 11, 130, 5000, 400_000}, seen)
		})
		t.Run(name+" of a set that becomes a smaller one", func(t *testing.T) {
			s, n := fresh(5000, 400_000), 0
			for range op(s) {
				s.CopyFrom(fresh().View())
				n++
			}
			require.Equal(t, 1, n)
		})
		t.Run(name+" stops when told", func(t *testing.T) {
			n := 0
			for range op(fresh(1, 70, 5000, 400_000)) {
				n++
				if n == 2 {
					break
				}
			}
			require.Equal(t, 2, n)
		})
	}
}

func TestBits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		word := rapid.Uint64().Draw(t, "word")
		var back uint64
		for i := range bulk.Bits(128, word) {
			back |= 1 << (i - 128)
		}
		require.Equal(t, word, back)
		require.Len(t, slices.Collect(bulk.Bits(0, word)), bits.OnesCount64(word))
	})
}
