package world

import (
	"math"
	"math/bits"
	"slices"
)

// grid finds bodies by place: dense cells over the bounds, seen from above
// (height is not divided, since worlds are flat). A cell gives its slots in
// ascending order, so that what a query visits is a function of the positions,
// not of the way they came about (W6).
//
// A cell's list is two runs, each of which ascends: a long one of those that have
// been there for some time, and a short one of newcomers. A body that moves on
// through cells full of sleepers is put at the end of each and taken from there:
// in one line of the cache, wherever its slot belongs among theirs.
type grid struct {
	halfX, halfZ float32
	perMetre     float32 // cells a metre
	columns      int32   // cells along x
	rows         int32   // cells along z
	coarse       int     // bits by which a cell's coordinates are too long for alongCurve
	cells        []cell  // by z*columns + x
	version      uint64  // counts insertions and removals
	store        store
}

type cell struct {
	offset uint32 // of its slots in the store
	count  uint32
	recent uint8 // how many of them, at the end, are newcomers
	class  uint8 // its room is 1<<class slots; 0: none
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

// along returns the cell along one axis, clamped to the grid. It never falls as
// x rises. NaN counts as far below.
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

// outside has a bit for each of at most 64 places: set if it is not in its cell.
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

// maxRecent is how many newcomers a cell has, at most: a line of the cache.
const maxRecent = 16

// runs are the two of a cell, to be taken by lowest until none is left.
func (g *grid) runs(c int32) (settled, recent []uint32) {
	list := g.slots(c)
	n := len(list) - int(g.cells[c].recent)
	return list[:n], list[n:]
}

// lowest takes the lowest slots of two runs, as many as follow each other in one of
// them, and returns what is left of the two. It is for cells with newcomers: looking
// up cells is half of most queries, and so who visits them calls it for no others.
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

// above leaves out the slots of a run up to one.
func slotsAbove(slot uint32, run []uint32) []uint32 {
	i, _ := slices.BinarySearch(run, slot+1)
	return run[i:]
}

// slots is the list of a cell: both runs, one after the other, for whom it does
// not matter in which order they come.
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
		list[end] = slot // the run goes on
		return
	}
	recent := list[end-uint32(cell.recent):]
	cell.recent++
	i, _ := slices.BinarySearch(recent[:len(recent)-1], slot)
	copy(recent[i+1:], recent[i:])
	recent[i] = slot
}

// settle makes one run of the two.
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

// cover returns the cells of all points with low <= x,z <= high, and of some
// more: the slack outweighs what rounding takes.
func (g *grid) cover(lowX, highX, lowZ, highZ float64) region {
	low := func(x float64) float32 { return float32(x - float64(1e-6*math.Abs(x)) - 1e-3) }
	high := func(x float64) float32 { return float32(x + float64(1e-6*math.Abs(x)) + 1e-3) }
	return region{
		cellAlong(low(lowX), g.halfX, g.perMetre, g.columns), cellAlong(high(highX), g.halfX, g.perMetre, g.columns),
		cellAlong(low(lowZ), g.halfZ, g.perMetre, g.rows), cellAlong(high(highZ), g.halfZ, g.perMetre, g.rows),
	}
}

// union returns the smallest region that holds both.
func (r region) union(o region) region {
	return region{min(r.x0, o.x0), max(r.x1, o.x1), min(r.z0, o.z0), max(r.z1, o.z1)}
}

// store is the memory of the cells' lists: rooms of 4, 8, 16, ... slots in one
// slice, the free ones of each size in a list. A room is freed when its cell
// empties, so that bodies that move through the world do not make it grow.
type store struct {
	room  []uint32
	freed [32]uint32 // by class: offset+1 of the first free room, whose first word is the next one's offset+1
}

const firstClass = 2

func (c *cell) room() uint32 {
	if c.class == 0 {
		return 0
	}
	return 1 << c.class
}

// enlarge moves the cell's slots to a room of the next size.
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

// free gives the cell's room back, and leaves the cell with none.
func (s *store) free(c *cell) {
	if c.class != 0 {
		s.room[c.offset] = s.freed[c.class]
		s.freed[c.class] = c.offset + 1
	}
	*c = cell{}
}

func (g *grid) coverBox(e *effect) region {
	x, z := float64(e.center.X), float64(e.center.Z)
	return g.cover(x+float64(e.box.Min[0]), x+float64(e.box.Max[0]), z+float64(e.box.Min[2]), z+float64(e.box.Max[2]))
}

func (r region) size() int64 { return int64(r.x1-r.x0+1) * int64(r.z1-r.z0+1) }
