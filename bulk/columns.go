package bulk

import (
	"fmt"
	"unsafe"
)

// Layout says how the columns of a Columns lie.
type Layout uint8

const (
	// SoA: each column by itself, BlockLen elements in a row: for loops that use
	// few of the columns.
	SoA Layout = iota
	// AoSoA: sixteen elements of each column in turn: for loops that use most of
	// them, and for lookups, which then touch neighbouring lines. With elements
	// of four bytes, sixteen are one cache line, one AVX-512 register.
	AoSoA
)

// String is the name of the constant.
func (l Layout) String() string { return name(l, "SoA", "AoSoA") }

// LanesLen is the number of neighbouring elements of a column in AoSoA.
const LanesLen = 16

const (
	lanesShift = 4
	// staggerBytes is what lies between two columns of a block. Columns of 4,096
	// elements would all start at the same place in their pages, and a loop over
	// more of them than a cache set has lines would have them fight for one set;
	// three lines apart, 64 columns have 64 sets.
	staggerBytes = 192
	maxColumns   = 1 << 12
)

// Columns are several columns of one element type, parallel to the slots of a
// pool, or to the rows of a Table (see Move). They come in blocks of BlockLen
// elements, one allocation for all columns, so pointers into them never move.
// What is said about holes and goroutines at Column goes for Columns, too.
type Columns[E any] struct {
	blocks []unsafe.Pointer
	count  int // columns
	layout Layout
	stride uintptr // elements from one column to the next
	group  uintptr // elements from sixteen slots to the next sixteen, of one column
}

// NewColumns makes that many columns, without elements yet: see Grow. The error
// wraps ErrOptions.
func NewColumns[E any](columns int, layout Layout) (*Columns[E], error) {
	size := unsafe.Sizeof(*new(E))
	if columns < 1 || columns > maxColumns {
		return nil, fmt.Errorf("%w: %d columns; want 1 to %d", ErrOptions, columns, maxColumns)
	}
	if layout > AoSoA {
		return nil, fmt.Errorf("%w: Layout is %v", ErrOptions, layout)
	}
	c := &Columns[E]{count: columns, layout: layout, stride: LanesLen, group: LanesLen * uintptr(columns)}
	if layout == SoA {
		c.stride, c.group = BlockLen+max(1, staggerBytes/max(1, size)), LanesLen
	}
	if uint64(c.blockElements()) > maxBlockBytes/uint64(max(1, size)) {
		return nil, fmt.Errorf("%w: a block of %d columns has more than %d bytes", ErrOptions, columns, maxBlockBytes)
	}
	return c, nil
}

// Grow makes room for at least that many slots, rounded up to whole blocks; new
// elements are zero, old ones stay where they are. It never shrinks.
func (c *Columns[E]) Grow(slots uint32) {
	blocks := int((uint64(slots) + blockMask) >> blockShift)
	for len(c.blocks) < blocks {
		elements := make([]E, c.blockElements())
		c.blocks = append(c.blocks, unsafe.Pointer(unsafe.SliceData(elements)))
	}
}

// Len is the number of columns.
func (c *Columns[E]) Len() int { return c.count }

// Slots is the number of slots there is room for.
func (c *Columns[E]) Slots() uint64 { return uint64(len(c.blocks)) << blockShift }

// blockElements is the number of elements in a block.
func (c *Columns[E]) blockElements() uintptr {
	if c.layout == SoA {
		return uintptr(c.count) * c.stride
	}
	return uintptr(c.count) * BlockLen
}

// find is the address of an element, nil unless it exists. One formula serves
// both layouts, and so is small enough to be inlined.
func (c *Columns[E]) find(column int, slot uint32) unsafe.Pointer {
	b, i := slot>>blockShift, uintptr(slot&blockMask)
	if uint(column) >= uint(c.count) || b >= uint32(len(c.blocks)) {
		return nil
	}
	at := uintptr(column)*c.stride + i>>lanesShift*c.group + i&(LanesLen-1)
	return unsafe.Add(c.blocks[b], at*unsafe.Sizeof(*new(E)))
}

// At returns an element, or nil if there is no such column, or no such slot yet.
func (c *Columns[E]) At(column int, slot uint32) *E { return (*E)(c.find(column, slot)) }

// Lanes returns the elements of the slots 16*g to 16*g+15, in both layouts; nil
// where At would return it.
func (c *Columns[E]) Lanes(column int, g uint32) *[LanesLen]E {
	if g >= 1<<(32-lanesShift) {
		return nil
	}
	return (*[LanesLen]E)(c.find(column, g<<lanesShift))
}

// Word returns the elements of the slots 64*w to 64*w+63: SoA only; nil in AoSoA
// and where At would return it.
func (c *Columns[E]) Word(column int, w uint32) *[64]E {
	if c.layout != SoA || w >= 1<<(32-wordShift) {
		return nil
	}
	return (*[wordLen]E)(c.find(column, w<<wordShift))
}

// Block returns the elements of the slots 4096*b to 4096*b+4095: SoA only, like
// Word.
func (c *Columns[E]) Block(column int, b uint32) *[BlockLen]E {
	if c.layout != SoA || b >= 1<<(32-blockShift) {
		return nil
	}
	return (*[BlockLen]E)(c.find(column, b<<blockShift))
}

// Clear zeroes a slot's element in every column: for a new tenant.
func (c *Columns[E]) Clear(slot uint32) {
	var zero E
	for column := range c.count {
		if e := c.At(column, slot); e != nil {
			*e = zero
		}
	}
}

// Move copies the elements of one slot to another and zeroes the first: what
// columns that are parallel to a Table's rows do after Table.Remove. Both must
// exist; to and from may be equal, which then only zeroes.
func (c *Columns[E]) Move(to, from uint32) {
	if to != from {
		for column := range c.count {
			*c.At(column, to) = *c.At(column, from)
		}
	}
	c.Clear(from)
}
