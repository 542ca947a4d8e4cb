package bulk

import (
	"fmt"
	"iter"
	"math/bits"
)

const (
	wordShift = 6 // 64 slots or bits to a word
	wordLen   = 1 << wordShift
	wordMask  = wordLen - 1
	allOnes   = ^uint64(0)
)

// Bitset is a set of uint32s, intended for the slots of a pool. It has three levels:
// words, a summary bit per word, and a top bit per summary word. One top word covers
// 262,144 slots, and empty ranges are skipped without reading them.
//
// The zero value is an empty set. Set and SetWord grow it in blocks of 4,096 bits up to the
// highest bit ever set. This takes about an eighth of a byte per bit: bound untrusted
// numbers first. Reading beyond the end is allowed and finds nothing. A Bitset must not be
// copied by assignment (see CopyFrom) or written concurrently.
type Bitset struct{ levels }

// BitsetView gives read access to a Bitset, for example to the live slots of a pool. It
// shows later changes of the set. Two views are == if they show the same Bitset. All
// methods of the zero BitsetView panic except Valid.
type BitsetView struct{ *levels }

// levels is the content of a Bitset, with the methods that only read it.
type levels struct {
	words   []uint64 // length is a multiple of 64: whole summary words
	summary []uint64 // bit w of word s: words[s*64+w] != 0          (B1)
	top     []uint64 // bit s of word t: summary[t*64+s] != 0        (B1)
}

// View returns read access to b.
func (b *Bitset) View() BitsetView { return BitsetView{&b.levels} }

// Valid reports whether b is a view of a Bitset: the zero BitsetView is not.
func (b BitsetView) Valid() bool { return b.levels != nil }

// Set adds i.
func (b *Bitset) Set(i uint32) {
	w := i >> wordShift
	if w >= uint32(len(b.words)) {
		b.grow(w)
	}
	if b.words[w] == 0 {
		b.mark(w)
	}
	b.words[w] |= 1 << (i & wordMask)
}

// Join adds the bits in mask to word w if w is not empty. Otherwise it does nothing and
// returns false: call Set or SetWord. Unlike Set and SetWord it is inlined: use it in loops
// that set many bits of few words.
func (b *Bitset) Join(w uint32, mask uint64) bool {
	if w >= uint32(len(b.words)) || b.words[w] == 0 {
		return false
	}
	b.words[w] |= mask
	return true
}

// Clear removes i.
func (b *Bitset) Clear(i uint32) {
	w := i >> wordShift
	if w >= uint32(len(b.words)) {
		return
	}
	b.words[w] &^= 1 << (i & wordMask)
	if b.words[w] == 0 {
		b.unmark(w)
	}
}

// Has reports whether i is in the set.
func (b *levels) Has(i uint32) bool {
	w := i >> wordShift
	return w < uint32(len(b.words)) && b.words[w]>>(i&wordMask)&1 != 0
}

// Word returns the bits 64*w to 64*w+63; 0 beyond the end.
func (b *levels) Word(w uint32) uint64 {
	if w < uint32(len(b.words)) {
		return b.words[w]
	}
	return 0
}

// SetWord replaces the bits 64*w to 64*w+63.
func (b *Bitset) SetWord(w uint32, bits uint64) {
	if w >= uint32(len(b.words)) {
		if bits == 0 {
			return
		}
		b.grow(w)
	}
	b.words[w] = bits
	if bits == 0 {
		b.unmark(w)
	} else {
		b.mark(w)
	}
}

// WordCount is the number of stored words. Word(w) is 0 for every w at or above it.
func (b *levels) WordCount() uint32 { return uint32(len(b.words)) }

// Any reports whether the set has a member.
func (b *levels) Any() bool {
	for _, t := range b.top {
		if t != 0 {
			return true
		}
	}
	return false
}

// Next returns the lowest member that is at least from, or false.
func (b *levels) Next(from uint32) (uint32, bool) {
	w := from >> wordShift
	if rest := b.Word(w) & (allOnes << (from & wordMask)); rest != 0 {
		return w<<wordShift | uint32(bits.TrailingZeros64(rest)), true
	}
	w, ok := b.nextWord(w + 1)
	if !ok {
		return 0, false
	}
	return w<<wordShift | uint32(bits.TrailingZeros64(b.words[w])), true
}

// Prev returns the highest member that is at most from, or false.
func (b *levels) Prev(from uint32) (uint32, bool) {
	w := from >> wordShift
	if rest := b.Word(w) & (allOnes >> (wordMask - from&wordMask)); rest != 0 {
		return w<<wordShift | highest(rest), true
	}
	// Search below that word through the summaries.
	s := w >> wordShift
	if rest := level(b.summary, s) & (1<<(w&wordMask) - 1); rest != 0 {
		w = s<<wordShift | highest(rest)
		return w<<wordShift | highest(b.words[w]), true
	}
	t := s >> wordShift
	rest := level(b.top, t) & (1<<(s&wordMask) - 1)
	t = min(t, uint32(len(b.top)))
	for rest == 0 {
		if t == 0 {
			return 0, false
		}
		t--
		rest = b.top[t]
	}
	s = t<<wordShift | highest(rest)
	w = s<<wordShift | highest(b.summary[s])
	return w<<wordShift | highest(b.words[w]), true
}

// highest returns the index of the highest set bit of a nonzero word.
func highest(word uint64) uint32 { return uint32(bits.Len64(word) - 1) }

