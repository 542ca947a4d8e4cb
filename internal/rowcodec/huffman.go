package rowcodec

import (
	"cmp"
	"math/bits"
	"slices"

	"github.com/worldd/worldd/internal/bitio"
)

const (
	// maxCodeBits bounds the length of a symbol's code.
	maxCodeBits = 12
	// maxSymbols bounds the alphabet of a code.
	maxSymbols = 128
	// quickBits is the number of bits looked up in a table at once; longer codes are
	// searched by length.
	quickBits = 8
)

// code is a complete canonical Huffman code: symbols of one length have consecutive
// codes and shorter codes precede longer ones, so the lengths define it. Every bit
// string decodes to symbols. Codes are written with their first bit lowest.
type code struct {
	codes  [maxSymbols]uint16 // a symbol's code, first bit lowest, and its length<<maxCodeBits
	quick  [1 << quickBits]entry
	limit  [maxCodeBits + 1]uint16 // by length: one beyond its last code
	offset [maxCodeBits + 1]int16  // by length: added to a code, its index in sorted
	sorted [maxSymbols]entry
}

// entry is the meaning of a code: a value in the highest 7 bits, then in 5 bits the
// number of low bits that follow and complete the value, then in 4 bits the length of
// the code. It is precomputed because each decoding step waits for the last.
type entry uint16

const (
	entryLow   = 4
	entryValue = 9
	// entryEscape is the value of a residual's escape: the number follows in full.
	entryEscape = 1<<7 - 1
)

func (e entry) value() uint64 { return uint64(e >> entryValue) }

func (e entry) low() uint { return uint(e>>entryLow) & 31 }

func (e entry) bits() uint { return uint(e & 15) }

// symbolEntry returns the entry, without a code length, of a code whose values are its
// symbols.
func symbolEntry(symbol int) entry { return entry(symbol) << entryValue }

// magnitudeEntry returns the entry, without a code length, of a residual's symbol.
func magnitudeEntry(symbol int) entry {
	if symbol == symbolEscape {
		return entryEscape << entryValue
	}
	least, low := magnitudeOf(symbol)
	return entry(least>>low)<<entryValue | entry(low)<<entryLow
}

// newCode returns the code with these lengths, one per symbol; meaning gives the entry
// of each symbol. The lengths must be complete (checkLengths).
func newCode(lengths []uint8, meaning func(symbol int) entry) *code {
	c := &code{}
	next, index := uint16(0), int16(0)
	for n := uint8(1); n <= maxCodeBits; n++ {
		next <<= 1
		c.offset[n] = index - int16(next)
		for symbol, length := range lengths {
			if length != n {
				continue
			}
			coded := bits.Reverse16(next) >> (16 - n)
			c.codes[symbol] = coded | uint16(n)<<maxCodeBits
			for v := coded; n <= quickBits && v < 1<<quickBits; v += 1 << n {
				c.quick[v] = meaning(symbol) | entry(n)
			}
			c.sorted[index] = meaning(symbol) | entry(n)
			next, index = next+1, index+1
		}
		c.limit[n] = next
	}
	return c
}

// checkLengths reports whether lengths form a complete code.
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

// read reads a symbol of a code whose values are its symbols.
func (c *code) read(r *bitio.Reader) int {
	e := c.lookup(r.Peek())
	r.Skip(e.bits())
	return int(e.value())
}

// lookup returns the entry of the code that ahead begins with.
func (c *code) lookup(ahead uint64) entry {
	if e := c.quick[ahead&(1<<quickBits-1)]; e != 0 {
		return e
	}
	return c.lookupLong(ahead)
}

// lookupLong looks up a code longer than quickBits. It is rare and not inlined, so that
// lookup is.
//
//go:noinline
func (c *code) lookupLong(ahead uint64) entry {
	v := uint32(bits.Reverse16(uint16(ahead) << (16 - maxCodeBits)))
	n := quickBits + 1
	for n < maxCodeBits && v>>(maxCodeBits-n) >= uint32(c.limit[n]) {
		n++
	}
	return c.sorted[int32(v>>(maxCodeBits-n))+int32(c.offset[n])]
}

// write writes a symbol and then n bits of extra, at most 44.
func (c *code) write(w *bitio.Writer, symbol int, extra uint64, n uint) {
	coded := uint64(c.codes[symbol])
	length := uint(coded >> maxCodeBits)
	coded, n = coded&(1<<maxCodeBits-1)|extra<<(length&63), n+length
	buf, at, acc, pending := w.Open()
	if at+8 > len(buf) {
		w.Write(coded, n)
		return
	}
	w.Close(bitio.Put(buf, at, acc, pending, coded, n))
}

// CodeLengths returns the lengths of the optimal complete code for symbols with these
// counts, all positive. If a code is too long, the counts are levelled until it fits.
func CodeLengths(counts []uint64) []uint8 {
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
