package bulk

import "math/bits"

// Packable is what PackDown and PackUp move: plain memory of 2, 4 or 16 bytes.
type Packable interface {
	~uint16 | ~int16 | ~uint32 | ~int32 | ~float32 | ~[16]byte
}

// PackDown moves those of values[first:end] that have no bit in drop together,
// from first on, and the others to dropped, all in their order. It returns where
// those that stay end; what is from there to end is undefined. Value i has bit
// i&63 of drop[i>>6]. dropped must be as long as those are many that have a bit.
//
// It uses vector instructions where there are some, unless built with -tags
// purego.
func PackDown[T Packable](values, dropped []T, drop []uint64, first, end int) int {
	p := packing[T]{values: values[:end], dropped: dropped, drop: drop, to: first}
	aligned := min((first+wordMask)&^wordMask, end)
	p.down(first, aligned)
	aligned = p.downFast(aligned)
	p.down(aligned, end)
	return p.to
}

// PackUp is PackDown towards end: it returns where those that stay begin. What is
// from first to there is undefined.
func PackUp[T Packable](values, dropped []T, drop []uint64, first, end int) int {
	p := packing[T]{values: values[:end], dropped: dropped, drop: drop, to: end, gone: len(dropped)}
	aligned := max(end&^wordMask, first)
	p.up(aligned, end)
	aligned = p.upFast(first, aligned)
	p.up(first, aligned)
	return p.to
}

// packing is how far a PackDown or PackUp has come: the next values go to (or in
// front of) to and gone.
type packing[T Packable] struct {
	values, dropped []T
	drop            []uint64
	to, gone        int
}

// down packs values[first:end]. It is the definition, and what other machines
// run. In a word of which some are dropped, no branch depends on which: what is
// stored in the place of one that is dropped, the next one overwrites.
func (p *packing[T]) down(first, end int) {
	for row := first; row < end; {
		stop := min(row|wordMask+1, end)
		word := p.drop[row>>wordShift] >> (row & wordMask)
		if word == 0 {
			p.to += copy(p.values[p.to:], p.values[row:stop])
			row = stop
			continue
		}
		some := p.values[row:stop]
		for left := word; left != 0; left &= left - 1 {
			if i := bits.TrailingZeros64(left); i < len(some) {
				p.dropped[p.gone] = some[i]
				p.gone++
			}
		}
		to := p.to
		for _, v := range some {
			p.values[to] = v
			to += int(^word & 1)
			word >>= 1
		}
		p.to, row = to, stop
	}
}

// up packs values[first:end].
func (p *packing[T]) up(first, end int) {
	for row := end; row > first; {
		start := max((row-1)&^wordMask, first)
		word := p.drop[start>>wordShift] << (wordMask - (row-1)&wordMask)
		if word>>(64-(row-start)) == 0 {
			p.to -= row - start
			copy(p.values[p.to:], p.values[start:row])
			row = start
			continue
		}
		some := p.values[start:row]
		for left := word >> (64 - len(some)); left != 0; {
			i := bits.Len64(left) - 1
			left &^= 1 << i
			p.gone--
			p.dropped[p.gone] = some[i]
		}
		to := p.to
		for ; row > start; row-- {
			p.values[to-1] = p.values[row-1]
			to -= int(^word >> 63)
			word <<= 1
		}
		p.to = to
	}
}
