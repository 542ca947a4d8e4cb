package bulk

import (
	"fmt"
	"iter"
	"math/bits"
	"reflect"
	"unsafe"
)

// Status is what a pool knows about a handle. The three answers differ: a
// Stale one is gone for good, an Unissued one may yet come.
type Status uint8

const (
	// Unissued: no tenant was ever given this handle. It lies ahead of its slot,
	// or is garbage: zero, an even generation, an index beyond MaxSlots.
	Unissued Status = iota
	// Stale: the tenant is gone, or its generation was skipped. Final.
	Stale
	// Live: Get returns the tenant.
	Live
)

// String is "unissued", "stale" or "live".
func (s Status) String() string {
	switch s {
	case Unissued:
		return "unissued"
	case Stale:
		return "stale"
	case Live:
		return "live"
	}
	return fmt.Sprintf("Status(%d)", uint8(s))
}

// Get returns the tenant that h names, or nil unless it is live. It accepts any
// 64 bits. The pointer stays good until Remove; keep the handle instead, if
// that could come in between.
func (p *Pool[T]) Get(h Handle) *T {
	// Written out, to stay below what the compiler inlines.
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

// At returns the memory of a slot below Slots, live or not; others give nil or
// memory without meaning. What a free slot holds is undefined, and may be
// written to, except with Order FreeList: that is what lets a loop run over holes.
func (p *Pool[T]) At(index uint32) *T {
	if index >= p.usable {
		return nil
	}
	return p.slot(index)
}

// HandleAt returns the handle of a slot's tenant, or 0 if it has none.
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

// Status tells what is known about h. It accepts any 64 bits. Generations below
// FirstGeneration are Stale in all slots: an earlier run may have given them.
func (p *Pool[T]) Status(h Handle) Status {
	i := h.Index()
	if !h.Valid() || i >= p.limit {
		return Unissued
	}
	current := p.first - 1 // of every slot that has no memory yet
	if uint64(i) < p.room {
		current = *p.generation(i)
		if current == 0 && p.dead.Has(i) {
			return Stale // retired (B3)
		}
	}
	switch {
	case h.Generation() == current:
		return Live
	case h.Generation() < current:
		return Stale
	}
	return Unissued
}

// Len is the number of live slots.
func (p *Pool[T]) Len() int { return p.count }

// Slots is one more than the highest slot ever used. It never falls: it is the
// size for storage parallel to the pool.
func (p *Pool[T]) Slots() uint32 { return p.slots }

// Retired is the number of slots whose generations are used up (H4).
func (p *Pool[T]) Retired() int { return p.retired }

// MaxGenerationUsed is the highest generation that Add or AddAt ever gave, 0 if
// none: what a server that saves its world must skip ahead of (H5).
func (p *Pool[T]) MaxGenerationUsed() uint32 { return p.newest }

// Live is the set of live slots, kept up to date, to combine with others by And,
// Or and AndNot. It is the pool's own: do not write to it.
func (p *Pool[T]) Live() *Bitset { return &p.live }

// String is a summary for people.
func (p *Pool[T]) String() string {
	return fmt.Sprintf("bulk.Pool[%v]: %d live, %d slots used of %d, %d retired",
		reflect.TypeFor[T](), p.count, p.slots, p.limit, p.retired)
}

// All yields the live slots in ascending order. The pool may change meanwhile,
// and what is yielded is always live: each step goes to the lowest live slot
// above the last one. So what is removed ahead is not visited; what is added is
// visited if its slot lies ahead, and below what Slots was at the beginning.
func (p *Pool[T]) All() iter.Seq2[Handle, *T] {
	return func(yield func(Handle, *T) bool) {
		// One call of yield, and no more: the compiler inlines bodies of up to 800
		// nodes at one place, and of 160 at two.
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
				if now := p.live.words[w]; now != word { // the body added or removed
					word = now
					rest = word&scope&(allOnes<<bit) | 1<<bit
				}
			}
		}
	}
}

// Word is 64 neighbouring slots.
type Word[T any] struct {
	// Live says which slots are live: bit i for Slots[i]. It is a copy, made
	// when the word was reached.
	Live uint64
	// Slots are the memory of all 64. What holes hold is undefined, but may be
	// read and written: a loop over a dense word may ignore Live. It computes on
	// what the dead left then: a loop that lets numbers decay for ever should
	// stop short of denormal ones, in holes as among the living.
	Slots *[wordLen]T
}

// Words yields the words that have a live slot, ascending, with the number of
// the first slot of each: the fast way to visit everything. Removing and adding
// meanwhile is safe; a word counts as it is when it is reached, and words that
// begin at what Slots was at the beginning, or later, are not visited.
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
