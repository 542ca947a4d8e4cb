package world

import "slices"

// The awake rows are put into the order of their places from time to time, along
// a Morton curve through the cells of the grid, so that the rows of a chunk are
// near to each other and the effects that are somewhere else are left out
// (field.Set). Bodies that move, and the flush, which fills gaps with whoever
// woke, bring that order to nought again, sooner or later.
//
// When to sort is a matter of what it costs, and the world finds that out: every
// so many ticks it counts at how many points effects are run, and what is more
// than after the last sort is a loss. When the losses have come up to what a sort
// costs, it sorts. So it takes at most twice the time of the best moment, whatever
// the bodies do, and where there are no effects with boxes, or few, or no order
// helps, it does not sort. In place no row moves, and no row is sorted.
const (
	// lossTicks is how often losses are counted, and rows may be sorted.
	lossTicks = 8
	// sortPoints is what a sort costs for a row, in points at which an effect is
	// run: some 30 ns against 0.4 (BENCHMARKS.md).
	sortPoints = 72
)

// order knows when to sort, and is the memory to do so.
type order struct {
	counting bool   // this step counts
	floor    int    // points at which effects are run in a tick, just after a sort
	loss     int    // of all ticks since then
	sorted   uint64 // tick of the last sort

	slots       []uint32
	keys, spare []uint64 // place on the curve << 32 | row
	source      []uint32 // by row: where it comes from
}

// sortRows puts the awake rows in order, if that pays. It runs just after the
// flush, when no bit is about a row. The order of rows is a function of the
// places of the awake bodies then, and not of what it was before.
func (w *World) sortRows() {
	o, b := &w.order, &w.bodies
	if w.tick%lossTicks != 0 || o.loss < sortPoints*b.awake || b.mode == InPlace {
		return
	}
	o.loss, o.sorted = 0, w.tick
	w.computeOrder()
	b.permute(o.source, w.rowOf)
}

// watchOrder says whether this step counts what it loses: where rows are sorted,
// and there are effects to be left out. A sort may come then, and it has its
// memory from here on.
func (w *World) startCounting() {
	o, b := &w.order, &w.bodies
	o.counting = w.tick%lossTicks == 0 && w.effects.boxed != 0 && b.awake > chunkRows && b.mode != InPlace
	if o.counting && cap(o.source) < b.awake {
		w.reserveSort()
	}
}

// reserveOrder makes room to sort the awake rows.
func (w *World) reserveSort() {
	o, b := &w.order, &w.bodies
	o.slots, o.source = slices.Grow(o.slots[:0], b.awake), slices.Grow(o.source[:0], b.awake)
	o.keys, o.spare = slices.Grow(o.keys[:0], b.awake), slices.Grow(o.spare[:0], b.awake)
	for _, column := range b.columns {
		column.reserve(&b.spare, b.awake)
	}
}

// learnLoss adds up what the workers counted. Just after a sort nothing is lost.
func (w *World) addLosses() {
	o, points := &w.order, 0
	for i := range w.workers.chunks {
		c := &w.workers.chunks[i]
		points += c.points
		c.points = 0
	}
	if o.sorted == w.tick {
		o.floor = points
	}
	o.floor = min(o.floor, points)
	o.loss += (points - o.floor) * lossTicks
}

// orderRows works out where each awake row is to come from: by its place on the
// curve, and by slot within a cell.
func (w *World) computeOrder() {
	o, b := &w.order, &w.bodies
	o.slots = w.sleepState.awake.AppendTo(o.slots[:0])
	o.keys = o.keys[:0]
	for _, slot := range o.slots {
		row := w.rowOf[slot]
		o.keys = append(o.keys, uint64(w.grid.mortonCode(b.cell[row]))<<32|uint64(row))
	}
	o.spare = slices.Grow(o.spare[:0], len(o.keys))[:len(o.keys)]
	for shift := 32; shift < 32+curveBits; shift += digitBits {
		sortDigit(o.spare, o.keys, shift)
		o.keys, o.spare = o.spare, o.keys
	}
	o.source = o.source[:0]
	for _, key := range o.keys {
		o.source = append(o.source, uint32(key))
	}
}

// digitBits is how many bits of a key one pass sorts by: the counts of a digit,
// 8 KiB, stay in the first-level cache beside what they count.
const (
	digitBits = 11
	curveBits = 2 * digitBits
)

// sortDigit is one pass of a radix sort: it copies the keys in the order of one
// digit, and keeps the order of those that have the same.
func sortDigit(to, keys []uint64, shift int) {
	var counts [1 << digitBits]uint32
	for _, key := range keys {
		counts[key>>shift%(1<<digitBits)]++
	}
	at := uint32(0)
	for i, n := range counts {
		counts[i] = at
		at += n
	}
	for _, key := range keys {
		place := &counts[key>>shift%(1<<digitBits)]
		to[*place] = key
		*place++
	}
}

// alongCurve returns where a cell is along a Morton curve: the bits of its two
// coordinates in turn. Cells of a grid that is longer than 2,048 count together.
func (g *grid) mortonCode(cell int32) uint32 {
	z := cell / g.columns
	x := cell - z*g.columns
	return spreadBits(uint32(x)>>g.coarse) | spreadBits(uint32(z)>>g.coarse)<<1
}

// everySecond spreads 16 bits over the even ones of 32.
func spreadBits(v uint32) uint32 {
	v = (v | v<<8) & 0x00ff00ff
	v = (v | v<<4) & 0x0f0f0f0f
	v = (v | v<<2) & 0x33333333
	return (v | v<<1) & 0x55555555
}
