package bulk

import (
	"iter"
	"math/bits"
)

// And yields the words of the intersection that are not empty: the number of
// the word and its bits, ascending. Ranges that are empty in any of the sets
// are skipped by summary. No operands give nothing.
//
// As in Or and AndNot, the bits yielded are a copy, and the words ahead are
// read when their turn comes: the sets may change during the iteration, the
// current word keeps its bits, and what is set or cleared in later words counts.
// None of the three allocates when it is ranged over where it is called.
func And(sets ...*Bitset) iter.Seq2[uint32, uint64] {
	return func(yield func(uint32, uint64) bool) { and(sets, yield) }
}

// Or yields the words of the union that are not empty; see And.
func Or(sets ...*Bitset) iter.Seq2[uint32, uint64] {
	return func(yield func(uint32, uint64) bool) { or(sets, yield) }
}

// AndNot yields the words of a without the members of any other set, unless
// they are empty; see And. Only a's summaries are used to skip.
func AndNot(a *Bitset, without ...*Bitset) iter.Seq2[uint32, uint64] {
	return func(yield func(uint32, uint64) bool) { andNot(a, without, yield) }
}

func and(sets []*Bitset, yield func(uint32, uint64) bool) {
	if len(sets) == 0 {
		return
	}
	first, others := sets[0], sets[1:]
	for t := uint32(0); t < uint32(len(first.top)); t++ {
		aheadTop := allOnes
		for {
			rest := first.top[t] & aheadTop
			for _, o := range others {
				rest &= level(o.top, t)
			}
			if rest == 0 {
				break
			}
			bit := uint32(bits.TrailingZeros64(rest))
			aheadTop = allOnes << bit << 1
			if !andGroup(sets, t<<wordShift|bit, yield) {
				return
			}
		}
	}
}

// andGroup runs And over the 64 words of summary word s.
func andGroup(sets []*Bitset, s uint32, yield func(uint32, uint64) bool) bool {
	ahead := allOnes
	for {
		rest := ahead
		for _, o := range sets {
			rest &= level(o.summary, s)
		}
		if rest == 0 {
			return true
		}
		bit := uint32(bits.TrailingZeros64(rest))
		ahead = allOnes << bit << 1
		w := s<<wordShift | bit
		word := allOnes
		for _, o := range sets {
			word &= o.words[w] // in range: its summary bit is set
		}
		if word != 0 && !yield(w, word) {
			return false
		}
	}
}

func or(sets []*Bitset, yield func(uint32, uint64) bool) {
	for from := uint32(0); ; {
		// The nearest of the operands' next words; ties are one word.
		var w uint32
		found := false
		for _, o := range sets {
			if next, ok := o.nextWord(from); ok && (!found || next < w) {
				w, found = next, true
			}
		}
		if !found {
			return
		}
		var word uint64
		for _, o := range sets {
			word |= o.Word(w)
		}
		if !yield(w, word) {
			return
		}
		from = w + 1
	}
}

func andNot(a *Bitset, without []*Bitset, yield func(uint32, uint64) bool) {
	for w, ok := a.nextWord(0); ok; w, ok = a.nextWord(w + 1) {
		word := a.words[w]
		for _, o := range without {
			word &^= o.Word(w)
		}
		if word != 0 && !yield(w, word) {
			return
		}
	}
}

// level reads a word of a summary level; beyond the end there is nothing.
func level(words []uint64, i uint32) uint64 {
	if i < uint32(len(words)) {
		return words[i]
	}
	return 0
}
