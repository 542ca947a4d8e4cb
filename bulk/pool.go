package bulk

import (
	"errors"
	"fmt"
	"math"
	"math/bits"
	"reflect"

	"github.com/worldd/worldd/internal/invariants"
)

// BlockLen is the number of slots in a block, the unit of allocation of pools
// and columns: 64 words of 64 slots, exactly one summary word.
const BlockLen = 1 << blockShift

const (
	blockShift = 12
	blockMask  = BlockLen - 1
	blockWords = BlockLen >> wordShift

	defaultMaxSlots        = 1 << 24
	defaultFirstGeneration = 1
)

// Errors of pools. Those returned wrap one of these and say more.
var (
	// ErrOptions: the caller's Options make no sense.
	ErrOptions = errors.New("bulk: bad options")
	// ErrFull: every slot up to MaxSlots is live or retired.
	ErrFull = errors.New("bulk: pool is full")
	// ErrLive: the slot has a tenant, this one or another.
	ErrLive = errors.New("bulk: slot is live")
	// ErrStale: the slot is past that generation, or retired.
	ErrStale = errors.New("bulk: handle is stale")
	// ErrLimit: the index is not below MaxSlots.
	ErrLimit = errors.New("bulk: slot is beyond the pool's limit")
)

// Options of a pool. The zero value means the defaults.
type Options struct {
	// MaxSlots bounds the pool, and thereby the memory that a peer which names
	// slots can make AddAt allocate. Default 1<<24, at most 1<<32 - 1.
	MaxSlots int
	// FirstGeneration is the generation of each slot's first tenant; it must be
	// odd. A restarted server sets it above every generation that it may have
	// handed out before (H5): older ones are then Stale, in every slot. Default 1.
	FirstGeneration uint32
}

// Pool stores values of T in slots that never move, and names them by Handles
// that never come to mean something else. Add, Remove and Get take constant
// time. The next handle that Add gives is a function of the set of live slots
// and their generations, not of the order in which others were freed.
//
// T may be any type. Pointer-free ones are free to the garbage collector
// however many they are; others cost it a scan of every block, holes included.
//
// Any number of goroutines may read at once while nobody adds or removes.
type Pool[T any] struct {
	blocks     []*block[T]
	live       Bitset
	fullBlocks []uint64 // bit b: blocks[b] has no free slot (B4)
	openWord   int      // every word of fullBlocks below this is all ones (B4)
	limit      uint32   // MaxSlots
	first      uint32   // FirstGeneration
	slots      uint32   // high-water: one more than the highest slot ever used
	newest     uint32   // highest generation ever handed out
	count      int      // live
	retired    int
	poison     bool // freed data is overwritten with poisonByte
}

// block is one allocation. What allocation of slots looks at comes first.
type block[T any] struct {
	full        uint64             // bit w: taken[w] is all ones (B4)
	taken       [blockWords]uint64 // live, retired, or not below the limit (B3)
	generations [BlockLen]uint32   // odd: live; even: free, the next tenant gets one more (B2)
	data        [BlockLen]T
}

// NewPool makes an empty pool, which allocates its first block when it is first
// added to. Its error wraps ErrOptions and holds all complaints.
func NewPool[T any](o Options) (*Pool[T], error) {
	if o.MaxSlots == 0 {
		o.MaxSlots = defaultMaxSlots
	}
	if o.FirstGeneration == 0 {
		o.FirstGeneration = defaultFirstGeneration
	}
	var complaints []error
	if o.MaxSlots < 0 || uint64(o.MaxSlots) > math.MaxUint32 {
		complaints = append(complaints, fmt.Errorf("%w: MaxSlots is %d; want 1 to 1<<32 - 1, or 0 for %d",
			ErrOptions, o.MaxSlots, defaultMaxSlots))
	}
	if o.FirstGeneration&1 == 0 {
		complaints = append(complaints, fmt.Errorf("%w: FirstGeneration is %d; want an odd number, or 0 for %d",
			ErrOptions, o.FirstGeneration, defaultFirstGeneration))
	}
	if err := errors.Join(complaints...); err != nil {
		return nil, err
	}
	return &Pool[T]{
		limit:  uint32(o.MaxSlots),
		first:  o.FirstGeneration,
		poison: invariants.Enabled && poisonable(reflect.TypeFor[T]()),
	}, nil
}

// Add takes the lowest free slot. It returns the new tenant's handle and its
// memory, zeroed, which stays where it is until Remove; (0, nil) when full.
func (p *Pool[T]) Add() (Handle, *T) {
	n, ok := p.openBlock()
	if !ok {
		return 0, nil
	}
	b := p.blocks[n]
	w := bits.TrailingZeros64(^b.full)
	bit := bits.TrailingZeros64(^b.taken[w&(blockWords-1)])
	i := uint32(n)<<blockShift | uint32(w)<<wordShift | uint32(bit)
	generation := b.generations[i&blockMask] + 1
	return NewHandle(i, generation), p.take(b, i, generation)
}

