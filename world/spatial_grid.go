package world

import (
	"math"
	"math/bits"
	"slices"
)

// grid indexes bodies by position: dense cells over the bounds, seen from above.
// Height is not divided, because worlds are flat. A cell lists its slots in ascending
// order, so the order in which a query visits them depends on positions alone (W6).
//
// A cell's list has two ascending runs: a long one of settled bodies and a short one of
// newcomers. A body that crosses cells full of sleepers is inserted and removed at the end
// of their lists, within one cache line, whatever its slot.
type grid struct {
	halfX, halfZ float32
	perMetre     float32 // cells per metre
	columns      int32   // cells along x
	rows         int32   // cells along z
	coarse       int     // low bits of a cell's coordinates that mortonCode drops
	cells        []cell  // indexed by z*columns + x
	version      uint64  // counts insertions and removals
	store        store
}

type cell struct {
	offset uint32 // offset of its slots in store.room
	count  uint32
	recent uint8 // number of newcomers, at the end of the list
	class  uint8 // the list has capacity 1<<class; 0: none
}

func newGrid(cfg Config) grid {
	g := grid{
		halfX: cfg.HalfExtent.X, halfZ: cfg.HalfExtent.Z,
		perMetre: 1 / cfg.CellMetres,
		columns:  int32(cellCount(cfg.HalfExtent.X, cfg.CellMetres)),
		rows:     int32(cellCount(cfg.HalfExtent.Z, cfg.CellMetres)),
	}
	g.coarse = max(bits.Len32(uint32(max(g.columns, g.rows)-1))-digitBits, 0)
	g.cells = make([]cell, int(g.columns)*int(g.rows))
	return g
}

func cellCount(half, edge float32) int {
	return int(math.Ceil(2 * float64(half) / float64(edge)))
}

// cellAlong returns the cell along one axis, clamped to the grid. It is monotonic in
// x. NaN counts as far below.
func cellAlong(x, half, perMetre float32, n int32) int32 {
	f := float32(x+half) * perMetre
	switch {
	case !(f > 0):
		return 0
	case f >= float32(n):
		return n - 1
	}
	return min(int32(f), n-1)
}

func (g *grid) cellOf(x, z float32) int32 {
	return cellAlong(z, g.halfZ, g.perMetre, g.rows)*g.columns + cellAlong(x, g.halfX, g.perMetre, g.columns)
}

// outsideMask returns one bit for each of at most 64 positions: set if the position
// is not in its cell.
func (g *grid) outsideMask(x, z []float32, cells []int32) (word uint64) {
	x, z = x[:len(cells)], z[:len(cells)]
	halfX, halfZ, perMetre, columns, rows := g.halfX, g.halfZ, g.perMetre, g.columns, g.rows
	for i, c := range cells {
		if cellAlong(z[i], halfZ, perMetre, rows)*columns+cellAlong(x[i], halfX, perMetre, columns) != c {
			word |= 1 << (i & 63)
		}
	}
	return word
}

// maxRecent is the maximum number of newcomers in a cell: one cache line of slots.
const maxRecent = 16

// runs returns the two runs of cell c, to be merged by takeLowest.
func (g *grid) runs(c int32) (settled, recent []uint32) {
	list := g.slots(c)
	n := len(list) - int(g.cells[c].recent)
	return list[:n], list[n:]
}

// takeLowest splits off the lowest slots of two runs: the longest prefix of one run that
// precedes the other. recent must not be empty: callers skip the merge for cells without
// newcomers, which matters because most queries find few bodies per cell.
func takeLowest(settled, recent []uint32) (slots, settledRest, recentRest []uint32) {
	if len(settled) == 0 {
		return recent, nil, nil
	}
	if recent[0] < settled[0] {
		n, _ := slices.BinarySearch(recent, settled[0])
		return recent[:n], settled, recent[n:]
	}
	n, _ := slices.BinarySearch(settled, recent[0])
	return settled[:n], settled[n:], recent
}

// slotsAbove returns the part of run above slot.
func slotsAbove(slot uint32, run []uint32) []uint32 {
	i, _ := slices.BinarySearch(run, slot+1)
	return run[i:]
}

// slots returns the list of a cell, run after run, for callers that do not depend on the
// order.
func (g *grid) slots(c int32) []uint32 {
	cell := &g.cells[c]
	return g.store.room[cell.offset : cell.offset+cell.count]
}

