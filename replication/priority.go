package replication

import (
	"math"
	"slices"
)

// requiredWeight multiplies the priority of rows that a complete snapshot needs: without
// complete snapshots, all bodies that the client computes stand still. Priorities grow with
// waiting, so other rows are sent too.
const requiredWeight = 16

// priorityGain returns the growth of a row's priority per snapshot that it waits: its
// kind's priority, halved at a quarter of the enter radius.
func (in *interest) priorityGain(r *Replicator, t *tenant) float32 {
	base := r.frame.kindPriority(t.kind)
	if !t.hasBody {
		return base
	}
	distance := t.position.Sub(in.center).Len()
	return base / (1 + 4*distance/r.config.EnterRadius)
}

// ranking sorts weights in descending order, equal weights in the order of adding. It is a
// radix sort: a viewer has hundreds of unpredictable weights, and a mispredicted comparison
// costs more than a pass over the list.
type ranking struct {
	ranks     []uint16 // by index; lower for a greater weight
	from, to  []uint32 // indexes
	low, high [256]uint32
}

func (r *ranking) beginRanking() {
	r.ranks = r.ranks[:0]
	r.low, r.high = [256]uint32{}, [256]uint32{}
}

// addWeight adds a non-negative weight. Weights are compared to a precision of 1/256, by
// their upper bits: the bits of positive floats are ordered like their values.
func (r *ranking) addWeight(weight float32) {
	rank := ^uint16(math.Float32bits(weight) >> 15)
	r.ranks = append(r.ranks, rank)
	r.low[rank&255]++
	r.high[rank>>8]++
}

// sortedIndexes returns the indexes of the weights in sorted order. The result is valid
// until the next call.
func (r *ranking) sortedIndexes() []uint32 {
	n := len(r.ranks)
	r.from, r.to = slices.Grow(r.from[:0], n)[:n], slices.Grow(r.to[:0], n)[:n]
	for digit := 1; digit < 256; digit++ { // turn counts into end positions
		r.low[digit] += r.low[digit-1]
		r.high[digit] += r.high[digit-1]
	}
	for i := n - 1; i >= 0; i-- {
		at := &r.low[r.ranks[i]&255]
		*at--
		r.from[*at] = uint32(i)
	}
	for i := n - 1; i >= 0; i-- {
		number := r.from[i]
		at := &r.high[r.ranks[number]>>8]
		*at--
		r.to[*at] = number
	}
	return r.to
}

// beginOrder begins an order without weights.
func (r *ranking) beginOrder() { r.to, r.from = r.to[:0], r.from[:0] }

// addOrdered adds an index to the first group or to the second.
func (r *ranking) addOrdered(index uint32, first bool) {
	if first {
		r.to = append(r.to, index)
	} else {
		r.from = append(r.from, index)
	}
}

// joinOrder returns the first group and then the second, each in the order of adding. The
// result is valid until the next call.
func (r *ranking) joinOrder() []uint32 {
	r.to = append(r.to, r.from...)
	return r.to
}
