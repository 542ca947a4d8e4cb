package replication

import (
	"math"

	"github.com/worldd/worldd/world"
)

// grid finds the bodies of a frame by position. The world's own grid changes with the next
// step, and its cells are sized for contacts; the cells of this grid are a fraction of the
// enter radius. A cell stores the positions of its bodies, so that a query reads memory in
// order, and the range of their heights. If a cell is wholly inside or outside a radius,
// its bodies need no distance test.
type grid struct {
	halfX, halfZ  float32
	cellsPerMetre float32
	cellSize      float32   // metres
	columns       int32     // cells along x
	rows          int32     // cells along z
	cells         []cell    // by z*columns + x
	refs          []gridRef // by slot
	staleHeights  []int32   // cells whose heights must be measured again
	capture       uint64    // number of the present or next capture
}

// cell is a vertical column of space. Its bodies are unordered.
type cell struct {
	bodies       []gridBody
	low, high    float32 // heights of the lowest and of the highest body
	changed      uint64  // last capture in which a body of the cell entered, left, moved or changed
	heightsStale bool    // low may be too low, or high too high
}

type gridBody struct {
	slot    uint32
	x, y, z float32
}

// distance2 returns the squared distance from a point.
func (b *gridBody) distance2(from world.Vec3) float32 {
	return distance2(world.Vec3{X: b.x, Y: b.y, Z: b.z}, from)
}

// gridRef locates a slot's body. It repeats the position, so that a lookup costs one cache
// miss instead of three.
type gridRef struct {
	cell  int32 // cell number plus one; 0: the slot has no body
	index uint32
	at    world.Vec3
}

const (
	// cellsPerRadius balances the cells that a query visits against the bodies that need a
	// distance test. See BENCHMARKS.md.
	cellsPerRadius = 4
	// maxCellsPerAxis bounds memory in a world with a small enter radius: 65,536 cells
	// are 3 MiB.
	maxCellsPerAxis = 256
)

func newGrid(half world.Vec3, enterRadius float32) grid {
	edge := max(enterRadius/cellsPerRadius, 2*max(half.X, half.Z)/maxCellsPerAxis)
	columns, rows := int32(2*half.X/edge)+1, int32(2*half.Z/edge)+1
	return grid{
		halfX: half.X, halfZ: half.Z, cellsPerMetre: 1 / edge, cellSize: edge, capture: 1,
		columns: columns, rows: rows, cells: make([]cell, int(columns)*int(rows)),
	}
}

// cellIndex returns the cell of a coordinate along one axis. Coordinates outside the world
// belong to the outermost cells, and NaN to the lowest.
func cellIndex(x, half, perMetre float32, n int32) int32 {
	f := float32(x+half) * perMetre
	switch {
	case !(f > 0):
		return 0
	case f >= float32(n):
		return n - 1
	}
	return min(int32(f), n-1)
}

func (g *grid) columnOf(x float32) int32 { return cellIndex(x, g.halfX, g.cellsPerMetre, g.columns) }
func (g *grid) rowOf(z float32) int32    { return cellIndex(z, g.halfZ, g.cellsPerMetre, g.rows) }

// putBody sets the position of a slot's body.
func (g *grid) putBody(slot uint32, at world.Vec3) {
	for int(slot) >= len(g.refs) {
		g.refs = append(g.refs, gridRef{})
	}
	number := g.rowOf(at.Z)*g.columns + g.columnOf(at.X)
	s := &g.refs[slot]
	if s.cell == number+1 {
		s.at = at
		c := &g.cells[number]
		c.changed = g.capture
		b := &c.bodies[s.index]
		if b.y == c.low || b.y == c.high {
			g.markHeightsStale(number)
		}
		*b = gridBody{slot, at.X, at.Y, at.Z}
		c.low, c.high = min(c.low, at.Y), max(c.high, at.Y)
		return
	}
	g.removeBody(slot)
	c := &g.cells[number]
	c.changed = g.capture
	if len(c.bodies) == 0 {
		c.low, c.high = at.Y, at.Y
	}
	c.low, c.high = min(c.low, at.Y), max(c.high, at.Y)
	*s = gridRef{number + 1, uint32(len(c.bodies)), at}
	c.bodies = append(c.bodies, gridBody{slot, at.X, at.Y, at.Z})
}

