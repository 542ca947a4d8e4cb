package columns

import "github.com/worldd/worldd/bulk"

// Column is storage parallel to a pool's slots: element i belongs to slot i. It is
// allocated in blocks of bulk.BlockLen elements, so pointers into it stay valid, and the garbage
// collector does not scan blocks of a pointer-free T. A column does not know which slots
// are live: keep a Bitset for that, and clear an element when its slot gets a new tenant.
//
// The zero value is an empty column. Goroutines may write distinct elements
// concurrently; nothing may run concurrently with Grow.
type Column[T any] struct {
	blocks []*[bulk.BlockLen]T
}

// Grow makes room for at least slots slots, rounded up to whole blocks. New elements
// are zero; existing ones do not move. It never shrinks.
func (c *Column[T]) Grow(slots uint32) {
	blocks := int((uint64(slots) + blockMask) >> blockShift)
	for len(c.blocks) < blocks {
		c.blocks = append(c.blocks, new([bulk.BlockLen]T))
	}
}

// At returns a slot's element, or nil if Grow has not reached it.
func (c *Column[T]) At(slot uint32) *T {
	if b := slot >> blockShift; b < uint32(len(c.blocks)) {
		return &c.blocks[b][slot&blockMask]
	}
	return nil
}

// Word returns the elements of slots 64*w to 64*w+63, or nil if Grow has not reached
// them. It matches the words that And, Or, AndNot and Pool.Words yield.
func (c *Column[T]) Word(w uint32) *[64]T {
	if b := w >> (blockShift - wordShift); b < uint32(len(c.blocks)) {
		first := w & (blockWords - 1) << wordShift
		return (*[wordLen]T)(c.blocks[b][first : first+wordLen])
	}
	return nil
}
