package world

import "slices"

// From time to time the awake rows are sorted along a Morton curve through the grid
// cells. The rows of a chunk are then close in space, and field.Set culls the effects
// elsewhere. Moving bodies, and flushes that fill gaps with woken rows, gradually
// destroy that order.
//
// A sort runs when it pays: every lossTicks the world counts the points at which effects
// are evaluated, and counts the excess over the last sort as a loss. When the accumulated
// losses reach the cost of a sort, it sorts. The total cost is therefore at most twice the
// optimum, whatever the bodies do, and worlds where no order helps (no effects with boxes,
// or few) never sort. With InPlace, rows are not sorted.
const (
	// lossTicks is the interval in ticks at which losses are counted and rows sorted.
	lossTicks = 8
	// sortPoints is the cost of sorting one row, in evaluated points: about 30 ns, against
	// 0.4 ns per point (BENCHMARKS.md).
	sortPoints = 72
)

// order decides when to sort, and holds the memory for sorting.
type order struct {
	counting bool   // this step counts evaluated points
	floor    int    // points evaluated per tick just after a sort
	loss     int    // excess points of all ticks since the last sort
	sorted   uint64 // tick of the last sort

	slots       []uint32
	keys, spare []uint64 // Morton code << 32 | row
	source      []uint32 // by row: index of the row that moves here
}

// sortRows sorts the awake rows if that pays. It runs after the flush, when no flip is
// pending. The resulting order depends only on the awake bodies' positions.
func (w *World) sortRows() {
	o, b := &w.order, &w.bodies
	if w.tick%lossTicks != 0 || o.loss < sortPoints*b.awake || b.mode == InPlace {
		return
	}
	o.loss, o.sorted = 0, w.tick
	w.computeOrder()
	b.permute(o.source, w.rowOf)
}

// startCounting decides whether this step counts evaluated points: every lossTicks, if
// there are effects to cull. It also allocates the memory for a sort, outside the sort
// itself.
func (w *World) startCounting() {
	o, b := &w.order, &w.bodies
	o.counting = w.tick%lossTicks == 0 && w.effects.boxed != 0 && b.awake > chunkRows && b.mode != InPlace
	if o.counting && cap(o.source) < b.awake {
		w.reserveSort()
	}
}

// reserveSort allocates the memory to sort the awake rows.
func (w *World) reserveSort() {
	o, b := &w.order, &w.bodies
	o.slots, o.source = slices.Grow(o.slots[:0], b.awake), slices.Grow(o.source[:0], b.awake)
	o.keys, o.spare = slices.Grow(o.keys[:0], b.awake), slices.Grow(o.spare[:0], b.awake)
	for _, column := range b.columns {
		column.reserve(&b.spare, b.awake)
	}
}

// addLosses adds up the points that the workers counted. Just after a sort the loss is
// zero.
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

// computeOrder computes the new order of rows: by Morton code, and by slot within a cell.
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

// digitBits is the number of key bits sorted per pass. The counters of a digit (8 KiB)
// stay in the first-level cache with the keys.
const (
	digitBits = 11
	curveBits = 2 * digitBits
)

// sortDigit makes one stable pass of a radix sort, from keys to to.
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
		next := &counts[key>>shift%(1<<digitBits)]
		to[*next] = key
		*next++
	}
}

// mortonCode interleaves the bits of a cell's coordinates. In grids longer than 2,048
// cells, several cells share a code.
func (g *grid) mortonCode(cell int32) uint32 {
	z := cell / g.columns
	x := cell - z*g.columns
	return spreadBits(uint32(x)>>g.coarse) | spreadBits(uint32(z)>>g.coarse)<<1
}

// spreadBits spreads 16 bits over the even bits of 32.
func spreadBits(v uint32) uint32 {
	v = (v | v<<8) & 0x00ff00ff
	v = (v | v<<4) & 0x0f0f0f0f
	v = (v | v<<2) & 0x33333333
	return (v | v<<1) & 0x55555555
}
