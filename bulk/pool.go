package bulk

import (
	"fmt"
	"math/bits"
	"reflect"
	"unsafe"

	"github.com/worldd/worldd/internal/invariants"
)

// BlockLen is the number of slots in a block, the unit of allocation of pools
// and columns: 64 words of 64 slots, exactly one summary word.
const BlockLen = 1 << blockShift

const (
	blockShift = 12
	blockMask  = BlockLen - 1
	blockWords = BlockLen >> wordShift
)

// Pool stores values of T in slots that never move, and names them by Handles
// that never come to mean something else. Add, Remove and Get take constant
// time. With the default Order, the next handle that Add gives is a function of
// the set of live slots and their generations, not of the order in which others
// were freed.
//
// T may be any type. Pointer-free ones are free to the garbage collector
// however many they are; others cost it a scan of every block, holes included.
//
// Any number of goroutines may read at once while nobody adds or removes.
type Pool[T any] struct {
	base       unsafe.Pointer   // Reserved: the only region; else nil
	regions    []unsafe.Pointer // else: of slots i<<shift to (i+1)<<shift - 1
	dataOffset uintptr          // of the data in a region; generations are at 0
	room       uint64           // slots that have memory, a multiple of 64
	shift      uint32
	mask       uint32
	usable     uint32 // the lesser of room and limit
	hint       uint32 // LowestFree: no word below this is open (B4)
	free       uint64 // LowestFree: all that Add may take of the hint word, or 0: look (B4)
	clears     bool   // T has pointers: Remove lets go of what they point to
	special    bool   // Remove has more to do than usual
	count      int    // live
	slots      uint32 // high-water: one more than the highest slot ever used
	newest     uint32 // highest generation ever handed out
	live       Bitset
	open       Bitset // LowestFree: words with a slot neither live nor retired (B4)
	dead       Bitset // retired slots (B3)
	retired    int
	queue      queue  // FIFO: the holes (B9)
	limit      uint32 // MaxSlots
	first      uint32 // FirstGeneration
	order      Order
	memory     Memory
	poison     bool // freed data is overwritten with poisonByte
	mapping    []byte
	tags       []tag
}

// NewPool makes an empty pool, which allocates when it is first added to
// (Reserved: now, but only addresses). Its error wraps ErrOptions and holds all
// complaints, or ErrMemory.
func NewPool[T any](o Options) (*Pool[T], error) {
	if err := check[T](&o); err != nil {
		return nil, err
	}
	p := &Pool[T]{
		limit:   uint32(o.MaxSlots),
		first:   o.FirstGeneration,
		order:   o.Order,
		memory:  o.Memory,
		special: o.Order != LowestFree,
		clears:  hasPointers(reflect.TypeFor[T]()),
		poison:  invariants.Enabled && poisonable(reflect.TypeFor[T]()),
	}
	if err := p.layOut(); err != nil {
		return nil, err
	}
	return p, nil
}

// Add takes a hole (Options.Order says which) or, if there is none, the slot
// after the highest used. It returns the new tenant's handle and its memory,
// zeroed, which stays where it is until Remove; (0, nil) when full.
func (p *Pool[T]) Add() (Handle, *T) {
	// The rest of this word's free bits lives in p.free, and not only in the
	// live bits: from one Add to the next, that is a load, two operations and a
	// store to wait for. It is take, written out.
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
		p.turn(w, before)
	}
	if invariants.Enabled {
		invariants.Check(p.checkSlot(i))
	}
	return NewHandle(i, generation), t
}

// turn is the rest of Add for the first and the last of a word.
//
//go:noinline
func (p *Pool[T]) turn(w uint32, before uint64) {
	if before == 0 {
		p.live.mark(w)
	}
	p.shut(w)
}

// addElsewhere is Add where the hint does not help.
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

// lowestFree finds the lowest slot that is neither live nor retired, makes room
// for it, and moves the hint there.
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

// take makes a free slot live, under the generation after its last.
func (p *Pool[T]) take(i uint32) (Handle, *T) {
	region, at := p.place(i)
	g := (*uint32)(unsafe.Add(region, at*generationBytes))
	generation := *g + 1
	*g = generation
	if generation > p.newest {
		p.newest = generation
	}
	p.occupy(i>>wordShift, 1<<(i&wordMask))
	p.count++
	if i >= p.slots {
		p.slots = i + 1
	}
	// Zeroed again although Remove did: a loop over whole words may have
	// written to the hole since, and FreeList does.
	t := (*T)(unsafe.Add(region, p.dataOffset+at*unsafe.Sizeof(*new(T))))
	var zero T
	*t = zero
	if invariants.Enabled {
		invariants.Check(p.checkSlot(i))
	}
	return NewHandle(i, generation), t
}

// occupy sets live bits of a word.
func (p *Pool[T]) occupy(w uint32, taken uint64) {
	before := p.live.words[w]
	after := before | taken
	p.live.words[w] = after
	if before == 0 {
		p.live.mark(w)
	}
	if after == allOnes || p.retired != 0 {
		p.shut(w)
	}
}

