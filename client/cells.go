package client

import (
	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/internal/fault"
	"github.com/worldd/worldd/replication/wire"
)

// cell is all that a client remembers of one slot: the newest generation it
// ever heard of and what became of it. One cell a slot is what makes the
// verdict on any handle exact in O(slots) memory.
type cell struct {
	now, prior tenancy
	state      wire.Verdict // of now; Pending: never heard of
	entity     *Entity      // of now, if Live
}

// tenancy is one generation's hold on a slot, as a datagram may refer to it:
// datagrams name slots, and stand on a structure number that tells which
// tenancy they mean.
type tenancy struct {
	generation uint32
	since      uint32 // structure number at which it began
	mask       uint32 // components of its rows
}

const cellPage = 1024

// cells is a table of cells by slot, a page at a time, so that memory follows
// the slots that are used and not the largest index named.
type cells struct {
	pages []*[cellPage]cell
}

// at returns the cell of slot for writing.
func (c *cells) at(slot uint32) *cell {
	page := int(slot / cellPage)
	for page >= len(c.pages) {
		c.pages = append(c.pages, nil)
	}
	if c.pages[page] == nil {
		c.pages[page] = new([cellPage]cell)
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

// begin starts a tenancy at structure number since.
func (c *cell) begin(generation, since, mask uint32) {
	c.prior = c.now
	c.now = tenancy{generation: generation, since: since, mask: mask}
}

// asOf returns the tenancy that held the slot when structure number s was the
// newest. It fails when the slot changed hands more than once since.
func (c *cell) asOf(s uint32) (tenancy, bool) {
	switch {
	case c.now.generation != 0 && (c.now.since <= s || fault.PresentTenant):
		return c.now, true
	case c.prior.generation != 0 && c.prior.since <= s:
		return c.prior, true
	}
	return tenancy{}, false
}

// resolve says what became of h, whose slot this is.
func (c *cell) resolve(h bulk.Handle) wire.Verdict {
	switch g := h.Generation(); {
	case fault.IgnoreGeneration:
		return c.state
	case g < c.now.generation:
		return wire.Stale
	case g > c.now.generation:
		return wire.Pending
	}
	return c.state
}