// prefetchBody reads the memory that putBody changes if the body stays in its cell. Calling
// it for many slots in a row overlaps their cache misses.
func (g *grid) prefetchBody(slot uint32) uint32 {
	if int(slot) >= len(g.refs) || g.refs[slot].cell == 0 {
		return 0
	}
	s := &g.refs[slot]
	return g.cells[s.cell-1].bodies[s.index].slot
}

// positionOf returns the position of a slot's body; ok is false if the slot has none.
func (g *grid) positionOf(slot uint32) (at world.Vec3, ok bool) {
	if int(slot) >= len(g.refs) {
		return at, false
	}
	s := &g.refs[slot]
	return s.at, s.cell != 0
}

// removeBody removes the body of a slot, if it has one.
func (g *grid) removeBody(slot uint32) {
	if int(slot) >= len(g.refs) || g.refs[slot].cell == 0 {
		return
	}
	s := g.refs[slot]
	g.refs[slot] = gridRef{}
	c := &g.cells[s.cell-1]
	c.changed = g.capture
	if y := c.bodies[s.index].y; y == c.low || y == c.high {
		g.markHeightsStale(s.cell - 1)
	}
	last := len(c.bodies) - 1
	if int(s.index) != last {
		c.bodies[s.index] = c.bodies[last]
		g.refs[c.bodies[s.index].slot].index = s.index
	}
	c.bodies = c.bodies[:last]
}

func (g *grid) markHeightsStale(number int32) {
	if c := &g.cells[number]; !c.heightsStale {
		c.heightsStale = true
		g.staleHeights = append(g.staleHeights, number)
	}
}

// endCapture ends a capture: later changes belong to the next.
func (g *grid) endCapture() {
	g.updateHeights()
	g.capture++
}

// updateHeights measures the heights of cells whose lowest or highest body moved.
func (g *grid) updateHeights() {
	for _, number := range g.staleHeights {
		c := &g.cells[number]
		c.heightsStale = false
		if len(c.bodies) == 0 {
			continue
		}
		c.low, c.high = c.bodies[0].y, c.bodies[0].y
		for i := range c.bodies {
			c.low, c.high = min(c.low, c.bodies[i].y), max(c.high, c.bodies[i].y)
		}
	}
	g.staleHeights = g.staleHeights[:0]
}

// slackDivisor sets the slack to 1/1024 of a cell's size. That exceeds the rounding error
// that may put a body outside its cell: cells are at least 1/256 of the world.
const slackDivisor = 1024

// axisDistances returns the squares of the smallest and of the largest distance along
// one axis from a point to cell i of n. The slack covers rounding, and the outermost
// cells extend to infinity.
func (g *grid) axisDistances(i, n int32, half, from float32) (near, far float32) {
	slack := g.cellSize / slackDivisor
	low, high := float32(float32(i)*g.cellSize)-half-slack, float32(float32(i+1)*g.cellSize)-half+slack
	if i == 0 {
		low = float32(math.Inf(-1))
	}
	if i == n-1 {
		high = float32(math.Inf(1))
	}
	near = max(low-from, from-high, 0)
	far = max(from-low, high-from)
	return float32(near * near), float32(far * far)
}

// distance2 returns the squared distance of two points. Products are rounded before they
// are added: the result is the same on every machine.
func distance2(a, b world.Vec3) float32 {
	x, y, z := a.X-b.X, a.Y-b.Y, a.Z-b.Z
	return float32(x*x) + float32(y*y) + float32(z*z)
}

func sqrt(x float32) float32 { return float32(math.Sqrt(float64(x))) }

func square(x float32) float32 { return float32(x * x) }
