package bulk

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"unsafe"
)

// Errors of pools. Those returned wrap one of these and say more.
var (
	// ErrOptions: the caller's Options make no sense, or not for this T.
	ErrOptions = errors.New("bulk: bad options")
	// ErrMemory: the system gave no address space for Options.Memory = Reserved.
	ErrMemory = errors.New("bulk: no memory")
	// ErrFull: every slot up to MaxSlots is live or retired.
	ErrFull = errors.New("bulk: pool is full")
	// ErrLive: the slot has a tenant, this one or another.
	ErrLive = errors.New("bulk: slot is live")
	// ErrStale: the slot is past that generation, or retired.
	ErrStale = errors.New("bulk: handle is stale")
	// ErrLimit: the index is not below MaxSlots, or belongs to the pool itself.
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
	// Order says which hole Add takes. Default LowestFree.
	Order Order
	// Memory says where slots come from. Default Blocks.
	Memory Memory
}

// Order is the choice among holes.
type Order uint8

const (
	// LowestFree takes the lowest hole. Live slots stay dense, after random
	// frees it is the fastest by far, and the next handle depends on the set of
	// live slots and their generations alone, not on history.
	LowestFree Order = iota
	// FreeList takes the hole made last: a circular list through the holes, its
	// head in slot 0, which thus never has a tenant. The links lie over the dead
	// data, so T must be free of pointers and hold at least 8 bytes, and loops
	// must not write to holes; should one do, Add notices, and starts over with
	// the lowest. For huge T of which the one freed last is still in a cache;
	// elsewhere it is slower (BENCHMARKS.md), and uses up the generations of hot
	// slots.
	FreeList
	// FIFO takes the hole made first, which spreads reuse, so that generations
	// last and a short wire form of them is ambiguous late. For any T; keeps 8
	// bytes a hole.
	FIFO
)

// String is the name of the constant.
func (o Order) String() string { return name(o, "LowestFree", "FreeList", "FIFO") }

// Memory is where slots come from. Slots never move in any of them.
type Memory uint8

const (
	// Blocks allocates BlockLen slots at a time from Go's heap.
	Blocks Memory = iota
	// Growing allocates 64 slots, then each time as many as there are: for many
	// pools most of which stay small. Large ones show in garbage collections,
	// which look at a pointer for each 64 slots.
	Growing
	// Reserved maps address space for MaxSlots at once, which costs memory only
	// where slots are used, a page at a time. A lookup computes the place instead
	// of loading it, and the garbage collector never sees any of it: T must be
	// free of pointers. It is given back by Close alone. ErrOptions on systems
	// without such mappings.
	Reserved
)

// String is the name of the constant.
func (m Memory) String() string { return name(m, "Blocks", "Growing", "Reserved") }

func name[E ~uint8](e E, names ...string) string {
	if int(e) < len(names) {
		return names[e]
	}
	return fmt.Sprintf("%s(%d)", reflect.TypeFor[E]().Name(), uint8(e))
}

const (
	defaultMaxSlots        = 1 << 24
	defaultFirstGeneration = 1

	// maxBlockBytes bounds one allocation of a pool: a T of which a block would
	// be larger is more likely a mistake than an entity.
	maxBlockBytes = 1 << 28
	// maxReservedBytes is what 47 bits of addresses hold with room to spare.
	maxReservedBytes = 1 << 45
	// linkBytes is what FreeList writes over dead data: two slot numbers.
	linkBytes = 8
)

// check fills in the defaults, and complains about everything at once.
func check[T any](o *Options) error {
	if o.MaxSlots == 0 {
		o.MaxSlots = defaultMaxSlots
	}
	if o.FirstGeneration == 0 {
		o.FirstGeneration = defaultFirstGeneration
	}
	var complaints []error
	complain := func(format string, args ...any) {
		complaints = append(complaints, fmt.Errorf("%w: "+format, append([]any{ErrOptions}, args...)...))
	}
	t, bytes := reflect.TypeFor[T](), uint64(unsafe.Sizeof(*new(T)))
	if o.MaxSlots < 0 || uint64(o.MaxSlots) > math.MaxUint32 {
		complain("MaxSlots is %d; want 1 to 1<<32 - 1, or 0 for %d", o.MaxSlots, defaultMaxSlots)
	}
	if o.FirstGeneration&1 == 0 {
		complain("FirstGeneration is %d; want an odd number, or 0 for %d", o.FirstGeneration, defaultFirstGeneration)
	}
	switch o.Order {
	case LowestFree, FIFO:
	case FreeList:
		if hasPointers(t) {
			complain("FreeList writes its links over dead data, and %v holds pointers; use LowestFree or FIFO", t)
		}
		if bytes < linkBytes {
			complain("FreeList needs %d bytes for its links, and %v has %d; use LowestFree or FIFO", linkBytes, t, bytes)
		}
		if o.MaxSlots == 1 {
			complain("MaxSlots is 1, and FreeList keeps slot 0 for itself; want at least 2")
		}
	default:
		complain("Order is %v", o.Order)
	}
	unit := uint64(BlockLen)
	switch o.Memory {
	case Blocks:
	case Growing:
		unit = wordLen
	case Reserved:
		unit = 0
		if !canReserve {
			complain("Memory is Reserved, which this system does not have; use Blocks")
		}
		if hasPointers(t) {
			complain("Memory is Reserved, where the garbage collector does not look, and %v holds pointers; use Blocks", t)
		}
		most := min(uint64(maxReservedBytes), math.MaxInt/2)
		if slots := uint64(max(o.MaxSlots, 0)); slots > most/(bytes+4) {
			complain("%d slots of %d bytes are more than can be Reserved (%d bytes)", slots, bytes+4, most)
		}
	default:
		complain("Memory is %v", o.Memory)
	}
	if unit > 0 && bytes+4 > maxBlockBytes/unit {
		complain("a block of %d times %v has more than %d bytes; use Growing, or keep large parts elsewhere",
			unit, t, maxBlockBytes)
	}
	return errors.Join(complaints...)
}

// hasPointers reports whether the garbage collector has to look into a t.
func hasPointers(t reflect.Type) bool {
	switch k := t.Kind(); k {
	case reflect.Array:
		return t.Len() > 0 && hasPointers(t.Elem())
	case reflect.Struct:
		for i := range t.NumField() {
			if hasPointers(t.Field(i).Type) {
				return true
			}
		}
		return false
	default:
		return k < reflect.Bool || k > reflect.Complex128
	}
}
