package bulk

import (
	"fmt"
	"math/bits"
	"reflect"
	"unsafe"
)

// poisonByte fills what Remove freed, where checks are enabled. As a float32 or
// a float64 it is finite, so that loops over holes stay fast and quiet.
const poisonByte = 0xdb

// CheckInvariants audits B1 to B6 over the whole pool, and returns the first
// violation. It is meant for tests: it reads all but the data.
func (p *Pool[T]) CheckInvariants() error {
	if err := p.live.CheckInvariants(); err != nil {
		return err
	}
	if p.slots > p.limit || uint64(len(p.blocks))<<blockShift < uint64(p.slots) {
		return fmt.Errorf("bulk: B5: %d slots, %d blocks, limit %d", p.slots, len(p.blocks), p.limit)
	}
	for i := uint64(0); i < uint64(len(p.blocks))<<blockShift; i++ {
		if err := p.checkSlot(uint32(i)); err != nil {
			return err
		}
	}
	if err := p.checkFull(); err != nil {
		return err
	}
	return p.checkCounts()
}

// checkSlot audits B2, B3, B5 and B6 for one slot.
func (p *Pool[T]) checkSlot(i uint32) error {
	b := p.blocks[i>>blockShift]
	generation := b.generations[i&blockMask]
	live := p.live.Has(i)
	taken := b.taken[i>>wordShift&(blockWords-1)]>>(i&wordMask)&1 != 0
	retired := taken && !live && i < p.limit
	switch {
	case live != (generation&1 != 0):
		return fmt.Errorf("bulk: B2: slot %d: live bit %t, generation %d", i, live, generation)
	case live && !taken:
		return fmt.Errorf("bulk: B3: slot %d is live and not taken", i)
	case i >= p.limit && (live || !taken):
		return fmt.Errorf("bulk: B3: slot %d is not below the limit %d, yet usable", i, p.limit)
	case retired && generation != 0:
		return fmt.Errorf("bulk: B3: slot %d is retired at generation %d, not 0", i, generation)
	case i >= p.slots && (live || generation != p.first-1):
		return fmt.Errorf("bulk: B5: slot %d is used, %d slots were", i, p.slots)
	case !retired && (generation < p.first-1 || uint64(generation) > max(uint64(p.newest)+1, uint64(p.first-1))):
		return fmt.Errorf("bulk: B6: slot %d: generation %d, first %d, newest %d", i, generation, p.first, p.newest)
	}
	return nil
}

// checkFull audits B4.
func (p *Pool[T]) checkFull() error {
	for n, b := range p.blocks {
		var full uint64
		for w, taken := range b.taken {
			if taken == allOnes {
				full |= 1 << w
			}
		}
		if b.full != full {
			return fmt.Errorf("bulk: B4: block %d: full words %#x, want %#x", n, b.full, full)
		}
		if got := p.fullBlocks[n>>wordShift]>>(n&wordMask)&1 != 0; got != (full == allOnes) {
			return fmt.Errorf("bulk: B4: block %d: full %t, words %#x", n, got, full)
		}
	}
	for w, full := range p.fullBlocks {
		if w < p.openWord && full != allOnes {
			return fmt.Errorf("bulk: B4: word %d of blocks is open, below the hint %d", w, p.openWord)
		}
		if known := len(p.blocks) - w<<wordShift; known < wordLen && full>>max(known, 0) != 0 {
			return fmt.Errorf("bulk: B4: word %d of blocks: padding is set: %#x", w, full)
		}
	}
	return nil
}

// checkCounts audits B5's counters.
func (p *Pool[T]) checkCounts() error {
	taken := 0
	for _, b := range p.blocks {
		for _, word := range b.taken {
			taken += bits.OnesCount64(word)
		}
	}
	beyond := max(0, len(p.blocks)<<blockShift-int(p.limit))
	if live := p.live.Count(); p.count != live || p.retired != taken-beyond-live {
		return fmt.Errorf("bulk: B5: %d live and %d retired counted, %d and %d found",
			p.count, p.retired, live, taken-beyond-live)
	}
	return nil
}

// poisonSlot makes the use of freed memory conspicuous.
func (p *Pool[T]) poisonSlot(t *T) {
	if !p.poison {
		return
	}
	b := unsafe.Slice((*byte)(unsafe.Pointer(t)), unsafe.Sizeof(*t))
	for i := range b {
		b[i] = poisonByte
	}
}

// poisonable reports whether a T may be overwritten with any bytes: numbers may,
// pointers and bools (with two defined patterns out of 256) may not.
func poisonable(t reflect.Type) bool {
	switch k := t.Kind(); k {
	case reflect.Array:
		return poisonable(t.Elem())
	case reflect.Struct:
		for i := range t.NumField() {
			if !poisonable(t.Field(i).Type) {
				return false
			}
		}
		return true
	default:
		return k >= reflect.Int && k <= reflect.Complex128 && k != reflect.Uintptr
	}
}
