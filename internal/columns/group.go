package columns

import (
	"fmt"
	"unsafe"

	"github.com/worldd/worldd/bulk"
)

// Layout is the memory layout of a Group.
type Layout uint8

const (
	// SoA stores each column separately, bulk.BlockLen elements in a row: for loops that use
	// few of the columns.
	SoA Layout = iota
	// AoSoA interleaves the columns in runs of sixteen elements. It suits loops that use
	// most columns, and lookups, which then touch adjacent cache lines. Sixteen four-byte
	// elements are one cache line and one AVX-512 register.
	AoSoA
)

// String is the name of the constant.
func (l Layout) String() string {
	switch l {
	case SoA:
		return "SoA"
	case AoSoA:
		return "AoSoA"
	}
	return fmt.Sprintf("Layout(%d)", uint8(l))
}

// LanesLen is the number of consecutive elements of one column in AoSoA.
const LanesLen = 16

const (
	lanesShift = 4
	// staggerBytes separates two columns of a block. Without it, columns of 4,096
	// elements would all start at the same page offset and compete for one cache set.
	// Offset by three lines, 64 columns map to 64 sets.
	staggerBytes = 192
	maxColumns   = 1 << 12
)

// Group is a number of columns of one element type, parallel to a pool's slots or to a
// Table's rows (see Move). Each block of bulk.BlockLen slots is one allocation for all
// columns, so pointers into it stay valid. Column's rules about holes and goroutines
// apply.
type Group[E any] struct {
	blocks []unsafe.Pointer
	count  int // columns
	layout Layout
	stride uintptr // bytes between neighbouring columns
	group  uintptr // bytes between groups of sixteen slots of one column
}

// NewGroup returns a Group of that many columns without elements: see Grow.
// The error wraps bulk.ErrOptions.
func NewGroup[E any](columns int, layout Layout) (*Group[E], error) {
	size := unsafe.Sizeof(*new(E))
	if columns < 1 || columns > maxColumns {
		return nil, fmt.Errorf("%w: %d columns, want 1 to %d", bulk.ErrOptions, columns, maxColumns)
	}
	if layout > AoSoA {
		return nil, fmt.Errorf("%w: Layout is %v", bulk.ErrOptions, layout)
	}
	c := &Group[E]{count: columns, layout: layout, stride: LanesLen, group: LanesLen * uintptr(columns)}
	if layout == SoA {
		c.stride, c.group = bulk.BlockLen+max(1, staggerBytes/max(1, size)), LanesLen
	}
	if uint64(c.blockElements()) > maxBlockBytes/uint64(max(1, size)) {
		return nil, fmt.Errorf("%w: a block of %d columns has more than %d bytes", bulk.ErrOptions, columns, maxBlockBytes)
	}
	return c, nil
}

// Grow makes room for at least slots slots, rounded up to whole blocks. New elements
// are zero; existing ones do not move. It never shrinks.
func (c *Group[E]) Grow(slots uint32) {
	blocks := int((uint64(slots) + blockMask) >> blockShift)
	for len(c.blocks) < blocks {
		elements := make([]E, c.blockElements())
		c.blocks = append(c.blocks, unsafe.Pointer(unsafe.SliceData(elements)))
	}
}

// Len is the number of columns.
func (c *Group[E]) Len() int { return c.count }

// Slots is the number of slots with memory.
func (c *Group[E]) Slots() uint64 { return uint64(len(c.blocks)) << blockShift }

func (c *Group[E]) blockElements() uintptr {
	if c.layout == SoA {
		return uintptr(c.count) * c.stride
	}
	return uintptr(c.count) * bulk.BlockLen
}

// find returns an element's address, or nil. One formula serves both layouts, which
// keeps find small enough to inline.
func (c *Group[E]) find(column int, slot uint32) unsafe.Pointer {
	b, i := slot>>blockShift, uintptr(slot&blockMask)
	if uint(column) >= uint(c.count) || b >= uint32(len(c.blocks)) {
		return nil
	}
	at := uintptr(column)*c.stride + i>>lanesShift*c.group + i&(LanesLen-1)
	return unsafe.Add(c.blocks[b], at*unsafe.Sizeof(*new(E)))
}

// At returns an element, or nil if the column or slot does not exist.
func (c *Group[E]) At(column int, slot uint32) *E { return (*E)(c.find(column, slot)) }

// Lanes returns the elements of slots 16*g to 16*g+15, in both layouts, or nil where At
// would return nil.
func (c *Group[E]) Lanes(column int, g uint32) *[LanesLen]E {
	if g >= 1<<(32-lanesShift) {
		return nil
	}
	return (*[LanesLen]E)(c.find(column, g<<lanesShift))
}

// Word returns the elements of slots 64*w to 64*w+63. It returns nil in AoSoA, and
// where At would return nil.
func (c *Group[E]) Word(column int, w uint32) *[64]E {
	if c.layout != SoA || w >= 1<<(32-wordShift) {
		return nil
	}
	return (*[wordLen]E)(c.find(column, w<<wordShift))
}

// Block returns the elements of slots 4096*b to 4096*b+4095. Like Word, it needs SoA.
func (c *Group[E]) Block(column int, b uint32) *[bulk.BlockLen]E {
	if c.layout != SoA || b >= 1<<(32-blockShift) {
		return nil
	}
	return (*[bulk.BlockLen]E)(c.find(column, b<<blockShift))
}

// Clear zeroes a slot's element in every column, for a new tenant.
func (c *Group[E]) Clear(slot uint32) {
	var zero E
	for column := range c.count {
		if e := c.At(column, slot); e != nil {
			*e = zero
		}
	}
}

// Move copies one slot's elements to another and zeroes the source, to keep columns
// parallel to a Table after Table.Remove. Both slots must exist. If to equals from, it
// only zeroes.
func (c *Group[E]) Move(to, from uint32) {
	if to != from {
		for column := range c.count {
			*c.At(column, to) = *c.At(column, from)
		}
	}
	c.Clear(from)
}