// NextClear returns the lowest number in [from, end) that is not in the set, or false. Pass
// for example Pool.Slots as end to exclude padding. Full words are tested one at a time:
// the summaries record only empty words.
func (b *levels) NextClear(from, end uint32) (uint32, bool) {
	mask := allOnes << (from & wordMask)
	for w := from >> wordShift; w <= end>>wordShift; w++ {
		if free := ^b.Word(w) & mask; free != 0 {
			if i := w<<wordShift | uint32(bits.TrailingZeros64(free)); i < end {
				return i, true
			}
			return 0, false
		}
		mask = allOnes
	}
	return 0, false
}

// nextWord returns the first nonempty word at or after w.
func (b *levels) nextWord(w uint32) (uint32, bool) {
	s := w >> wordShift
	if s >= uint32(len(b.summary)) {
		return 0, false
	}
	if rest := b.summary[s] & (allOnes << (w & wordMask)); rest != 0 {
		return s<<wordShift | uint32(bits.TrailingZeros64(rest)), true
	}
	s++
	mask := allOnes << (s & wordMask)
	for t := s >> wordShift; t < uint32(len(b.top)); t++ {
		if rest := b.top[t] & mask; rest != 0 {
			s = t<<wordShift | uint32(bits.TrailingZeros64(rest))
			return s<<wordShift | uint32(bits.TrailingZeros64(b.summary[s])), true
		}
		mask = allOnes
	}
	return 0, false
}

// Reset removes every member and keeps the memory. It writes only groups of 4,096 members that
// are not empty.
func (b *Bitset) Reset() {
	for t, mask := range b.top {
		for ; mask != 0; mask &= mask - 1 {
			s := t<<wordShift | bits.TrailingZeros64(mask)
			clear(b.words[s<<wordShift : (s+1)<<wordShift])
			b.summary[s] = 0
		}
		b.top[t] = 0
	}
}

// CopyFrom makes b an independent copy of from.
func (b *Bitset) CopyFrom(from BitsetView) {
	b.words = append(b.words[:0], from.words...)
	b.summary = append(b.summary[:0], from.summary...)
	b.top = append(b.top[:0], from.top...)
}

// Equal reports whether both sets have the same members.
func (b *levels) Equal(other BitsetView) bool {
	if len(b.words) > len(other.words) {
		b, other = other.levels, BitsetView{b}
	}
	for w, word := range b.words {
		if word != other.words[w] {
			return false
		}
	}
	_, more := other.nextWord(uint32(len(b.words)))
	return !more
}

// All yields the members in ascending order. The set may change during the iteration:
// each step goes to the lowest member above the previous one.
func (b *levels) All() iter.Seq[uint32] {
	return func(yield func(uint32) bool) {
		for w, ok := b.nextWord(0); ok; w, ok = b.nextWord(w + 1) {
			ahead := allOnes
			for rest := b.words[w]; rest != 0; rest = b.Word(w) & ahead { // CopyFrom may have shrunk the set
				i := uint32(bits.TrailingZeros64(rest))
				if !yield(w<<wordShift | i) {
					return
				}
				ahead = allOnes << i << 1
			}
		}
	}
}

// Bits yields base+i for every bit i of word, ascending. With base 64*w it turns word w
// of And, Or, AndNot or Pool.Words into members.
func Bits(base uint32, word uint64) iter.Seq[uint32] {
	return func(yield func(uint32) bool) {
		for rest := word; rest != 0; rest &= rest - 1 {
			if !yield(base + uint32(bits.TrailingZeros64(rest))) {
				return
			}
		}
	}
}

// mark records in the upper levels that word w is not empty.
func (b *Bitset) mark(w uint32) {
	b.summary[w>>6] |= 1 << (w & wordMask)
	b.top[w>>12] |= 1 << (w >> 6 & wordMask)
}

// unmark records in the upper levels that word w is empty.
func (b *Bitset) unmark(w uint32) {
	s := w >> 6
	b.summary[s] &^= 1 << (w & wordMask)
	if b.summary[s] == 0 {
		b.top[s>>6] &^= 1 << (s & wordMask)
	}
}

// grow allocates up to and including word w.
func (b *Bitset) grow(w uint32) {
	summaries := w>>wordShift + 1
	tops := (summaries-1)>>wordShift + 1
	b.words = extend(b.words, int(summaries)*wordLen)
	b.summary = extend(b.summary, int(summaries))
	b.top = extend(b.top, int(tops))
}

// extend appends zeros until len(s) is n, with append's amortised growth.
func extend(s []uint64, n int) []uint64 {
	if n <= len(s) {
		return s
	}
	return append(s, make([]uint64, n-len(s))...)
}

// CheckInvariants audits B1, reading every word. Pool.CheckInvariants calls it for the
// live bits.
func (b *levels) CheckInvariants() error {
	if len(b.words) != len(b.summary)*wordLen || len(b.top) != (len(b.summary)+wordMask)>>wordShift {
		return fmt.Errorf("bulk: B1: %d words, %d summaries, %d tops", len(b.words), len(b.summary), len(b.top))
	}
	if err := checkSummary(b.words, b.summary, "summary"); err != nil {
		return err
	}
	return checkSummary(b.summary, b.top, "top")
}

// checkSummary compares a level with the level above it, including padding.
func checkSummary(lower, upper []uint64, name string) error {
	for u, got := range upper {
		var want uint64
		for i := range min(wordLen, len(lower)-u*wordLen) {
			if lower[u*wordLen+i] != 0 {
				want |= 1 << i
			}
		}
		if got != want {
			return fmt.Errorf("bulk: B1: %s word %d is %#x, want %#x", name, u, got, want)
		}
	}
	return nil
}

func (b *levels) bytes() uint64 {
	return 8 * uint64(cap(b.words)+cap(b.summary)+cap(b.top))
}
