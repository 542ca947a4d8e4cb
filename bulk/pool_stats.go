package bulk

import "unsafe"

// Stats is a pool's contents and cost.
type Stats struct {
	Live    int // slots with a tenant
	Holes   int // reusable slots below the high-water mark
	Retired int // slots that have used up their generations
	Slots   int // the high-water mark: one more than the highest slot ever used
	// Bytes is the memory for slots, bitmaps, lists and tags. For a Reserved pool it
	// counts the part of the mapping that slots have reached.
	Bytes uint64
	// AddressBytes is the address space mapped by a Reserved pool.
	AddressBytes uint64
	// LiveWords is the number of words with a live slot, which loops over words visit.
	LiveWords int
	// Fragmentation is the share of holes among the slots in LiveWords: 0 if every word is
	// full or empty, near 1 if each holds a single tenant.
	Fragmentation float64
}

// Stats computes the pool's statistics from the words of Live, without visiting slots.
func (p *Pool[T]) Stats() Stats {
	s := Stats{
		Live: p.count, Holes: p.holes(), Retired: p.retired, Slots: int(p.slots),
		Bytes:        p.room * uint64(generationBytes+unsafe.Sizeof(*new(T))),
		AddressBytes: uint64(len(p.mapping)),
	}
	if p.memory == Reserved {
		s.Bytes = uint64(p.slots) * uint64(generationBytes+unsafe.Sizeof(*new(T)))
	}
	for w, ok := p.live.nextWord(0); ok; w, ok = p.live.nextWord(w + 1) {
		s.LiveWords++
	}
	s.Bytes += uint64(len(p.regions))*uint64(unsafe.Sizeof(uintptr(0))) + uint64(len(p.queue.ring))*8
	for _, set := range []*Bitset{&p.live, &p.open, &p.dead} {
		s.Bytes += set.bytes()
	}
	for _, t := range p.tags {
		s.Bytes += t.set.bytes()
	}
	if s.LiveWords != 0 {
		s.Fragmentation = 1 - float64(s.Live)/float64(s.LiveWords*wordLen)
	}
	return s
}
