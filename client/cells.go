package client

import (
	"iter"
	"unsafe"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/replication/wire"
)

// cell is all that a client remembers of one slot: the newest generation it
// ever heard of and what became of it. One cell a slot is what makes the
// verdict on any handle exact in O(slots) memory.
type cell struct {
	generation uint32       // the newest that was ever heard of
	state      wire.Verdict // of it; Pending: never heard of
	foreseen   uint16       // place in Replica.foreseen
	entity     *Entity      // of it, if Live
}

// cellPage is how many cells are made for the first of them that is used: a server
// may name slots as far apart as it likes, and its 7 bytes cost a page of 512.
const cellPage = 32

// cells is a table of cells by slot, a page at a time, so that memory follows what a
// server has told: the largest slot that it names costs a pointer for each page up
// to it, 4 MiB at most, and how many slots it says there are costs nothing.
type cells struct {
	pages []*[cellPage]cell
	made  int // pages that are there
}

const (
	bytesOfPage    = int(unsafe.Sizeof([cellPage]cell{}))
	bytesOfPointer = int(unsafe.Sizeof((*[cellPage]cell)(nil)))
)

// bytes is the memory of the table.
func (c *cells) bytes() int { return len(c.pages)*bytesOfPointer + c.made*bytesOfPage }

// growth is how many bytes more the table takes after at(slot).
func (c *cells) growth(slot uint32) (bytes int) {
	page := int(slot / cellPage)
	if page >= len(c.pages) {
		return (c.longer(page)-len(c.pages))*bytesOfPointer + bytesOfPage
	}
	if c.pages[page] == nil {
		return bytesOfPage
	}
	return 0
}

// longer is how many pages there is room for after the table has grown to hold one.
func (c *cells) longer(page int) int { return max(page+1, min(2*len(c.pages), wire.MaxSlots/cellPage)) }

// at returns the cell of slot for writing.
func (c *cells) at(slot uint32) *cell {
	page := int(slot / cellPage)
	if page >= len(c.pages) {
		more := make([]*[cellPage]cell, c.longer(page))
		copy(more, c.pages)
		c.pages = more
	}
	if c.pages[page] == nil {
		c.pages[page] = new([cellPage]cell)
		c.made++
	}
	return &c.pages[page][slot%cellPage]
}

// peek returns the cell of slot, or nil if nothing was ever heard of its page.
func (c *cells) peek(slot uint32) *cell {
	if page := int(slot / cellPage); page < len(c.pages) && c.pages[page] != nil {
		return &c.pages[page][slot%cellPage]
	}
	return nil
}

// known yields the slots that were ever heard of, in ascending order, with their
// cells.
func (c *cells) known() iter.Seq2[uint32, *cell] {
	return func(yield func(uint32, *cell) bool) {
		for i, page := range c.pages {
			for j := 0; page != nil && j < cellPage; j++ {
				if c := &page[j]; c.generation != 0 && !yield(uint32(i*cellPage+j), c) {
					return
				}
			}
		}
	}
}

// resolve says what became of h, whose slot this is.
func (c *cell) resolve(h bulk.Handle) wire.Verdict {
	switch g := h.Generation(); {
	case g < c.generation:
		return wire.Stale
	case g > c.generation:
		return wire.Pending
	}
	return c.state
}
