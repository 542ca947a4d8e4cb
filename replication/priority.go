package replication

import "math"

// byPriority returns the numbers of the rows that wait, the most urgent first.
// Priority grows each time that a row waits for its turn, so every row's comes. It
// is not asked for when all can be sent.
func (v *Viewer) rankWaiting() []uint32 {
	w := v.work
	w.ranking.reset()
	for i, rowIndex := range w.waitingRows {
		v.priorities[rowIndex] += v.priorityGain(&v.replicator.frame.tenants[w.waiting[i].slot()])
		v.rows[rowIndex].flags |= passedOver
		w.ranking.add(v.priorities[rowIndex])
	}
	return w.ranking.order()
}

// gain is what a row's priority grows by for each snapshot it waits: its
// kind's priority, halved at a quarter of the enter radius.
func (v *Viewer) priorityGain(t *tenant) float32 {
	base := v.replicator.kindPriority(t.kind)
	if !t.hasBody {
		return base
	}
	distance := t.position.Sub(v.center).Len()
	return base / (1 + 4*distance/v.replicator.config.EnterRadius)
}

// ranking puts weights in order, the greatest first and equal ones as they came.
// It sorts by digits: there are hundreds for each viewer, as good as random, and a
// comparison that nobody can foresee costs more than a pass over all of them.
type ranking struct {
	ranks     []uint16 // by number: a lower one for a greater weight
	from, to  []uint32 // numbers
	low, high [256]uint32
}

func (r *ranking) reset() {
	r.ranks = r.ranks[:0]
	r.low, r.high = [256]uint32{}, [256]uint32{}
}

// add adds a weight, which is not negative. Of its bits those are compared that
// tell weights apart which differ by a part in 256: the bits of positive floats
// are in the order of their values.
func (r *ranking) add(weight float32) {
	rank := ^uint16(math.Float32bits(weight) >> 15)
	r.ranks = append(r.ranks, rank)
	r.low[rank&255]++
	r.high[rank>>8]++
}

// order returns the numbers of the weights, counted from 0, in their order. It is
// valid until the next call.
func (r *ranking) order() []uint32 {
	n := len(r.ranks)
	r.from, r.to = resize(r.from, n), resize(r.to, n)
	for digit := 1; digit < 256; digit++ { // how many there are becomes where they end
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

// resized returns s with a length of n, whatever it holds.
func resize(s []uint32, n int) []uint32 {
	if n > cap(s) {
		return make([]uint32, n, 2*n)
	}
	return s[:n]
}
