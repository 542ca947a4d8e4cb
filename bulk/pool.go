package bulk

import (
	"fmt"
	"math/bits"
	"reflect"
	"unsafe"

	"github.com/worldd/worldd/internal/invariants"
)

// BlockLen is the number of slots in a block, the allocation unit of pools:
// 64 words of 64 slots, exactly one summary word.
const BlockLen = 1 << blockShift

const (
	blockShift = 12
	blockMask  = BlockLen - 1
	blockWords = BlockLen >> wordShift
)

// Pool stores values of T in slots that never move, and names them by Handles that are
// never reused. Add, Remove and Get take constant time. With the default Order, the
// next handle depends only on the set of live slots and their generations, not on the
// order of earlier frees.
//
// T may be any type. The garbage collector does not scan blocks of a pointer-free T. It
// scans all blocks of a T with pointers, including holes.
//
// Any number of goroutines may read concurrently while none adds or removes.
type Pool[T any] struct {
	base         unsafe.Pointer   // Reserved: the only region, otherwise nil
	regions      []unsafe.Pointer // other modes: region i holds slots i<<shift to (i+1)<<shift - 1
	dataOffset   uintptr          // offset of the data in a region; generations start at 0
	room         uint64           // number of slots with memory, a multiple of 64
	shift        uint32
	mask         uint32
	usable       uint32 // min(room, limit)
	hint         uint32 // LowestFree: no word below this is open (B4)
	free         uint64 // LowestFree: the hint word's free slots; 0 means unknown (B4)
	zeroOnRemove bool   // T has pointers, which Remove must clear
	slowRemove   bool   // Remove must call vacate
	count        int    // live
	slots        uint32 // high-water mark: one more than the highest slot ever used
	newest       uint32 // highest generation ever issued
	live         Bitset
	open         Bitset // LowestFree: words with a slot neither live nor retired (B4)
	dead         Bitset // retired slots (B3)
	retired      int
	queue        queue  // FIFO: the holes (B9)
	limit        uint32 // MaxSlots
	first        uint32 // FirstGeneration
	last         uint32 // LastGeneration
	order        Order
	memory       Memory
	poison       bool // freed data is overwritten with poisonByte
	mapping      []byte
	tags         []tag
}

// NewPool returns an empty pool. It allocates on the first Add, except for Reserved,
// which maps its address space now. The error wraps ErrOptions and lists every invalid
// option, or wraps ErrMemory.
func NewPool[T any](o Options) (*Pool[T], error) {
	if err := check[T](&o); err != nil {
		return nil, err
	}
	p := &Pool[T]{
		limit:        uint32(o.MaxSlots),
		first:        o.FirstGeneration,
		last:         o.LastGeneration,
		order:        o.Order,
		memory:       o.Memory,
		slowRemove:   o.Order != LowestFree,
		zeroOnRemove: hasPointers(reflect.TypeFor[T]()),
		poison:       invariants.Enabled && poisonable(reflect.TypeFor[T]()),
	}
	if err := p.layOut(); err != nil {
		return nil, err
	}
	return p, nil
}

// Add takes a hole, chosen by Options.Order, or the slot above the highest used. It
// returns the new tenant's handle and its zeroed memory, which does not move until
// Remove. When the pool is full, it returns (0, nil).
func (p *Pool[T]) Add() (Handle, *T) {
	// This repeats take inline. p.free caches the word's free bits: consecutive Adds then
	// depend on one load, two operations and one store.
	free := p.free
	if free == 0 {
		return p.addElsewhere()
	}
	rest := free & (free - 1)
	p.free = rest
	w := p.hint
	bit := uint32(bits.TrailingZeros64(free))
	i := w<<wordShift | bit
	region, at := p.base, uintptr(i)
	if region == nil {
		region, at = p.regions[i>>(p.shift&31)], uintptr(i&p.mask)
	}
	g := (*uint32)(unsafe.Add(region, at*generationBytes))
	generation := *g + 1
	*g = generation
	before := p.live.words[w]
	p.live.words[w] = before | 1<<(bit&wordMask)
	p.count++
	if i >= p.slots {
		p.slots = i + 1
	}
	if generation > p.newest {
		p.newest = generation
	}
	t := (*T)(unsafe.Add(region, p.dataOffset+at*unsafe.Sizeof(*new(T))))
	var zero T
	*t = zero
	if before == 0 || rest == 0 {
		p.addAtEdge(w, before)
	}
	if invariants.Enabled {
		invariants.Check(p.checkSlot(i))
	}
	return NewHandle(i, generation), t
}

// addAtEdge is the slow path of Add for a word's first and last slot.
//
//go:noinline
func (p *Pool[T]) addAtEdge(w uint32, before uint64) {
	if before == 0 {
		p.live.mark(w)
	}
	p.closeIfFull(w)
}

