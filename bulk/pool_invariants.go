package bulk

import (
	"fmt"
	"math/bits"
	"reflect"
	"slices"
	"unsafe"
)

// poisonByte fills freed data when checks are enabled. As a float32 or float64 it is
// finite, so loops over holes run at full speed without NaNs.
const poisonByte = 0xdb

// CheckInvariants audits B1 to B6, B9 and B10 over the whole pool and returns the first
// violation. It reads everything except the data: use it in tests.
func (p *Pool[T]) CheckInvariants() error {
	for _, s := range []*Bitset{&p.live, &p.open, &p.dead} {
		if err := s.CheckInvariants(); err != nil {
			return err
		}
	}
	usable := min(p.room, uint64(p.limit))
	if p.room&wordMask != 0 || uint64(p.usable) != usable || uint64(p.slots) > usable {
		return fmt.Errorf("bulk: B5: %d slots used, memory for %d, %d usable, limit %d", p.slots, p.room, p.usable, p.limit)
	}
	for i := uint64(0); i < p.room; i++ {
		if err := p.checkSlot(uint32(i)); err != nil {
			return err
		}
	}
	if err := p.checkOpen(); err != nil {
		return err
	}
	if err := p.checkCounts(); err != nil {
		return err
	}
	if err := p.checkTags(); err != nil {
		return err
	}
	switch p.order {
	case FreeList:
		return p.checkList()
	case FIFO:
		return p.checkQueue()
	}
	return nil
}

// checkSlot audits B2, B3, B5 and B6 for one slot.
func (p *Pool[T]) checkSlot(i uint32) error {
	generation := *p.generation(i)
	live, retired := p.live.Has(i), p.dead.Has(i)
	switch {
	case live != (generation&1 != 0):
		return fmt.Errorf("bulk: B2: slot %d: live bit %t, generation %d", i, live, generation)
	case live && (i >= p.limit || i < p.headSlots()):
		return fmt.Errorf("bulk: B3: slot %d is live but retired or beyond the limit %d", i, p.limit)
	case retired && generation != 0:
		return fmt.Errorf("bulk: B3: slot %d is retired at generation %d, not 0", i, generation)
	case i >= p.slots && (live || generation != p.first-1):
		return fmt.Errorf("bulk: B5: slot %d was used, but the high-water mark is %d", i, p.slots)
	case !retired && (generation < p.first-1 || uint64(generation) > maxGeneration(p.first, p.newest)):
		return fmt.Errorf("bulk: B6: slot %d: generation %d, first %d, newest %d", i, generation, p.first, p.newest)
	}
	return nil
}

// checkOpen audits B4.
func (p *Pool[T]) checkOpen() error {
	if p.order != LowestFree {
		if p.open.Any() {
			return fmt.Errorf("bulk: B4: Order %v must not have open words", p.order)
		}
		return nil
	}
	for w := range uint32(p.room >> wordShift) {
		open := p.live.words[w]|p.dead.Word(w) != allOnes
		if open != p.open.Has(w) {
			return fmt.Errorf("bulk: B4: word %d is open: %t, marked open: %t", w, open, !open)
		}
		if open && w < p.hint {
			return fmt.Errorf("bulk: B4: word %d is open, below the hint %d", w, p.hint)
		}
	}
	if p.free != 0 {
		all := ^(p.live.words[p.hint] | p.dead.Word(p.hint))
		if below := p.limit - p.hint<<wordShift; below < wordLen {
			all &= 1<<below - 1
		}
		if p.free != all {
			return fmt.Errorf("bulk: B4: free bits of word %d are %#x, cached as %#x", p.hint, all, p.free)
		}
	}
	if w, ok := p.open.Next(uint32(p.room >> wordShift)); ok {
		return fmt.Errorf("bulk: B4: word %d is open and has no memory", w)
	}
	return nil
}

// checkCounts audits B5's counters.
func (p *Pool[T]) checkCounts() error {
	if live, retired := p.live.Count(), p.dead.Count(); p.count != live || p.retired != retired {
		return fmt.Errorf("bulk: B5: counters say %d live and %d retired, found %d and %d", p.count, p.retired, live, retired)
	}
	if i, ok := p.live.Next(p.slots); ok {
		return fmt.Errorf("bulk: B2: slot %d is live, but the high-water mark is %d", i, p.slots)
	}
	return nil
}

// checkTags audits B10.
func (p *Pool[T]) checkTags() error {
	for _, t := range p.tags {
		if err := t.set.CheckInvariants(); err != nil {
			return fmt.Errorf("tag %q: %w", t.name, err)
		}
		for w, stray := range AndNot(t.set.View(), p.live.View()) {
			return fmt.Errorf("bulk: B10: tag %q is set on slot %d, which is not live", t.name, w<<wordShift+uint32(bits.TrailingZeros64(stray)))
		}
	}
	return nil
}

// checkList audits B9 for FreeList: a circular list through all holes, consistent in
// both directions.
func (p *Pool[T]) checkList() error {
	if p.room == 0 {
		return nil
	}
	holes := p.holes()
	at := uint32(0)
	for n := 0; ; n++ {
		next := p.link(at).next
		if !p.isHole(next) || p.link(next).previous != at || n > holes {
			return fmt.Errorf("bulk: B9: the list breaks between %d and %d, at hole %d of %d: were holes written to?", at, next, n, holes)
		}
		at = next
		if at == 0 {
			if n != holes {
				return fmt.Errorf("bulk: B9: %d of %d holes are in the list", n, holes)
			}
			return nil
		}
	}
}

// checkQueue audits B9 for FIFO: each hole has exactly one current entry.
func (p *Pool[T]) checkQueue() error {
	q := &p.queue
	var seen Bitset
	for at := q.head; at != q.tail; at++ {
		h := q.ring[at&uint32(len(q.ring)-1)]
		if !p.entryHolds(h) {
			continue
		}
		if !p.isHole(h.Index()) || seen.Has(h.Index()) {
			return fmt.Errorf("bulk: B9: %v is queued twice or is not a hole", h)
		}
		seen.Set(h.Index())
	}
	if n := seen.Count(); n != p.holes() {
		return fmt.Errorf("bulk: B9: %d of %d holes are queued", n, p.holes())
	}
	return nil
}

// holes counts the reusable slots below the high-water mark.
func (p *Pool[T]) holes() int {
	return int(max(p.slots, p.headSlots())-p.headSlots()) - p.count - p.retired
}

// discard releases the memory to which a dead tenant points. When checks are enabled, it
// also poisons the memory to expose use after free.
func (p *Pool[T]) discard(t *T) {
	if p.zeroOnRemove {
		var zero T
		*t = zero
	}
	if !p.poison {
		return
	}
	b := unsafe.Slice((*byte)(unsafe.Pointer(t)), unsafe.Sizeof(*t))
	for i := range b {
		b[i] = poisonByte
	}
}

// poisonable reports whether a T may hold arbitrary bytes. Numbers may. Pointers may not,
// and bools have only two valid patterns.
func poisonable(t reflect.Type) bool {
	switch k := t.Kind(); k {
	case reflect.Array:
		return poisonable(t.Elem())
	case reflect.Struct:
		return !slices.ContainsFunc(reflect.VisibleFields(t), func(f reflect.StructField) bool { return !poisonable(f.Type) })
	default:
		return k >= reflect.Int && k <= reflect.Complex128 && k != reflect.Uintptr
	}
}
