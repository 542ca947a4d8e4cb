package bulk

import (
	"errors"
	"fmt"
	"slices"
)

// ErrState: a PoolState contradicts itself, or is of a pool with other Options.
// The fault lies with whoever made it, or keeps it.
var ErrState = errors.New("bulk: not a state of this pool")

// PoolState is everything about a pool that later handles depend on, without
// the data: for an image of it. A pool that was given a state hands out the same
// handles from there on as the one that it was taken of, under every Order.
type PoolState struct {
	// FirstGeneration is that of Options.
	FirstGeneration uint32
	// Newest is the highest generation ever handed out, 0 if none was.
	Newest uint32
	// Generations are by slot, as long as Slots: odd for a live slot; even for a
	// hole, and then one below its next tenant's; 0 for a retired slot.
	Generations []uint32
	// Retired are the retired slots, ascending.
	Retired []uint32
	// Holes are the holes in the order in which Add takes them, for FreeList and
	// FIFO; empty for LowestFree, which finds them in Generations.
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

// copyGenerations copies the generations of slots from on, until a region ends,
// and says how many they were.
func (p *Pool[T]) copyGenerations(to []uint32, from uint32) uint32 {
	n := p.slots - from
	if p.base == nil {
		n = min(n, p.mask+1-from&p.mask)
	}
	region, at := p.place(from)
	copy(to[:n], generationsAt(region, at, n))
	return n
}

func (p *Pool[T]) appendLinked(list []uint32) []uint32 {
	if p.room == 0 {
		return list
	}
	if p.checkList() != nil {
		p.relink() // as the next Add would
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

// CheckState says whether SetState would take s: its error wraps ErrState, or
// ErrLimit for a state with more slots than MaxSlots.
func (p *Pool[T]) CheckState(s *PoolState) error { return s.check(p.order, p.limit) }

// SetState makes the pool's handles those of s. Whatever was in the pool is
// gone, tags are empty, and the data of the slots that are live in s are zero:
// fill them in by At. The error is CheckState's; nothing has happened then.
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
	p.special = p.order != LowestFree || p.retired > 0 || len(p.tags) > 0
	p.setHoles(s.Holes)
	return nil
}

// clearAll empties the pool, and keeps its memory and tags.
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

// setHoles rebuilds what Add finds holes by.
func (p *Pool[T]) setHoles(holes []uint32) {
	switch p.order {
	case LowestFree:
		for w := range uint32(p.room >> wordShift) {
			p.open.Set(w)
			p.shut(w) // B4: makeRoom has opened them all
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

// check says whether a pool of that order and limit can take the state.
func (s *PoolState) check(order Order, limit uint32) error {
	wrong := func(format string, args ...any) error {
		return fmt.Errorf("%w: "+format, append([]any{ErrState}, args...)...)
	}
	if uint64(len(s.Generations)) > uint64(limit) {
		return fmt.Errorf("%w: a state of %d slots, limit %d", ErrLimit, len(s.Generations), limit)
	}
	if s.FirstGeneration&1 == 0 || s.Newest != 0 && (s.Newest&1 == 0 || s.Newest < s.FirstGeneration) {
		return wrong("first generation %d, newest %d; both are odd, and in that order", s.FirstGeneration, s.Newest)
	}
	var taken Bitset // retired, or seen in Holes
	for _, i := range s.Retired {
		if uint64(i) >= uint64(len(s.Generations)) || s.Generations[i] != 0 || s.Newest != MaxGeneration || taken.Has(i) {
			return wrong("slot %d is retired", i)
		}
		taken.Set(i)
	}
	holes := 0
	most := max(uint64(s.Newest)+1, uint64(s.FirstGeneration-1))
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

// checkHoles wants each hole in Holes exactly once, where the order needs them.
func (s *PoolState) checkHoles(order Order, holes int, taken *Bitset) error {
	switch order {
	case LowestFree:
		holes = 0
	case FreeList:
		if len(s.Generations) > 0 {
			if s.Generations[0] != s.FirstGeneration-1 || taken.Has(0) {
				return fmt.Errorf("%w: slot 0 is FreeList's own, and has generation %d", ErrState, s.Generations[0])
			}
			taken.Set(0)
			holes--
		}
	}
	if len(s.Holes) != holes {
		return fmt.Errorf("%w: %d holes listed of %d, with Order %v", ErrState, len(s.Holes), holes, order)
	}
	for _, i := range s.Holes {
		if uint64(i) >= uint64(len(s.Generations)) || s.Generations[i]&1 != 0 || taken.Has(i) {
			return fmt.Errorf("%w: slot %d is listed as a hole", ErrState, i)
		}
		taken.Set(i)
	}
	return nil
}

// Renew moves every slot that is not retired on to one generation, which is
// more than skip above all that were handed out; it is FirstGeneration from
// then on. Live slots stay live, each under a new handle, and every handle of
// before is Stale: for a server that starts over from an image, and does not
// know what was handed out after it was taken (H5). The error wraps ErrState:
// the generations would be used up. Nothing has happened then.
func (s *PoolState) Renew(skip uint32) error {
	newest := max(uint64(s.Newest), uint64(s.FirstGeneration))
	first := ((newest + uint64(skip)) | 1) + 2
	if first >= MaxGeneration {
		return fmt.Errorf("%w: generation %d, and %d to skip, leave none below %d", ErrState, newest, skip, uint32(MaxGeneration))
	}
	s.FirstGeneration, s.Newest = uint32(first), 0
	for i, g := range s.Generations {
		s.Generations[i] = uint32(first) - 1
		if g&1 != 0 {
			s.Generations[i]++
			s.Newest = uint32(first)
		}
	}
	return nil
}