// AddN adds n, lowest slots first, and calls f for each, in ascending order of
// slots; or it adds nothing and returns an error that wraps ErrFull, if there
// are not n free slots. f must not add to the pool or remove from it.
func (p *Pool[T]) AddN(n int, f func(Handle, *T)) error {
	if free := int64(p.limit) - int64(p.count) - int64(p.retired); int64(n) > free {
		return fmt.Errorf("%w: %d wanted, %d of %d slots free", ErrFull, n, free, p.limit)
	}
	for range n {
		f(p.Add())
	}
	return nil
}

// AddAt takes exactly the slot and the generation of h: for a replica, or for
// an image that is restored. Generations that are skipped count as used. It
// allocates every block up to that slot, which Options.MaxSlots bounds.
//
// The error wraps ErrHandle if the generation is even, ErrLimit if the index is
// not below MaxSlots, ErrLive if the slot has a tenant, and ErrStale if the
// slot is retired or has been past that generation. Nothing has happened then.
func (p *Pool[T]) AddAt(h Handle) (*T, error) {
	i := h.Index()
	if !h.Valid() {
		return nil, fmt.Errorf("%w: %v has an even generation", ErrHandle, h)
	}
	if i >= p.limit {
		return nil, fmt.Errorf("%w: %v, limit %d", ErrLimit, h, p.limit)
	}
	if tenant := p.HandleAt(i); tenant != 0 {
		return nil, fmt.Errorf("%w: %v wanted, %v lives there", ErrLive, h, tenant)
	}
	if p.Status(h) == Stale {
		return nil, fmt.Errorf("%w: %v", ErrStale, h)
	}
	for uint32(len(p.blocks)) <= i>>blockShift {
		p.addBlock()
	}
	return p.take(p.blocks[i>>blockShift], i, h.Generation()), nil
}

// Remove frees the slot of h, and reports false, having done nothing, unless h
// is live. From here on h is Stale for ever. The data are zeroed (overwritten
// with a pattern, where checks are enabled and T is made of numbers).
func (p *Pool[T]) Remove(h Handle) bool {
	t := p.Get(h)
	if t == nil {
		return false
	}
	i := h.Index()
	b := p.blocks[i>>blockShift]
	b.generations[i&blockMask]++
	p.live.Clear(i)
	p.count--
	if h.Generation() == MaxGeneration {
		// The bump wrapped to 0, which is even: nobody lives here. The slot
		// stays taken, so that nobody ever will (H4).
		p.retired++
	} else {
		w := i >> wordShift & (blockWords - 1)
		b.taken[w] &^= 1 << (i & wordMask)
		b.full &^= 1 << w
		n := int(i >> (blockShift + wordShift))
		p.fullBlocks[n] &^= 1 << (i >> blockShift & wordMask)
		p.openWord = min(p.openWord, n)
	}
	// Holes are zeroed for two reasons: what T points to is let go, and a loop
	// over whole words computes on holes too, where a NaN would be slow.
	var zero T
	*t = zero
	if invariants.Enabled {
		p.poisonSlot(t)
		invariants.Check(p.checkSlot(i))
	}
	return true
}

// openBlock finds the lowest block with a free slot, or makes one.
func (p *Pool[T]) openBlock() (int, bool) {
	for ; p.openWord < len(p.fullBlocks); p.openWord++ {
		if open := ^p.fullBlocks[p.openWord]; open != 0 {
			if n := p.openWord<<wordShift | bits.TrailingZeros64(open); n < len(p.blocks) {
				return n, true
			}
			break // the bits beyond the last block are zero
		}
	}
	if uint64(len(p.blocks))<<blockShift >= uint64(p.limit) {
		return 0, false
	}
	p.addBlock()
	return len(p.blocks) - 1, true
}

// addBlock appends a block. The slots beyond the limit are taken from the
// start, so that nothing else has to know about the limit.
func (p *Pool[T]) addBlock() {
	b := new(block[T])
	if p.first > 1 {
		for i := range b.generations {
			b.generations[i] = p.first - 1
		}
	}
	if free := uint64(p.limit) - uint64(len(p.blocks))<<blockShift; free < BlockLen {
		for i := free; i < BlockLen; i++ {
			b.taken[i>>wordShift] |= 1 << (i & wordMask)
		}
		for w, taken := range b.taken {
			if taken == allOnes {
				b.full |= 1 << w
			}
		}
	}
	p.fullBlocks = extend(p.fullBlocks, len(p.blocks)>>wordShift+1)
	p.blocks = append(p.blocks, b)
}

// take makes a free slot live under the given generation.
func (p *Pool[T]) take(b *block[T], i, generation uint32) *T {
	w := i >> wordShift & (blockWords - 1)
	b.taken[w] |= 1 << (i & wordMask)
	if b.taken[w] == allOnes {
		b.full |= 1 << w
		if b.full == allOnes {
			p.fullBlocks[i>>(blockShift+wordShift)] |= 1 << (i >> blockShift & wordMask)
		}
	}
	b.generations[i&blockMask] = generation
	p.live.Set(i)
	p.count++
	p.slots = max(p.slots, i+1)
	p.newest = max(p.newest, generation)
	// Zeroed again although Remove did: a loop over whole words may have
	// written to the hole since.
	t := &b.data[i&blockMask]
	var zero T
	*t = zero
	if invariants.Enabled {
		invariants.Check(p.checkSlot(i))
	}
	return t
}
