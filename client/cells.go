package client

import (
	"iter"
	"unsafe"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/replication/wire"
)

// cell is the client's record of one slot: the newest generation it received, and that tenant's
// verdict. One cell per slot makes the verdict on any handle exact in O(slots) memory.
type cell struct {
	generation uint32       // newest received; 0: none
	state      wire.Verdict // of generation
	plan       uint16       // index in Replica.plan
	entity     *Entity      // if Live
}

// cellPage is the number of cells allocated together. A 7-byte record for a distant slot costs
// the client a page of 512 bytes.
const cellPage = 32

// cells is a paged table of cells by slot. Its memory depends on the records received, not on
// the number of slots that the server announces: the highest slot named costs a pointer per
// page below it, at most 4 MiB.
type cells struct {
	pages []*[cellPage]cell
	made  int // allocated pages
}

const (
	bytesOfPage    = int(unsafe.Sizeof([cellPage]cell{}))
	bytesOfPointer = int(unsafe.Sizeof((*[cellPage]cell)(nil)))
)

func (c *cells) bytes() int { return len(c.pages)*bytesOfPointer + c.made*bytesOfPage }

// growthFor returns how many bytes at(slot) will allocate.
func (c *cells) growthFor(slot uint32) (bytes int) {
	page := int(slot / cellPage)
	if page >= len(c.pages) {
		return (c.grownLen(page)-len(c.pages))*bytesOfPointer + bytesOfPage
	}
	if c.pages[page] == nil {
		return bytesOfPage
	}
	return 0
}

// grownLen returns the number of pages after growing to hold page.
func (c *cells) grownLen(page int) int {
	return max(page+1, min(2*len(c.pages), wire.MaxSlots/cellPage))
}

// cellAt returns the cell of slot, allocating its page.
func (c *cells) cellAt(slot uint32) *cell {
	page := int(slot / cellPage)
	if page >= len(c.pages) {
		more := make([]*[cellPage]cell, c.grownLen(page))
		copy(more, c.pages)
		c.pages = more
	}
	if c.pages[page] == nil {
		c.pages[page] = new([cellPage]cell)
		c.made++
	}
	return &c.pages[page][slot%cellPage]
}

// findCell returns the cell of slot, or nil if its page is not allocated.
func (c *cells) findCell(slot uint32) *cell {
	if page := int(slot / cellPage); page < len(c.pages) && c.pages[page] != nil {
		return &c.pages[page][slot%cellPage]
	}
	return nil
}

// knownSlots yields the slots that records have named, ascending, with their cells.
func (c *cells) knownSlots() iter.Seq2[uint32, *cell] {
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

// verdictOn returns the verdict on h, which names this slot.
func (c *cell) verdictOn(h bulk.Handle) wire.Verdict {
	switch g := h.Generation(); {
	case g < c.generation:
		return wire.Stale
	case g > c.generation:
		return wire.Pending
	}
	return c.state
}

// setPlan notes the index of slot in the plan of a message.
func (c *cells) setPlan(slot uint32, i int) { c.cellAt(slot).plan = uint16(i) }

// setStale makes the tenants of slot stale, of all generations up to g.
func (c *cells) setStale(slot, g uint32) { *c.cellAt(slot) = cell{generation: g, state: wire.Stale} }
