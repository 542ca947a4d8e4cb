package columns

import "math/bits"

// Packable is the element type of PackDown and PackUp: pointer-free, of 2, 4 or 16
// bytes.
type Packable interface {
	~uint16 | ~int16 | ~uint32 | ~int32 | ~float32 | ~[16]byte
}

// PackDown partitions values[first:end] in order: values without a bit in drop move down to
// first, and the dropped values are copied to dropped. Value i has bit i&63 of drop[i>>6].
// It returns the end of the kept values; contents from this end to end are undefined.
// len(dropped) must equal the number of dropped values.
//
// It uses vector instructions where available, unless built with -tags purego.
func PackDown[T Packable](values, dropped []T, drop []uint64, first, end int) int {
	p := packing[T]{values: values[:end], dropped: dropped, drop: drop, to: first}
	aligned := min((first+wordMask)&^wordMask, end)
	p.down(first, aligned)
	aligned = p.downFast(aligned)
	p.down(aligned, end)
	return p.to
}

// PackUp is PackDown in the other direction: kept values move up to end. It returns the
// start of the kept values; contents from first to this start are undefined.
func PackUp[T Packable](values, dropped []T, drop []uint64, first, end int) int {
	p := packing[T]{values: values[:end], dropped: dropped, drop: drop, to: end, droppedTo: len(dropped)}
	aligned := max(end&^wordMask, first)
	p.up(aligned, end)
	aligned = p.upFast(first, aligned)
	p.up(first, aligned)
	return p.to
}

// packing is the progress of a PackDown or PackUp. The next kept value goes to the index
// to and the next dropped one to droppedTo; in PackUp, in front of them.
type packing[T Packable] struct {
	values, dropped []T
	drop            []uint64
	to, droppedTo   int
}

// down packs values[first:end]. It defines PackDown, and is used where there is no kernel.
// Mixed words are packed without data-dependent branches: the next value overwrites a
// dropped one's copy.
func (p *packing[T]) down(first, end int) {
	for row := first; row < end; {
		stop := min(row|wordMask+1, end)
		word := p.drop[row>>wordShift] >> (row & wordMask)
		if word == 0 {
			p.to += copy(p.values[p.to:], p.values[row:stop])
			row = stop
			continue
		}
		values := p.values[row:stop]
		for left := word; left != 0; left &= left - 1 {
			if i := bits.TrailingZeros64(left); i < len(values) {
				p.dropped[p.droppedTo] = values[i]
				p.droppedTo++
			}
		}
		to := p.to
		for _, v := range values {
			p.values[to] = v
			to += int(^word & 1)
			word >>= 1
		}
		p.to, row = to, stop
	}
}

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
		values := p.values[start:row]
		for left := word >> (64 - len(values)); left != 0; {
			i := bits.Len64(left) - 1
			left &^= 1 << i
			p.droppedTo--
			p.dropped[p.droppedTo] = values[i]
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
