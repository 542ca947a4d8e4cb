package bulk

import (
	"fmt"
	"iter"
	"math/bits"
	"reflect"
	"unsafe"
)

// Status describes a handle. A Stale handle is gone for good; an
// Unissued one may still be given out.
type Status uint8

const (
	// Unissued: no tenant ever had this handle. Its generation is ahead of the slot's, or
	// the handle is garbage: zero, an even generation, an index of MaxSlots or more.
	Unissued Status = iota
	// Stale: the tenant is gone, or its generation was skipped. Final.
	Stale
	// Live: Get returns the tenant.
	Live
)

// String is "unissued", "stale" or "live".
func (s Status) String() string { return name(s, "unissued", "stale", "live") }

// Get returns the tenant that h names, or nil unless h is live. It accepts any 64 bits.
// The pointer is valid until Remove; across a possible Remove, keep the handle instead.
func (p *Pool[T]) Get(h Handle) *T {
	// Expanded by hand to stay within the compiler's inlining budget.
	if i := uint32(h); i < p.usable {
		region, at := p.base, uintptr(i)
		if region == nil {
			region, at = p.regions[i>>(p.shift&31)], uintptr(i&p.mask)
		}
		if *(*uint32)(unsafe.Add(region, at*generationBytes)) == uint32(h>>32) && h>>32&1 != 0 {
			return (*T)(unsafe.Add(region, p.dataOffset+at*unsafe.Sizeof(*new(T))))
		}
	}
	return nil
}

// At returns the memory of a slot below Slots, live or not. For other slots it returns nil
// or meaningless memory. A free slot's contents are undefined and, except with Order
// FreeList, may be overwritten, so a loop may run over holes.
func (p *Pool[T]) At(index uint32) *T {
	if index >= p.usable {
		return nil
	}
	return p.slot(index)
}

// HandleAt returns the handle of the slot's tenant, or 0 if the slot is free.
func (p *Pool[T]) HandleAt(index uint32) Handle {
	if index < p.usable {
		region, at := p.base, uintptr(index)
		if region == nil {
			region, at = p.regions[index>>(p.shift&31)], uintptr(index&p.mask)
		}
		if g := *(*uint32)(unsafe.Add(region, at*generationBytes)); g&1 != 0 {
			return NewHandle(index, g)
		}
	}
	return 0
}

// Status classifies h. It accepts any 64 bits. Generations below FirstGeneration and
// above LastGeneration are Stale in every slot: an earlier run or another pool may have
// issued them.
func (p *Pool[T]) Status(h Handle) Status {
	i := h.Index()
	if !h.Valid() || i >= p.limit {
		return Unissued
	}
	current := p.first - 1 // slots without memory start at the first generation
	if uint64(i) < p.room {
		current = *p.generation(i)
		if current == 0 && p.dead.Has(i) {
			return Stale // retired (B3)
		}
	}
	switch {
	case h.Generation() == current:
		return Live
	case h.Generation() < current || h.Generation() > p.last:
		return Stale
	}
	return Unissued
}

// Len is the number of live slots.
func (p *Pool[T]) Len() int { return p.count }

// Slots is one more than the highest slot ever used. It never decreases: use it to size
// storage parallel to the pool.
func (p *Pool[T]) Slots() uint32 { return p.slots }

// Retired is the number of slots that have used up their generations (H4).
func (p *Pool[T]) Retired() int { return p.retired }

// Live is the set of live slots, to combine with others by And, Or and AndNot.
func (p *Pool[T]) Live() BitsetView { return p.live.View() }

// String returns a one-line summary.
func (p *Pool[T]) String() string {
	return fmt.Sprintf("bulk.Pool[%v]: %d live, %d slots used of %d, %d retired",
		reflect.TypeFor[T](), p.count, p.slots, p.limit, p.retired)
}

// All yields the live slots in ascending order. The pool may change during the iteration:
// each step goes to the next slot that is live by then. It skips slots that were removed
// meanwhile. It visits slots that were added meanwhile if they are below the initial Slots.
func (p *Pool[T]) All() iter.Seq2[Handle, *T] {
	return func(yield func(Handle, *T) bool) {
		// yield is called in one place only: the compiler inlines bodies of up to 800
		// nodes at a single call site, but of only 160 at two.
		end := p.slots
		for w, ok := p.live.nextWord(0); ok && w<<wordShift < end; w, ok = p.live.nextWord(w + 1) {
			generations, data := p.word(w)
			base, scope := w<<wordShift, allOnes
			if end-base < wordLen {
				scope = 1<<(end-base) - 1
			}
			word := p.live.words[w]
			for rest := word & scope; rest != 0; rest &= rest - 1 {
				bit := uint32(bits.TrailingZeros64(rest))
				if !yield(NewHandle(base|bit, generations[bit&wordMask]), &data[bit&wordMask]) {
					return
				}
				if now := p.live.words[w]; now != word { // the body added or removed a slot
					word = now
					rest = word&scope&(allOnes<<bit) | 1<<bit
				}
			}
		}
	}
}

// Word is 64 consecutive slots.
type Word[T any] struct {
	// Live is a bitmap of the live slots: bit i for Slots[i]. It is a copy made when
	// the word was reached.
	Live uint64
	// Slots is the memory of all 64 slots. Holes have undefined contents but may be read
	// and written, so a loop over a dense word may ignore Live. Such a loop also computes
	// on dead data: if values decay exponentially, it should flush denormals in holes too.
	Slots *[wordLen]T
}

// Words yields each word with at least one live slot, in ascending order, with its
// first slot's number: the fastest way to visit everything. Adding and removing during
// the iteration is safe: a word is read when it is reached, and words beyond the
// initial Slots are not visited.
func (p *Pool[T]) Words() iter.Seq2[uint32, Word[T]] {
	return func(yield func(uint32, Word[T]) bool) {
		end := p.slots
		for w, ok := p.live.nextWord(0); ok && w<<wordShift < end; w, ok = p.live.nextWord(w + 1) {
			_, slots := p.word(w)
			if !yield(w<<wordShift, Word[T]{Live: p.live.words[w], Slots: slots}) {
				return
			}
		}
	}
}
