package bulk

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"unsafe"
)

// Errors of pools. Returned errors wrap one of these and add details.
var (
	// ErrOptions: the caller's Options are invalid, or invalid for this T.
	ErrOptions = errors.New("bulk: bad options")
	// ErrMemory: the system refused the address space for Options.Memory = Reserved.
	ErrMemory = errors.New("bulk: no memory")
	// ErrFull: every slot up to MaxSlots is live or retired.
	ErrFull = errors.New("bulk: pool is full")
	// ErrLive: the slot has a tenant, with this or another handle.
	ErrLive = errors.New("bulk: slot is live")
	// ErrStale: the slot is past that generation, or retired.
	ErrStale = errors.New("bulk: handle is stale")
	// ErrLimit: the index is at or above MaxSlots, the pool itself uses the slot, or the
	// generation is above LastGeneration.
	ErrLimit = errors.New("bulk: handle is beyond the pool's limits")
)

// Options configures a pool. The zero value selects the defaults.
type Options struct {
	// MaxSlots bounds the pool, and thereby the memory that AddAt allocates for indexes
	// from a peer. Default 1<<24, at most 1<<32 - 1.
	MaxSlots int
	// FirstGeneration is the generation of each slot's first tenant. It must be odd. A
	// restarted server sets it above every generation that it may have issued before (H5):
	// handles with lower generations are Stale in every slot. Default 1.
	FirstGeneration uint32
	// LastGeneration is the generation of each slot's last tenant, after which the slot
	// retires. It must be odd and not below FirstGeneration. Pools with disjoint ranges of
	// generations never issue the same handle. Default MaxGeneration.
	LastGeneration uint32
	// Order selects the hole that Add takes. Default LowestFree.
	Order Order
	// Memory selects how slots are allocated. Default Blocks.
	Memory Memory
}

// Order is the policy for reusing holes.
type Order uint8

const (
	// LowestFree takes the lowest hole. Live slots stay dense. It is by far the fastest
	// order after random frees. The next handle depends only on the set of live slots and
	// their generations, not on history.
	LowestFree Order = iota
	// FreeList takes the most recent hole. The list runs through the holes with its head in
	// slot 0, which never has a tenant. Links overwrite dead data: T must be pointer-free
	// and at least 8 bytes, and loops must not write to holes. If a loop does, Add detects
	// it and rebuilds the list, lowest first. It suits a huge T whose last freed slot is
	// still cached; otherwise it is slower (BENCHMARKS.md) and uses up the generations of
	// hot slots.
	FreeList
	// FIFO takes the oldest hole. Reuse is spread evenly: generations last longer, and
	// a truncated generation on the wire stays unambiguous longer. It works for any T
	// and needs 8 bytes per hole.
	FIFO
)

// String is the name of the constant.
func (o Order) String() string { return name(o, "LowestFree", "FreeList", "FIFO") }

// Memory is the mode of allocation. Slots never move in any mode.
type Memory uint8

const (
	// Blocks allocates BlockLen slots at a time on Go's heap.
	Blocks Memory = iota
	// Growing allocates 64 slots, then doubles: for many pools that mostly stay small.
	// Large Growing pools slow garbage collection, which scans one pointer per 64
	// slots.
	Growing
	// Reserved maps address space for MaxSlots at once, but uses memory only for the
	// pages that slots touch. Lookups compute the address instead of loading it, and
	// the garbage collector never scans the memory: T must be pointer-free. Only Close
	// frees it. Systems without such mappings return ErrOptions.
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

	// maxBlockBytes bounds one allocation of a pool: a T with larger blocks is probably
	// a mistake.
	maxBlockBytes = 1 << 28
	// maxReservedBytes leaves most of a 47-bit address space free.
	maxReservedBytes = 1 << 45
	// linkBytes is the size of FreeList's links in a hole: two slot numbers.
	linkBytes = 8
)

// check fills in the defaults and reports all invalid options in one error.
func check[T any](o *Options) error {
	o.MaxSlots = cmp.Or(o.MaxSlots, defaultMaxSlots)
	o.FirstGeneration = cmp.Or(o.FirstGeneration, defaultFirstGeneration)
	o.LastGeneration = cmp.Or(o.LastGeneration, MaxGeneration)
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
	if o.LastGeneration&1 == 0 || o.LastGeneration < o.FirstGeneration || o.LastGeneration > MaxGeneration {
		complain("LastGeneration is %d; want an odd number from %d to %[3]d, or 0 for %[3]d", o.LastGeneration, o.FirstGeneration, uint32(MaxGeneration))
	}
	switch o.Order {
	case LowestFree, FIFO:
	case FreeList:
		if hasPointers(t) {
			complain("FreeList writes its links over dead data, but %v holds pointers; use LowestFree or FIFO", t)
		}
		if bytes < linkBytes {
			complain("FreeList needs %d bytes for its links, but %v has %d; use LowestFree or FIFO", linkBytes, t, bytes)
		}
		if o.MaxSlots == 1 {
			complain("MaxSlots is 1, but FreeList keeps slot 0 for itself; want at least 2")
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
			complain("Memory is Reserved, which this system does not support; use Blocks")
		}
		if hasPointers(t) {
			complain("Memory is Reserved, which the garbage collector does not scan, but %v holds pointers; use Blocks", t)
		}
		most := min(uint64(maxReservedBytes), math.MaxInt/2)
		if slots := uint64(max(o.MaxSlots, 0)); slots > most/(bytes+4) {
			complain("%d slots of %d bytes exceed the Reserved limit of %d bytes", slots, bytes+4, most)
		}
	default:
		complain("Memory is %v", o.Memory)
	}
	if unit > 0 && bytes+4 > maxBlockBytes/unit {
		complain("a block of %d %v exceeds %d bytes; use Growing, or store large parts elsewhere",
			unit, t, maxBlockBytes)
	}
	return errors.Join(complaints...)
}

// hasPointers reports whether the garbage collector must scan a t.
func hasPointers(t reflect.Type) bool {
	switch k := t.Kind(); k {
	case reflect.Array:
		return t.Len() > 0 && hasPointers(t.Elem())
	case reflect.Struct:
		return slices.ContainsFunc(reflect.VisibleFields(t), func(f reflect.StructField) bool { return hasPointers(f.Type) })
	default:
		return k < reflect.Bool || k > reflect.Complex128
	}
}
