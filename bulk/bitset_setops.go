package bulk

import (
	"iter"
	"math/bits"
)

// And yields the words of the intersection that are not empty, in ascending order: the
// number of a word and its bits. It skips ranges that are empty in any set by their
// summaries. Without operands it yields nothing.
//
// As in Or and AndNot, the yielded bits are a copy, and the iterator reads a word when it
// reaches it. The sets may change during the iteration: a change affects only later words.
// None of the three allocates when ranged over directly. Bits turns a word into its
// members.
func And(sets ...BitsetView) iter.Seq2[uint32, uint64] {
	return func(yield func(uint32, uint64) bool) { and(sets, yield) }
}

// Or yields the words of the union that are not empty; see And.
func Or(sets ...BitsetView) iter.Seq2[uint32, uint64] {
	return func(yield func(uint32, uint64) bool) { or(sets, yield) }
}

// AndNot yields the words of a without the members of the other sets that are not empty;
// see And. It skips empty ranges of a only.
func AndNot(a BitsetView, without ...BitsetView) iter.Seq2[uint32, uint64] {
	return func(yield func(uint32, uint64) bool) { andNot(a, without, yield) }
}

// SetAnd sets b to the intersection of the sets, which may include b. Like the
// iterators, it reads and writes only where a summary bit is set. Without operands the
// result is empty.
func (b *Bitset) SetAnd(sets ...BitsetView) {
	if len(sets) == 0 {
		b.Reset()
		return
	}
	b.assign(intersection, sets[0], sets[1:])
}

// SetOr sets b to the union of the sets, which may include b.
func (b *Bitset) SetOr(sets ...BitsetView) {
	if len(sets) == 0 {
		b.Reset()
		return
	}
	b.assign(union, sets[0], sets[1:])
}

// SetAndNot sets b to the members of a that are in none of the other sets. b may be an
// operand.
func (b *Bitset) SetAndNot(a BitsetView, without ...BitsetView) { b.assign(difference, a, without) }

type operation uint8

const (
	intersection operation = iota
	union
	difference
)

// assign computes b word by word where b or the result may have members. Each level is
// read before it is written, so b may be an operand.
func (b *Bitset) assign(op operation, first BitsetView, others []BitsetView) {
	tops := max(len(b.top), len(first.top))
	for _, o := range others {
		tops = max(tops, len(o.top))
	}
	var spare spareGroups
	for t := range uint32(tops) {
		candidates := level(first.top, t)
		for _, o := range others {
			candidates = op.combineSummaries(candidates, level(o.top, t))
		}
		for candidates |= level(b.top, t); candidates != 0; candidates &= candidates - 1 {
			b.assignGroup(op, first, others, t<<wordShift|uint32(bits.TrailingZeros64(candidates)), &spare)
		}
	}
}

// assignGroup is assign for the 64 words of summary word s.
func (b *Bitset) assignGroup(op operation, first BitsetView, others []BitsetView, s uint32, spare *spareGroups) {
	candidates := level(first.summary, s)
	for _, o := range others {
		candidates = op.combineSummaries(candidates, level(o.summary, s))
	}
	candidates |= level(b.summary, s)
	// A union has members wherever its operands have; other operations must not grow b
	// needlessly.
	if bits.OnesCount64(candidates) >= minWholeWords() && (op == union || s < uint32(len(b.summary))) {
		b.assignWhole(op, first, others, s, spare)
		return
	}
	for ; candidates != 0; candidates &= candidates - 1 {
		w := s<<wordShift | uint32(bits.TrailingZeros64(candidates))
		word := level(first.words, w)
		for _, o := range others {
			if op == difference {
				word &^= level(o.words, w)
			} else {
				word = op.combineSummaries(word, level(o.words, w))
			}
		}
		b.SetWord(w, word)
	}
}

// combineSummaries combines two summary words into a superset of the result's summary word:
// a subtrahend's summary bit does not imply that the whole word is removed.
func (op operation) combineSummaries(a, b uint64) uint64 {
	switch op {
	case intersection:
		return a & b
	case union:
		return a | b
	}
	return a
}

func and(sets []BitsetView, yield func(uint32, uint64) bool) {
	if len(sets) == 0 {
		return
	}
	first, others := sets[0], sets[1:]
	for t := uint32(0); t < uint32(len(first.top)); t++ {
		aheadTop := allOnes
		for {
			rest := level(first.top, t) & aheadTop // CopyFrom may have shrunk the set
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
func andGroup(sets []BitsetView, s uint32, yield func(uint32, uint64) bool) bool {
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
			word &= o.words[w] // in range: the summary bit is set
		}
		if word != 0 && !yield(w, word) {
			return false
		}
	}
}

func or(sets []BitsetView, yield func(uint32, uint64) bool) {
	for from := uint32(0); ; {
		// Take the lowest of the operands' next words; equal ones are one word.
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

func andNot(a BitsetView, without []BitsetView, yield func(uint32, uint64) bool) {
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

// level reads a word of a summary level, or 0 beyond the end.
func level(words []uint64, i uint32) uint64 {
	if i < uint32(len(words)) {
		return words[i]
	}
	return 0
}