// shut closes a word to Add if nothing is free in it.
func (p *Pool[T]) shut(w uint32) {
	if p.live.words[w]|p.dead.Word(w) == allOnes {
		p.open.Clear(w)
	}
}

// AddN adds n, the same slots that n times Add would take, and calls f for each
// in that order; or it adds nothing and returns an error that wraps ErrFull, if
// there are not n free slots. f must not add to the pool or remove from it. If
// f panics, what was reached so far is added, and up to 63 more.
func (p *Pool[T]) AddN(n int, f func(Handle, *T)) error {
	free := int64(p.limit) - int64(p.count) - int64(p.retired) - int64(p.headSlots())
	if int64(n) > free {
		return fmt.Errorf("%w: %d wanted, %d of %d slots free", ErrFull, n, free, p.limit)
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
			taken &^= 1 << (wordMask - bits.LeadingZeros64(taken)) // the highest
		}
		n -= bits.OnesCount64(taken)
		p.free &^= taken
		p.addWord(p.hint, taken, f)
	}
	return nil
}

// addWord makes free slots of one word live, and then reports them.
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
	p.occupy(w, taken)
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

// AddAt takes exactly the slot and the generation of h: for a replica, or for
// an image that is restored. Generations that are skipped count as used. It
// makes room up to that slot, which Options.MaxSlots bounds; with FreeList and
// FIFO, slots that are skipped become holes, at a cost for each.
//
// The error wraps ErrHandle if the generation is even, ErrLimit if the index is
// not below MaxSlots or is FreeList's own slot 0, ErrLive if the slot has a
// tenant, and ErrStale if the slot is retired or has been past that generation.
// Nothing has happened then.
func (p *Pool[T]) AddAt(h Handle) (*T, error) {
	i := h.Index()
	if !h.Valid() {
		return nil, fmt.Errorf("%w: %v has an even generation", ErrHandle, h)
	}
	if i >= p.limit || i < p.headSlots() {
		return nil, fmt.Errorf("%w: %v, limit %d", ErrLimit, h, p.limit)
	}
	if tenant := p.HandleAt(i); tenant != 0 {
		return nil, fmt.Errorf("%w: %v wanted, %v lives there", ErrLive, h, tenant)
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

// Remove frees the slot of h, and reports false, having done nothing, unless h
// is live. From here on h is Stale for ever. What a T with pointers held is let go;
// the bytes of any other stay in the hole, and mean nothing, until Add zeroes
// them (where checks are enabled, a pattern is written over numbers).
func (p *Pool[T]) Remove(h Handle) bool {
	i := h.Index()
	if i >= p.usable {
		return false
	}
	region, at := p.place(i)
	g := (*uint32)(unsafe.Add(region, at*generationBytes))
	if *g != h.Generation() || !h.Valid() {
		return false
	}
	*g++ // wraps to 0 at the maximum, which is even: nobody lives here
	if p.clears || invariants.Enabled {
		p.discard((*T)(unsafe.Add(region, p.dataOffset+at*unsafe.Sizeof(*new(T)))))
	}
	w := i >> wordShift
	before := p.live.words[w]
	after := before &^ (1 << (i & wordMask))
	p.live.words[w] = after
	p.count--
	if after == 0 || before == allOnes || w <= p.hint || p.special || h.Generation() == MaxGeneration {
		p.vacate(i, after)
	}
	if invariants.Enabled {
		invariants.Check(p.checkSlot(i))
	}
	return true
}

// RemoveWord frees those of the slots 64*w to 64*w+63 that are live and in mask, as
// Remove would one by one, and returns which these are.
func (p *Pool[T]) RemoveWord(w uint32, mask uint64) uint64 {
	mask &= p.live.Word(w)
	if mask == 0 {
		return 0
	}
	first, rest := w<<wordShift, mask
	region, at := p.place(first)
	generations := (*[wordLen]uint32)(unsafe.Add(region, at*generationBytes))
	plain := uint64(0) // those that Remove has nothing special to do for
	if !p.special && !p.clears && !invariants.Enabled && len(p.tags) == 0 {
		for ; rest != 0; rest &= rest - 1 {
			i := bits.TrailingZeros64(rest) & wordMask
			if generations[i] != MaxGeneration {
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

// vacateWord is vacate for slots of a word of a pool without tags, of order
// LowestFree. None of them retires.
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

// vacate is the rest of Remove, where there is any.
//
//go:noinline
func (p *Pool[T]) vacate(i uint32, after uint64) {
	w := i >> wordShift
	if after == 0 {
		p.live.unmark(w)
	}
	p.untag(i)
	retires := *p.generation(i) == 0
	if retires { // H4: nobody lives here ever again
		p.dead.Set(i)
		p.retired++
		p.special = true
	}
	switch {
	case p.order == LowestFree:
		free := ^(after | p.dead.Word(w))
		if free == 0 {
			break // it was shut before
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