func (g *grid) insert(c int32, slot uint32) {
	cell := &g.cells[c]
	g.version++
	if cell.count == cell.room() {
		g.store.grow(cell)
	}
	if cell.recent == maxRecent {
		g.mergeRuns(c)
	}
	end := cell.count
	cell.count++
	list := g.slots(c)
	if cell.recent == 0 && (end == 0 || list[end-1] < slot) {
		list[end] = slot // extends the settled run
		return
	}
	recent := list[end-uint32(cell.recent):]
	cell.recent++
	i, _ := slices.BinarySearch(recent[:len(recent)-1], slot)
	copy(recent[i+1:], recent[i:])
	recent[i] = slot
}

// mergeRuns merges the two runs of cell c.
func (g *grid) mergeRuns(c int32) {
	var recent [maxRecent]uint32
	list := g.slots(c)
	end := len(list) - int(g.cells[c].recent)
	n := copy(recent[:], list[end:])
	for at := len(list) - 1; n > 0; at-- {
		if end > 0 && list[end-1] > recent[n-1] {
			end--
			list[at] = list[end]
		} else {
			n--
			list[at] = recent[n]
		}
	}
	g.cells[c].recent = 0
}

func (g *grid) remove(c int32, slot uint32) {
	cell := &g.cells[c]
	g.version++
	list := g.slots(c)
	end := len(list) - int(cell.recent)
	i, found := slices.BinarySearch(list[end:], slot)
	if found {
		i += end
		cell.recent--
	} else {
		i, _ = slices.BinarySearch(list[:end], slot)
	}
	copy(list[i:], list[i+1:])
	cell.count--
	if cell.count == 0 {
		g.store.free(cell)
	}
}

// region is a range of cells, both ends included.
type region struct{ x0, x1, z0, z1 int32 }

// cover returns the cells of all points with low <= x,z <= high. Slack covers rounding
// errors, so the region may be slightly larger.
func (g *grid) cover(lowX, highX, lowZ, highZ float64) region {
	low := func(x float64) float32 { return float32(x - float64(1e-6*math.Abs(x)) - 1e-3) }
	high := func(x float64) float32 { return float32(x + float64(1e-6*math.Abs(x)) + 1e-3) }
	return region{
		cellAlong(low(lowX), g.halfX, g.perMetre, g.columns), cellAlong(high(highX), g.halfX, g.perMetre, g.columns),
		cellAlong(low(lowZ), g.halfZ, g.perMetre, g.rows), cellAlong(high(highZ), g.halfZ, g.perMetre, g.rows),
	}
}

// union returns the smallest region that contains both.
func (r region) union(o region) region {
	return region{min(r.x0, o.x0), max(r.x1, o.x1), min(r.z0, o.z0), max(r.z1, o.z1)}
}

// store is the memory of the cells' lists: blocks of 4, 8, 16, ... slots in one slice,
// with a free list for each size. A cell that empties frees its block, so bodies that
// cross the world do not make the store grow.
type store struct {
	room  []uint32
	freed [32]uint32 // by class: offset+1 of the first free block; the first element of a free block is offset+1 of the next
}

const firstClass = 2

func (c *cell) room() uint32 {
	if c.class == 0 {
		return 0
	}
	return 1 << c.class
}

// grow moves the cell's slots to a block of the next size.
func (s *store) grow(c *cell) {
	class := max(c.class+1, firstClass)
	offset := s.allocate(class)
	copy(s.room[offset:], s.room[c.offset:c.offset+c.count])
	moved := cell{offset, c.count, c.recent, class}
	s.free(c)
	*c = moved
}

func (s *store) allocate(class uint8) uint32 {
	if head := s.freed[class]; head != 0 {
		s.freed[class] = s.room[head-1]
		return head - 1
	}
	offset := uint32(len(s.room))
	s.room = append(s.room, make([]uint32, 1<<class)...)
	return offset
}

// free releases the cell's block.
func (s *store) free(c *cell) {
	if c.class != 0 {
		s.room[c.offset] = s.freed[c.class]
		s.freed[c.class] = c.offset + 1
	}
	*c = cell{}
}

func (g *grid) coverBox(e *effect) region {
	x, z := float64(e.Center.X), float64(e.Center.Z)
	return g.cover(x+float64(e.Box.Min[0]), x+float64(e.Box.Max[0]), z+float64(e.Box.Min[2]), z+float64(e.Box.Max[2]))
}

func (r region) size() int64 { return int64(r.x1-r.x0+1) * int64(r.z1-r.z0+1) }
