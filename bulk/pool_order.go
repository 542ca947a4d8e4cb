package bulk

import (
	"encoding/binary"
	"unsafe"
)

// FreeList is a circular, doubly linked list through the holes, so that AddAt can unlink
// any hole. Its head is slot 0, so the ends need no special cases. Links are checked before
// use: if a loop wrote to holes despite the documentation, the list is rebuilt from the
// live bits, lowest first. No slot is issued twice.

type links struct{ next, previous uint32 }

func (p *Pool[T]) linkBytes(i uint32) *[linkBytes]byte {
	return (*[linkBytes]byte)(unsafe.Pointer(p.slot(i)))
}

func (p *Pool[T]) link(i uint32) links {
	b := p.linkBytes(i)
	return links{binary.NativeEndian.Uint32(b[:4]), binary.NativeEndian.Uint32(b[4:])}
}

func (p *Pool[T]) setLinks(i, next, previous uint32) {
	b := p.linkBytes(i)
	binary.NativeEndian.PutUint32(b[:4], next)
	binary.NativeEndian.PutUint32(b[4:], previous)
}

func (p *Pool[T]) setNext(i, next uint32) {
	binary.NativeEndian.PutUint32(p.linkBytes(i)[:4], next)
}

func (p *Pool[T]) setPrevious(i, previous uint32) {
	binary.NativeEndian.PutUint32(p.linkBytes(i)[4:], previous)
}

// linkBetween inserts hole i between two entries.
func (p *Pool[T]) linkBetween(previous, i, next uint32) {
	if !p.isHole(next) || !p.isHole(previous) {
		p.relink()
		return
	}
	p.setLinks(i, next, previous)
	p.setPrevious(next, i)
	p.setNext(previous, i)
}

func (p *Pool[T]) unlink(i uint32) {
	l := p.link(i)
	if !p.isHole(l.next) || !p.isHole(l.previous) {
		p.relink()
		l = p.link(i)
	}
	p.setNext(l.previous, l.next)
	p.setPrevious(l.next, l.previous)
}

// isHole reports whether a slot may be in the list. The head may.
func (p *Pool[T]) isHole(i uint32) bool {
	return i < p.slots && *p.generation(i)&1 == 0 && (p.retired == 0 || !p.dead.Has(i))
}

// relink rebuilds the list from the live bits.
func (p *Pool[T]) relink() {
	p.setLinks(0, 0, 0)
	last := uint32(0)
	for i := uint32(1); i < p.slots; i++ {
		if p.isHole(i) {
			p.setLinks(i, 0, last)
			p.setNext(last, i)
			last = i
		}
	}
	p.setPrevious(0, last)
}

// popLink removes and returns the first hole, or returns a fresh slot.
func (p *Pool[T]) popLink() (uint32, bool) {
	if p.room > 0 {
		i := p.link(0).next
		if !p.isHole(i) {
			p.relink()
			i = p.link(0).next
		}
		if i != 0 {
			next := p.link(i).next
			if !p.isHole(next) {
				p.relink()
				i = p.link(0).next
				next = p.link(i).next
			}
			p.setNext(0, next)
			p.setPrevious(next, 0)
			return i, true
		}
	}
	return p.freshSlot()
}

// freshSlot returns the slot above the high-water mark.
func (p *Pool[T]) freshSlot() (uint32, bool) {
	i := max(p.slots, p.headSlots())
	if i >= p.limit {
		return 0, false
	}
	p.makeRoom(i)
	return i, true
}

// headSlots is the number of slots that the Order reserves for itself.
func (p *Pool[T]) headSlots() uint32 {
	if p.order == FreeList {
		return 1
	}
	return 0
}

// withdraw removes a slot from the list or queue, for AddAt.
func (p *Pool[T]) withdraw(i uint32) {
	if i < p.slots {
		if p.order == FreeList {
			p.unlink(i)
		} // FIFO: the slot's entry now holds an outdated generation
		return
	}
	// Skipped slots become holes; the lowest are used first.
	from := max(p.slots, p.headSlots())
	p.slots = i
	switch p.order {
	case FreeList:
		for hole := i; hole > from; hole-- {
			p.linkBetween(0, hole-1, p.link(0).next)
		}
	case FIFO:
		for hole := from; hole < i; hole++ {
			p.enqueue(hole)
		}
	}
}

// queue is FIFO's ring buffer of holes. An entry holds slot and generation: if AddAt has
// taken the slot since, the entry is recognised as outdated. A retired slot has generation 0
// again, which an entry from before its first tenant may hold too.
type queue struct {
	ring       []Handle // len is a power of two, or 0
	head, tail uint32   // head is the oldest entry; both increase and wrap
}

func (p *Pool[T]) entryHolds(h Handle) bool {
	return *p.generation(h.Index()) == h.Generation() && (p.retired == 0 || !p.dead.Has(h.Index()))
}

func (p *Pool[T]) enqueue(i uint32) {
	q := &p.queue
	if q.tail-q.head == uint32(len(q.ring)) {
		p.makeQueueRoom()
	}
	q.ring[q.tail&uint32(len(q.ring)-1)] = NewHandle(i, *p.generation(i))
	q.tail++
}

// makeQueueRoom drops outdated entries. Unless this frees half of the ring, it doubles the
// ring.
func (p *Pool[T]) makeQueueRoom() {
	q := &p.queue
	kept := uint32(0)
	for at := q.head; at != q.tail; at++ {
		if h := q.ring[at&uint32(len(q.ring)-1)]; p.entryHolds(h) {
			q.ring[(q.head+kept)&uint32(len(q.ring)-1)] = h
			kept++
		}
	}
	q.tail = q.head + kept
	if kept <= uint32(len(q.ring))/2 && kept < uint32(len(q.ring)) {
		return
	}
	ring := make([]Handle, max(wordLen, 2*len(q.ring)))
	for at := range kept {
		ring[at] = q.ring[(q.head+at)&uint32(len(q.ring)-1)]
	}
	*q = queue{ring: ring, tail: kept}
}

// popQueue removes and returns the oldest hole, or returns a fresh slot.
func (p *Pool[T]) popQueue() (uint32, bool) {
	q := &p.queue
	for q.head != q.tail {
		h := q.ring[q.head&uint32(len(q.ring)-1)]
		q.head++
		if p.entryHolds(h) {
			return h.Index(), true
		}
	}
	return p.freshSlot()
}
