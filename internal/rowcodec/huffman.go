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
	// quickBits is the number of bits looked up in a table at once. The rest of a longer
	// code is looked up in a second table.
	quickBits = 8
	longBits  = maxCodeBits - quickBits
)

// code is a complete canonical Huffman code. Symbols of one length have consecutive codes,
// and shorter codes precede longer ones: the lengths define the code. Every bit string
// decodes to symbols. Codes are written with their first bit lowest.
type code struct {
	codes [maxSymbols]uint16          // by symbol: its code, first bit lowest, and its length<<maxCodeBits
	quick [1 << quickBits]packedEntry // by the next quickBits bits
	long  []packedEntry               // entries of longer codes: the first quickBits bits select a part, the bits after them an entry
}

// entry is the meaning of a code. The highest 7 bits are a value, the next 5 bits the
// number of low bits that follow and complete the value, the last 4 bits the length of the
// code. It is precomputed because each decoding step waits for the previous step. For the
// first bits of longer codes the length is 0, and the value selects their part of
// code.long.
type entry uint32

// packedEntry is an entry in memory. In registers it is an entry: 32 bits take fewer
// instructions.
type packedEntry uint16

const (
	entryLow   = 4
	entryValue = 9
	// entryEscape is the value of a residual's escape: the number follows in full. With the
	// maximum number of low bits, it is out of every range.
	entryEscape = 1<<7 - 1
)

func (e entry) value() uint64 { return uint64(e) >> entryValue }

func (e entry) low() uint { return uint(e>>entryLow) & 31 }

func (e entry) bits() uint { return uint(e & 15) }

// symbolEntry returns the entry, without a code length, of a code whose values are its
// symbols.
func symbolEntry(symbol int) entry { return entry(symbol) << entryValue }

// magnitudeEntry returns the entry, without a code length, of a residual's symbol.
func magnitudeEntry(symbol int) entry {
	if symbol == symbolEscape {
		return entryEscape<<entryValue | 31<<entryLow
	}
	least, low := magnitudeOf(symbol)
	return entry(least>>low)<<entryValue | entry(low)<<entryLow
}

// newCode returns the code with these lengths, one per symbol; meaning gives the entry
// of each symbol. The lengths must be complete (checkLengths).
func newCode(lengths []uint8, meaning func(symbol int) entry) *code {
	c := &code{}
	next := uint16(0)
	for n := uint8(1); n <= maxCodeBits; n++ {
		next <<= 1
		for symbol, length := range lengths {
			if length != n {
				continue
			}
			coded := bits.Reverse16(next) >> (16 - n)
			c.codes[symbol] = coded | uint16(n)<<maxCodeBits
			c.enter(coded, uint(n), packedEntry(meaning(symbol))|packedEntry(n))
			next++
		}
	}
	return c
}

// enter enters a code of n bits into the tables.
func (c *code) enter(coded uint16, n uint, e packedEntry) {
	if n <= quickBits {
		for v := uint(coded); v < 1<<quickBits; v += 1 << n {
			c.quick[v] = e
		}
		return
	}
	begin := &c.quick[coded&(1<<quickBits-1)]
	if *begin == 0 {
		// Numbers begin with 1: 0 is a beginning that is not entered yet.
		if c.long == nil {
			c.long = make([]packedEntry, 1<<longBits)
		}
		*begin = packedEntry(len(c.long)>>longBits) << entryValue
		c.long = append(c.long, make([]packedEntry, 1<<longBits)...)
	}
	long := c.long[int(*begin>>entryValue)<<longBits:][:1<<longBits]
	for v := uint(coded >> quickBits); v < 1<<longBits; v += 1 << (n - quickBits) {
		long[v] = e
	}
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

// lookup returns the entry of the code at the beginning of ahead.
func (c *code) lookup(ahead uint64) entry {
	e := entry(c.quick[ahead&(1<<quickBits-1)])
	if e.bits() == 0 {
		e = entry(c.long[e.value()<<longBits|ahead>>quickBits&(1<<longBits-1)])
	}
	return e
}

// of returns the bits of a symbol's code and their number.
func (c *code) of(symbol int) (coded uint64, length uint) {
	coded = uint64(c.codes[symbol])
	return coded & (1<<maxCodeBits - 1), uint(coded >> maxCodeBits)
}

// write writes a symbol and then n bits of extra, at most 44.
func (c *code) write(w *bitio.Writer, symbol int, extra uint64, n uint) {
	coded, length := c.of(symbol)
	w.Write(coded|extra<<length, length+n)
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
		first int // lowest symbol in the node, to break ties
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
