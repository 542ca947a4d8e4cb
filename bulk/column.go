package bulk

// Column is storage parallel to a pool's slots: element i belongs to slot i. It
// comes in fixed blocks of BlockLen elements, so pointers into it never move,
// and a block of a pointer-free T is nothing to the garbage collector. A column
// knows nothing of who lives: keep a Bitset beside it, and clear an element
// when its slot gets a new tenant.
//
// The zero value is an empty column. Distinct elements may be written by
// distinct goroutines; Grow must not run beside anything else.
type Column[T any] struct {
	blocks []*[BlockLen]T
}

// Grow makes room for at least that many slots, rounded up to whole blocks; new
// elements are zero, old ones stay where they are. It never shrinks.
func (c *Column[T]) Grow(slots uint32) {
	blocks := int((uint64(slots) + blockMask) >> blockShift)
	for len(c.blocks) < blocks {
		c.blocks = append(c.blocks, new([BlockLen]T))
	}
}

// At returns the element of a slot, or nil beyond what Grow made.
func (c *Column[T]) At(slot uint32) *T {
	if b := slot >> blockShift; b < uint32(len(c.blocks)) {
		return &c.blocks[b][slot&blockMask]
	}
	return nil
}

// Word returns the elements of the slots 64*w to 64*w+63, or nil
// beyond what Grow made: the partner of a word of And, Or, AndNot or Pool.Words.
func (c *Column[T]) Word(w uint32) *[64]T {
	if b := w >> (blockShift - wordShift); b < uint32(len(c.blocks)) {
		first := w & (blockWords - 1) << wordShift
		return (*[wordLen]T)(c.blocks[b][first : first+wordLen])
	}
	return nil
}
