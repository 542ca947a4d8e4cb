package bulk

import (
	"errors"
	"fmt"
	"math"
	"slices"
)

// ErrState: a PoolState is inconsistent, or belongs to a pool with other Options. The
// party that produced or stored it is at fault.
var ErrState = errors.New("bulk: not a state of this pool")

// PoolState is the state of a pool that determines later handles, without the data, for use
// in images. A pool restored from a state issues the same handles as the original pool did
// from then on, with every Order.
type PoolState struct {
	// FirstGeneration is Options.FirstGeneration.
	FirstGeneration uint32
	// Newest is the highest generation ever issued, or 0.
	Newest uint32
	// Generations holds each slot's generation, for all of Slots: odd for a live slot,
	// even (one below its next tenant's) for a hole, 0 for a retired slot.
	Generations []uint32
	// Retired lists the retired slots, ascending.
	Retired []uint32
	// Holes lists the holes in the order in which Add takes them, for FreeList and
	// FIFO. It is empty for LowestFree, which finds holes in Generations.
	Holes []uint32
}

// State copies the pool's state into s, reusing its memory.
func (p *Pool[T]) State(s *PoolState) {
	s.FirstGeneration, s.Newest = p.first, p.newest
	s.Generations = slices.Grow(s.Generations[:0], int(p.slots))[:p.slots]
	for from := uint32(0); from < p.slots; {
		n := p.copyGenerations(s.Generations[from:], from)
		from += n
	}
	s.Retired = p.dead.AppendTo(s.Retired[:0])
	s.Holes = s.Holes[:0]
	switch p.order {
	case FreeList:
		s.Holes = p.appendLinked(s.Holes)
	case FIFO:
		s.Holes = p.appendQueued(s.Holes)
	}
}

// copyGenerations copies generations starting at slot from, up to the end of its
// region, and returns how many.
func (p *Pool[T]) copyGenerations(to []uint32, from uint32) uint32 {
	n := p.slots - from
	if p.base == nil {
		n = min(n, p.mask+1-from&p.mask)
	}
	region, at := p.locate(from)
	copy(to[:n], generationsAt(region, at, n))
	return n
}

func (p *Pool[T]) appendLinked(list []uint32) []uint32 {
	if p.room == 0 {
		return list
	}
	if p.checkList() != nil {
		p.relink() // the next Add would do the same
	}
	for at := p.link(0).next; at != 0; at = p.link(at).next {
		list = append(list, at)
	}
	return list
}

func (p *Pool[T]) appendQueued(list []uint32) []uint32 {
	q := &p.queue
	for at := q.head; at != q.tail; at++ {
		if h := q.ring[at&uint32(len(q.ring)-1)]; p.entryHolds(h) {
			list = append(list, h.Index())
		}
	}
	return list
}

// CheckState reports whether SetState would accept s. The error wraps ErrState, or
// ErrLimit for more slots than MaxSlots.
func (p *Pool[T]) CheckState(s *PoolState) error { return s.check(p.order, p.limit, p.last) }

// CheckRenewable is like CheckState, for a state that Renew moves into the pool's range
// before SetState: its generations may be above LastGeneration, and above MaxGeneration.
func (p *Pool[T]) CheckRenewable(s *PoolState) error {
	return s.check(p.order, p.limit, math.MaxUint32)
}

// SetState replaces the pool's contents by the handles in s, and empties the tags. Live
// slots hold zero data: fill them through At. It fails as CheckState does, and then changes
// nothing.
func (p *Pool[T]) SetState(s *PoolState) error {
	if err := p.CheckState(s); err != nil {
		return err
	}
	p.clearAll()
	p.first, p.newest = s.FirstGeneration, s.Newest
	slots := uint32(len(s.Generations))
	for at := range uint32(p.room) {
		*p.generation(at) = p.first - 1
	}
	if slots > 0 {
		p.makeRoom(slots - 1)
	}
	p.slots = slots
	for i, g := range s.Generations {
		*p.generation(uint32(i)) = g
		if g&1 != 0 {
			p.live.Set(uint32(i))
			p.count++
		}
	}
	for _, i := range s.Retired {
		p.dead.Set(i)
	}
	p.retired = len(s.Retired)
	p.slowRemove = p.order != LowestFree || p.retired > 0 || len(p.tags) > 0
	p.setHoles(s.Holes)
	return nil
}

// clearAll empties the pool but keeps its memory and tags.
func (p *Pool[T]) clearAll() {
	var zero T
	for i := range uint32(p.room) {
		*p.slot(i) = zero
	}
	for _, set := range []*Bitset{&p.live, &p.open, &p.dead} {
		set.Reset()
	}
	for _, t := range p.tags {
		t.set.Reset()
	}
	p.hint, p.free, p.count, p.slots = 0, 0, 0, 0
	p.queue = queue{}
}

// setHoles rebuilds the structures in which Add finds holes.
func (p *Pool[T]) setHoles(holes []uint32) {
	switch p.order {
	case LowestFree:
		for w := range uint32(p.room >> wordShift) {
			p.open.Set(w)
			p.closeIfFull(w) // B4: makeRoom has opened every word
		}
	case FreeList:
		if p.room == 0 {
			return
		}
		p.slots = max(p.slots, p.headSlots())
		last := uint32(0)
		for _, i := range holes {
			p.setPrevious(i, last)
			p.setNext(last, i)
			last = i
		}
		p.setNext(last, 0)
		p.setPrevious(0, last)
	case FIFO:
		for _, i := range holes {
			p.enqueue(i)
		}
	}
}

