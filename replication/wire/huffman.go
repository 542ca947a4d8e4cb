package wire

import (
	"cmp"
	"math/bits"
	"slices"
)

const (
	// maxCodeBits bounds the length of a symbol's code.
	maxCodeBits = 12
	// maxSymbols bounds the alphabet of a code.
	maxSymbols = 128
	// quickBits is how many bits are looked up at once when a symbol is read;
	// the few longer ones are searched for by length.
	quickBits = 8
)

// code is a canonical Huffman code: symbols of one length have consecutive
// codes, and shorter ones come before longer ones, so that the lengths are the
// whole description. It is complete, so that any bits are symbols. Codes are
// written with their first bit lowest.
type code struct {
	words  [maxSymbols]uint16 // a symbol's code, first bit lowest, and its length<<maxCodeBits
	quick  [1 << quickBits]uint16
	limit  [maxCodeBits + 1]uint16 // by length: one beyond its last code, and
	offset [maxCodeBits + 1]int16  // what makes a code of it a place in sorted
	sorted [maxSymbols]uint8
}

// newCode makes the code with these lengths, one for each symbol. They must be
// complete (checkLengths).
func newCode(lengths []uint8) *code {
	c := &code{}
	next, place := uint16(0), int16(0)
	for n := uint8(1); n <= maxCodeBits; n++ {
		next <<= 1
		c.offset[n] = place - int16(next)
		for symbol, length := range lengths {
			if length != n {
				continue
			}
			word := bits.Reverse16(next) >> (16 - n)
			c.words[symbol] = word | uint16(n)<<maxCodeBits
			for v := word; n <= quickBits && v < 1<<quickBits; v += 1 << n {
				c.quick[v] = uint16(symbol)<<4 | uint16(n)
			}
			c.sorted[place] = uint8(symbol)
			next, place = next+1, place+1
		}
		c.limit[n] = next
	}
	return c
}

// checkLengths says whether lengths are those of a complete code.
func checkLengths(lengths []uint8) bool {
	sum := 0
	for _, n := range lengths {
		if n < 1 || n > maxCodeBits {
			return false
		}
		sum += 1 << (maxCodeBits - n)
	}
	return sum == 1<<maxCodeBits
}

// read takes a symbol from r.
func (c *code) read(r *BitReader) int {
	symbol, n := c.first(r.peek())
	r.skip(n)
	return symbol
}

// first is the symbol that bits begin with, and how many of them it is.
func (c *code) first(ahead uint64) (symbol int, n uint) {
	if q := c.quick[ahead&(1<<quickBits-1)]; q != 0 {
		return int(q >> 4), uint(q & 15)
	}
	return c.longer(uint16(ahead & (1<<maxCodeBits - 1)))
}

// longer is first for a code of more than quickBits.
func (c *code) longer(ahead uint16) (symbol int, n uint) {
	v := uint32(bits.Reverse16(ahead) >> (16 - maxCodeBits))
	n = quickBits + 1
	for n < maxCodeBits && v>>(maxCodeBits-n) >= uint32(c.limit[n]) {
		n++
	}
	return int(c.sorted[int32(v>>(maxCodeBits-n))+int32(c.offset[n])]), n
}

// write appends a symbol and then n bits of extra, at most 44.
func (c *code) write(w *BitWriter, symbol int, extra uint64, n uint) {
	word := uint64(c.words[symbol])
	length := uint(word >> maxCodeBits)
	word, n = word&(1<<maxCodeBits-1)|extra<<(length&63), n+length
	if w.at+8 > len(w.buf) {
		w.writeSlow(word, n)
		return
	}
	w.at, w.acc, w.n = put(w.buf, w.at, w.acc, w.n, word, n)
}

// codeLengths gives the lengths of the best complete code for symbols that
// occur in proportion to counts, every one of which is positive. Codes that
// grow too long are shortened by making the counts more even.
func codeLengths(counts []uint64) []uint8 {
	counts = slices.Clone(counts)
	for {
		lengths := huffmanLengths(counts)
		if slices.Max(lengths) <= maxCodeBits {
			return lengths
		}
		for i := range counts {
			counts[i] = counts[i]/2 + 1
		}
	}
}

func huffmanLengths(counts []uint64) []uint8 {
	type node struct {
		count uint64
		first int // lowest symbol in it, to break ties
		leafs []int
	}
	nodes := make([]node, len(counts))
	for i, n := range counts {
		nodes[i] = node{n, i, []int{i}}
	}
	lengths := make([]uint8, len(counts))
	for len(nodes) > 1 {
		slices.SortFunc(nodes, func(a, b node) int {
			return cmp.Or(cmp.Compare(b.count, a.count), cmp.Compare(b.first, a.first))
		})
		last := len(nodes) - 1
		a, b := nodes[last-1], nodes[last]
		joined := node{a.count + b.count, min(a.first, b.first), slices.Concat(a.leafs, b.leafs)}
		for _, symbol := range joined.leafs {
			lengths[symbol]++
		}
		nodes = append(nodes[:last-1], joined)
	}
	return lengths
}
