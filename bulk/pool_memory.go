package bulk

import (
	"fmt"
	"unsafe"
)

// A region is the memory of consecutive slots: their generations, then their data. Blocks
// uses regions of 4,096 slots, Growing of 64 (several per allocation), and Reserved a
// single one. Region sizes are powers of two: a shift and a mask locate slot i at
// regions[i>>shift], offset i&mask, in all three modes, and a single region needs neither.
// Get thus has the same code in all modes.
type (
	blockRegion[T any] struct {
		generations [BlockLen]uint32
		data        [BlockLen]T
	}
	wordRegion[T any] struct {
		generations [wordLen]uint32
		data        [wordLen]T
	}
)

const generationBytes = 4

func (p *Pool[T]) layOut() error {
	switch p.memory {
	case Blocks:
		p.shift, p.dataOffset = blockShift, unsafe.Offsetof(blockRegion[T]{}.data)
	case Growing:
		p.shift, p.dataOffset = wordShift, unsafe.Offsetof(wordRegion[T]{}.data)
	case Reserved:
		slots := (uintptr(p.limit) + wordMask) &^ wordMask
		var t T
		mapping, err := reserve(slots * (generationBytes + unsafe.Sizeof(t)))
		if err != nil {
			return fmt.Errorf("%w: reserving %d slots of %d bytes: %w", ErrMemory, slots, generationBytes+unsafe.Sizeof(t), err)
		}
		p.mapping = mapping
		p.base = unsafe.Pointer(unsafe.SliceData(mapping))
		p.dataOffset = slots * generationBytes
	}
	p.mask = 1<<p.shift - 1
	return nil
}

// makeRoom allocates memory for slot i, which must be below the limit.
func (p *Pool[T]) makeRoom(i uint32) {
	for uint64(i) >= p.room {
		first := p.room
		switch p.memory {
		case Blocks:
			p.regions = append(p.regions, unsafe.Pointer(new(blockRegion[T])))
			p.room += BlockLen
		case Growing:
			p.growRegions()
		case Reserved:
			p.room = min(p.room+BlockLen, (uint64(p.limit)+wordMask)&^wordMask)
		}
		p.usable = uint32(min(p.room, uint64(p.limit)))
		words := uint32(p.room >> wordShift)
		p.live.grow(words - 1)
		if p.order == LowestFree {
			p.open.grow((words - 1) >> wordShift)
			for w := uint32(first >> wordShift); w < words; w++ {
				p.open.Set(w)
			}
		}
		if p.first > 1 {
			for at := first; at < p.room; at++ {
				*p.generation(uint32(at)) = p.first - 1
			}
		}
		if first == 0 && p.order == FreeList {
			p.setLinks(0, 0, 0)
			p.slots = 1
		}
	}
}

// growRegions doubles a Growing pool, up to its limit.
func (p *Pool[T]) growRegions() {
	most := max(1, uintptr(maxBlockBytes)/unsafe.Sizeof(wordRegion[T]{}))
	left := (uint64(p.limit) - p.room + wordMask) >> wordShift
	n := min(max(1, p.room>>wordShift), left, uint64(most))
	regions := make([]wordRegion[T], n)
	for i := range regions {
		p.regions = append(p.regions, unsafe.Pointer(&regions[i]))
	}
	p.room += n << wordShift
}

// locate returns a slot's region and its offset there. The slot must be below room.
func (p *Pool[T]) locate(i uint32) (unsafe.Pointer, uintptr) {
	if p.base != nil {
		return p.base, uintptr(i)
	}
	return p.regions[i>>(p.shift&31)], uintptr(i & p.mask)
}

// generationsAt returns the generations of n consecutive slots of a region.
func generationsAt(region unsafe.Pointer, at uintptr, n uint32) []uint32 {
	return unsafe.Slice((*uint32)(unsafe.Add(region, at*generationBytes)), n)
}

// generation returns the generation of a slot below room.
func (p *Pool[T]) generation(i uint32) *uint32 {
	region, at := p.locate(i)
	return (*uint32)(unsafe.Add(region, at*generationBytes))
}

// slot returns the data of a slot below room.
func (p *Pool[T]) slot(i uint32) *T {
	region, at := p.locate(i)
	return (*T)(unsafe.Add(region, p.dataOffset+at*unsafe.Sizeof(*new(T))))
}

// word returns the memory of a word's 64 slots, which must be below room. Words do not
// cross regions.
func (p *Pool[T]) word(w uint32) (*[wordLen]uint32, *[wordLen]T) {
	region, at := p.locate(w << wordShift)
	return (*[wordLen]uint32)(unsafe.Add(region, at*generationBytes)),
		(*[wordLen]T)(unsafe.Add(region, p.dataOffset+at*unsafe.Sizeof(*new(T))))
}

// Close unmaps a Reserved pool: pointers into the pool become invalid. Other pools are
// Go memory and need no Close. A closed pool has no live slots, and nothing can be
// added.
func (p *Pool[T]) Close() error {
	mapping := p.mapping
	*p = Pool[T]{first: p.first, last: p.last, newest: p.newest, order: p.order, memory: p.memory}
	if mapping == nil {
		return nil
	}
	return release(mapping)
}

func (p *Pool[T]) wordAt(w uint32) Word[T] {
	_, slots := p.word(w)
	return Word[T]{Live: p.live.words[w], Slots: slots}
}