// check reports whether a pool with this order, limit and last generation can accept s.
func (s *PoolState) check(order Order, limit, last uint32) error {
	wrong := func(format string, args ...any) error {
		return fmt.Errorf("%w: "+format, append([]any{ErrState}, args...)...)
	}
	if uint64(len(s.Generations)) > uint64(limit) {
		return fmt.Errorf("%w: the state has %d slots, the limit is %d", ErrLimit, len(s.Generations), limit)
	}
	if s.FirstGeneration&1 == 0 || s.Newest != 0 && (s.Newest&1 == 0 || s.Newest < s.FirstGeneration) {
		return wrong("first generation %d, newest %d; both must be odd and ascending", s.FirstGeneration, s.Newest)
	}
	if max(s.Newest, s.FirstGeneration) > last {
		return wrong("first generation %d, newest %d; the pool's last is %d", s.FirstGeneration, s.Newest, last)
	}
	var taken Bitset // retired, or seen in Holes
	for _, i := range s.Retired {
		if uint64(i) >= uint64(len(s.Generations)) || s.Generations[i] != 0 || s.Newest == 0 || taken.Has(i) {
			return wrong("slot %d is retired", i)
		}
		taken.Set(i)
	}
	holes := 0
	most := maxGeneration(s.FirstGeneration, s.Newest)
	for i, g := range s.Generations {
		if taken.Has(uint32(i)) {
			continue
		}
		if g < s.FirstGeneration-1 || uint64(g) > most {
			return wrong("slot %d has generation %d; first %d, newest %d", i, g, s.FirstGeneration, s.Newest)
		}
		if g&1 == 0 {
			holes++
		}
	}
	return s.checkHoles(order, holes, &taken)
}

// maxGeneration returns the highest generation that a slot can have, in a hole, if newest is the highest one
// ever issued.
func maxGeneration(first, newest uint32) uint64 {
	if newest == 0 {
		return uint64(first - 1)
	}
	return uint64(newest) + 1
}

// checkHoles requires each hole exactly once in Holes if the order uses them.
func (s *PoolState) checkHoles(order Order, holes int, taken *Bitset) error {
	switch order {
	case LowestFree:
		holes = 0
	case FreeList:
		if len(s.Generations) > 0 {
			if s.Generations[0] != s.FirstGeneration-1 || taken.Has(0) {
				return fmt.Errorf("%w: slot 0 is reserved for FreeList, but has generation %d", ErrState, s.Generations[0])
			}
			taken.Set(0)
			holes--
		}
	}
	if len(s.Holes) != holes {
		return fmt.Errorf("%w: %d of %d holes are listed, with Order %v", ErrState, len(s.Holes), holes, order)
	}
	for _, i := range s.Holes {
		if uint64(i) >= uint64(len(s.Generations)) || s.Generations[i]&1 != 0 || taken.Has(i) {
			return fmt.Errorf("%w: slot %d must not be listed as a hole", ErrState, i)
		}
		taken.Set(i)
	}
	return nil
}

// Renewal says to which generations PoolState.Renew moves a pool.
type Renewal struct {
	// First and Last are the FirstGeneration and LastGeneration of the pool that receives the state. Their range
	// must be free: no other pool issues its generations, and nobody keeps handles with them.
	First, Last uint32
	// Known is the newest generation that other states of the same slots are known to have issued, or 0.
	Known uint32
	// Skip is the number of generations above Known and above PoolState.Newest that may have been issued too.
	Skip uint32
}

// Renew moves every slot that is not retired to one new generation, which becomes FirstGeneration. It is r.First, or if
// some of the range may have been issued before as far as s and r know, the first generation above all that may. Live
// slots stay live under new handles; all earlier handles become Stale (B11). Use Renew when a server restarts from an
// image and does not know which handles the earlier run issued after that image (H5). If no generations
// are left in the range, the error wraps ErrState and s is unchanged.
func (s *PoolState) Renew(r Renewal) error {
	first := uint64(r.First | 1)
	skip := func(from, newest uint32) {
		if from <= r.Last { // otherwise the range is below
			first = max(first, ((uint64(newest)+uint64(r.Skip))|1)+2)
		}
	}
	skip(s.FirstGeneration, max(s.Newest, s.FirstGeneration))
	if r.Known != 0 {
		skip(r.Known, r.Known)
	}
	if first >= uint64(r.Last) {
		return fmt.Errorf("%w: its generations %d to %d, those up to %d, and the %d above each leave none of %d to %d", ErrState, s.FirstGeneration, s.Newest, r.Known, r.Skip, r.First, r.Last)
	}
	s.FirstGeneration, s.Newest = uint32(first), 0
	for i, g := range s.Generations {
		s.Generations[i] = uint32(first) - 1
		if g&1 != 0 {
			s.Generations[i]++
			s.Newest = uint32(first)
		}
	}
	for _, i := range s.Retired {
		s.Generations[i] = 0
	}
	return nil
}

// Renamed returns what h is after Renew has moved s, the state before it, to the generation first. If h was live, it is the new
// handle of the same tenant. A handle that was not live, but is valid, gets GoneGeneration: a pool that
// reuses an earlier range would issue it again. Others name nothing and stay as they are.
func (s *PoolState) Renamed(h Handle, first uint32) Handle {
	switch i := h.Index(); {
	case !h.Valid():
		return h
	case uint64(i) < uint64(len(s.Generations)) && s.Generations[i] == h.Generation():
		return NewHandle(i, first)
	default:
		return NewHandle(i, GoneGeneration)
	}
}