// addElsewhere is the slow path of Add, without the hint.
func (p *Pool[T]) addElsewhere() (Handle, *T) {
	var i uint32
	var ok bool
	switch p.order {
	case LowestFree:
		if i, ok = p.lowestFree(); ok {
			p.free &= p.free - 1
		}
	case FreeList:
		i, ok = p.popLink()
	case FIFO:
		i, ok = p.popQueue()
	}
	if !ok {
		return 0, nil
	}
	return p.take(i)
}

// lowestFree finds the lowest slot that is neither live nor retired, allocates it if
// necessary, and moves the hint there.
func (p *Pool[T]) lowestFree() (uint32, bool) {
	w, ok := p.open.Next(p.hint)
	if !ok {
		if p.room >= uint64(p.limit) {
			return 0, false
		}
		w = uint32(p.room >> wordShift)
		p.makeRoom(w << wordShift)
	}
	p.hint = w
	p.free = ^(p.live.words[w] | p.dead.Word(w)) // not 0: the word is open
	if below := p.limit - w<<wordShift; below < wordLen {
		p.free &= 1<<below - 1
	}
	return w<<wordShift | uint32(bits.TrailingZeros64(p.free)), p.free != 0
}

// take makes a free slot live under its next generation.
func (p *Pool[T]) take(i uint32) (Handle, *T) {
	region, at := p.locate(i)
	g := (*uint32)(unsafe.Add(region, at*generationBytes))
	generation := *g + 1
	*g = generation
	if generation > p.newest {
		p.newest = generation
	}
	p.setLive(i>>wordShift, 1<<(i&wordMask))
	p.count++
	if i >= p.slots {
		p.slots = i + 1
	}
	// Remove zeroed the slot, but a loop over whole words or FreeList may have written to
	// the hole since.
	t := (*T)(unsafe.Add(region, p.dataOffset+at*unsafe.Sizeof(*new(T))))
	var zero T
	*t = zero
	if invariants.Enabled {
		invariants.Check(p.checkSlot(i))
	}
	return NewHandle(i, generation), t
}

func (p *Pool[T]) setLive(w uint32, taken uint64) {
	before := p.live.words[w]
	after := before | taken
	p.live.words[w] = after
	if before == 0 {
		p.live.mark(w)
	}
	if after == allOnes || p.retired != 0 {
		p.closeIfFull(w)
	}
}

// closeIfFull marks a word as not open if it has no free slot.
func (p *Pool[T]) closeIfFull(w uint32) {
	if p.live.words[w]|p.dead.Word(w) == allOnes {
		p.open.Clear(w)
	}
}

// AddN adds n tenants in the slots that n calls of Add would take, and calls f for each
// in that order. Without n free slots it adds nothing and returns an error that wraps
// ErrFull. f must not add or remove. If f panics, the tenants reached so far are added,
// and up to 63 more.
func (p *Pool[T]) AddN(n int, f func(Handle, *T)) error {
	free := int64(p.limit) - int64(p.count) - int64(p.retired) - int64(p.headSlots())
	if int64(n) > free {
		return fmt.Errorf("%w: want %d slots, %d of %d are free", ErrFull, n, free, p.limit)
	}
	if p.order != LowestFree {
		for range n {
			f(p.Add())
		}
		return nil
	}
	for n > 0 {
		_, _ = p.lowestFree()
		taken := p.free
		for spare := bits.OnesCount64(taken) - n; spare > 0; spare-- {
			taken &^= 1 << (wordMask - bits.LeadingZeros64(taken)) // the highest set bit
		}
		n -= bits.OnesCount64(taken)
		p.free &^= taken
		p.addWord(p.hint, taken, f)
	}
	return nil
}

// addWord makes free slots of one word live, then calls f for each.
func (p *Pool[T]) addWord(w uint32, taken uint64, f func(Handle, *T)) {
	generations, data := p.word(w)
	newest := p.newest
	if taken == allOnes {
		clear(data[:])
		for i := range generations {
			generations[i]++
			newest = max(newest, generations[i])
		}
	} else {
		var zero T
		for rest := taken; rest != 0; rest &= rest - 1 {
			i := bits.TrailingZeros64(rest) & wordMask
			data[i] = zero
			generations[i]++
			newest = max(newest, generations[i])
		}
	}
	p.newest = newest
	p.setLive(w, taken)
	p.count += bits.OnesCount64(taken)
	p.slots = max(p.slots, w<<wordShift+uint32(bits.Len64(taken)))
	for rest := taken; rest != 0; rest &= rest - 1 {
		i := bits.TrailingZeros64(rest) & wordMask
		if invariants.Enabled {
			invariants.Check(p.checkSlot(w<<wordShift | uint32(i)))
		}
		f(NewHandle(w<<wordShift|uint32(i), generations[i]), &data[i])
	}
}

