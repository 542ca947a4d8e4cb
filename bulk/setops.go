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

// AndBits yields the members of the intersection, one by one: And, unrolled.
func AndBits(sets ...*Bitset) iter.Seq[uint32] {
	return func(yield func(uint32) bool) {
		and(sets, func(w uint32, word uint64) bool { return each(w, word, yield) })
	}
}

// OrBits yields the members of the union, one by one: Or, unrolled.
func OrBits(sets ...*Bitset) iter.Seq[uint32] {
	return func(yield func(uint32) bool) {
		or(sets, func(w uint32, word uint64) bool { return each(w, word, yield) })
	}
}

// AndNotBits yields the members of a that are in no other set, one by one.
func AndNotBits(a *Bitset, without ...*Bitset) iter.Seq[uint32] {
	return func(yield func(uint32) bool) {
		andNot(a, without, func(w uint32, word uint64) bool { return each(w, word, yield) })
	}
}

func each(w uint32, word uint64, yield func(uint32) bool) bool {
	for ; word != 0; word &= word - 1 {
		if !yield(w<<wordShift | uint32(bits.TrailingZeros64(word))) {
			return false
		}
	}
	return true
}

// SetAnd makes b the intersection of the sets, of which it may be one. Like the
// iterators, it reads and writes only where a summary says that something is.
// No operands give nothing.
func (b *Bitset) SetAnd(sets ...*Bitset) {
	if len(sets) == 0 {
		b.Reset()
		return
	}
	b.assign(intersection, sets[0], sets[1:])
}

// SetOr makes b the union of the sets, of which it may be one.
func (b *Bitset) SetOr(sets ...*Bitset) {
	if len(sets) == 0 {
		b.Reset()
		return
	}
	b.assign(union, sets[0], sets[1:])
}

// SetAndNot makes b what is in a and in no other set; it may be one of them.
func (b *Bitset) SetAndNot(a *Bitset, without ...*Bitset) { b.assign(difference, a, without) }

type operation uint8

const (
	intersection operation = iota
	union
	difference
)

// assign computes b word by word, where b or the result may have members. What
// is asked of each level is read before it is written, so b may be an operand.
func (b *Bitset) assign(op operation, first *Bitset, others []*Bitset) {
	tops := max(len(b.top), len(first.top))
	for _, o := range others {
		tops = max(tops, len(o.top))
	}
	var spare spareGroups
	for t := range uint32(tops) {
		some := level(first.top, t)
		for _, o := range others {
			some = op.may(some, level(o.top, t))
		}
		for some |= level(b.top, t); some != 0; some &= some - 1 {
			b.assignGroup(op, first, others, t<<wordShift|uint32(bits.TrailingZeros64(some)), &spare)
		}
	}
}

// assignGroup is assign for the 64 words of summary word s.
func (b *Bitset) assignGroup(op operation, first *Bitset, others []*Bitset, s uint32, spare *spareGroups) {
	some := level(first.summary, s)
	for _, o := range others {
		some = op.may(some, level(o.summary, s))
	}
	some |= level(b.summary, s)
	// A union has members where its operands have; else b must not grow for nothing.
	if bits.OnesCount64(some) >= wholeFrom() && (op == union || s < uint32(len(b.summary))) {
		b.assignWhole(op, first, others, s, spare)
		return
	}
	for ; some != 0; some &= some - 1 {
		w := s<<wordShift | uint32(bits.TrailingZeros64(some))
		word := level(first.words, w)
		for _, o := range others {
			if op == difference {
				word &^= level(o.words, w)
			} else {
				word = op.may(word, level(o.words, w))
			}
		}
		b.SetWord(w, word)
	}
}

// may says where a result can be, from where two operands are: a summary bit in
// what is subtracted does not tell that all of its word goes.
func (op operation) may(a, b uint64) uint64 {
	switch op {
	case intersection:
		return a & b
	case union:
		return a | b
	}
	return a
}

func and(sets []*Bitset, yield func(uint32, uint64) bool) {
	if len(sets) == 0 {
		return
	}
	first, others := sets[0], sets[1:]
	for t := uint32(0); t < uint32(len(first.top)); t++ {
		aheadTop := allOnes
		for {
			rest := level(first.top, t) & aheadTop // CopyFrom may have shrunk it
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