// AddAt takes exactly the slot and generation of h, for replicas and for restoring images.
// Skipped generations count as used. It allocates up to that slot, within Options.MaxSlots.
// With FreeList and FIFO, each skipped slot becomes a hole, which costs time.
//
// The error wraps ErrHandle if the generation is even, ErrLive if the slot has a
// tenant, and ErrStale if the slot is retired or past that generation. It wraps
// ErrLimit if the index is not below MaxSlots or is FreeList's slot 0, or if the
// generation is above LastGeneration. On error the pool is unchanged.
func (p *Pool[T]) AddAt(h Handle) (*T, error) {
	i := h.Index()
	if !h.Valid() {
		return nil, fmt.Errorf("%w: %v has an even generation", ErrHandle, h)
	}
	if i >= p.limit || i < p.headSlots() {
		return nil, fmt.Errorf("%w: %v, limit %d", ErrLimit, h, p.limit)
	}
	if h.Generation() > p.last {
		return nil, fmt.Errorf("%w: %v, last generation %d", ErrLimit, h, p.last)
	}
	if tenant := p.HandleAt(i); tenant != 0 {
		return nil, fmt.Errorf("%w: cannot add %v, the slot holds %v", ErrLive, h, tenant)
	}
	if p.Status(h) == Stale {
		return nil, fmt.Errorf("%w: %v", ErrStale, h)
	}
	p.makeRoom(i)
	if p.order != LowestFree {
		p.withdraw(i)
	}
	p.free = 0
	*p.generation(i) = h.Generation() - 1
	_, t := p.take(i)
	return t, nil
}

// Remove frees the slot of h and makes h Stale for ever. It returns false and does
// nothing unless h is live. Pointers in T are cleared at once; other data stays in the
// hole, undefined, until Add zeroes it (with checks enabled, numbers are overwritten by
// a pattern).
func (p *Pool[T]) Remove(h Handle) bool {
	i := h.Index()
	if i >= p.usable {
		return false
	}
	region, at := p.locate(i)
	g := (*uint32)(unsafe.Add(region, at*generationBytes))
	if *g != h.Generation() || !h.Valid() {
		return false
	}
	*g++ // even, so not live
	if p.zeroOnRemove || invariants.Enabled {
		p.discard((*T)(unsafe.Add(region, p.dataOffset+at*unsafe.Sizeof(*new(T)))))
	}
	w := i >> wordShift
	before := p.live.words[w]
	after := before &^ (1 << (i & wordMask))
	p.live.words[w] = after
	p.count--
	if after == 0 || before == allOnes || w <= p.hint || p.slowRemove || h.Generation() == p.last {
		p.vacate(i, after)
	}
	if invariants.Enabled {
		invariants.Check(p.checkSlot(i))
	}
	return true
}

// RemoveWord removes the live slots among 64*w to 64*w+63 that are in mask, as Remove
// would one by one, and returns their bits.
func (p *Pool[T]) RemoveWord(w uint32, mask uint64) uint64 {
	mask &= p.live.Word(w)
	if mask == 0 {
		return 0
	}
	first, rest := w<<wordShift, mask
	region, at := p.locate(first)
	generations := (*[wordLen]uint32)(unsafe.Add(region, at*generationBytes))
	plain := uint64(0) // slots that need no vacate
	if !p.slowRemove && !p.zeroOnRemove && !invariants.Enabled && len(p.tags) == 0 {
		for ; rest != 0; rest &= rest - 1 {
			i := bits.TrailingZeros64(rest) & wordMask
			if generations[i] != p.last {
				generations[i]++
				plain |= 1 << i
			}
		}
		p.vacateWord(w, plain)
	}
	for rest = mask &^ plain; rest != 0; rest &= rest - 1 {
		i := bits.TrailingZeros64(rest) & wordMask
		p.Remove(NewHandle(first|uint32(i), generations[i]))
	}
	return mask
}

// vacateWord vacates several slots of a word, in a LowestFree pool without tags. None of
// the slots may retire.
func (p *Pool[T]) vacateWord(w uint32, vacated uint64) {
	if vacated == 0 {
		return
	}
	p.live.SetWord(w, p.live.Word(w)&^vacated)
	p.count -= bits.OnesCount64(vacated)
	p.open.Set(w)
	if w < p.hint {
		p.hint, p.free = w, 0
	} else if w == p.hint && p.free != 0 {
		p.free |= vacated
	}
}

// vacate is the slow path of Remove, for pools that do more than clear a live bit.
//
//go:noinline
func (p *Pool[T]) vacate(i uint32, after uint64) {
	w := i >> wordShift
	if after == 0 {
		p.live.unmark(w)
	}
	p.untag(i)
	retires := *p.generation(i) == p.last+1
	if retires { // H4: the slot is never used again
		*p.generation(i) = 0
		p.dead.Set(i)
		p.retired++
		p.slowRemove = true
	}
	switch {
	case p.order == LowestFree:
		free := ^(after | p.dead.Word(w))
		if free == 0 {
			break // already closed
		}
		p.open.Set(w)
		if w < p.hint {
			p.hint, p.free = w, 0
		} else if w == p.hint && p.free != 0 && !retires {
			p.free |= 1 << (i & wordMask)
		}
	case retires:
	case p.order == FreeList:
		p.linkBetween(0, i, p.link(0).next)
	case p.order == FIFO:
		p.enqueue(i)
	}
}
