package replication

import (
	"math"

	"github.com/worldd/worldd/world"
)

// places finds the bodies of a frame by place. The world has a grid of its own,
// which moves on with the next step and has the cells that contacts want; this
// one is of the frame, and its cells are a share of the enter radius. A body
// lies in its cell's list with its position, so that a sweep reads memory in
// order, and each cell knows the box of its bodies: of a cell that is wholly
// within a radius, or wholly beyond, nobody is asked for his distance.
type grid struct {
	halfX, halfZ  float32
	cellsPerMetre float32   // cells a metre
	cellSize      float32   // metres
	columns       int32     // cells along x
	rows          int32     // cells along z
	cells         []cell    // by z*columns + x
	refs          []gridRef // by slot
	staleHeights  []int32   // cells whose heights must be measured anew
	capture       uint64    // the capture that is made or to come
}

// cell is a column of air. Its bodies come in no order: a sweep puts them in
// order of slots.
type cell struct {
	bodies       []gridBody
	low, high    float32 // heights, of the lowest body and of the highest
	changed      uint64  // the last capture for which a body here came, went, moved or changed
	heightsStale bool    // low or high may be too far out
}

type gridBody struct {
	slot    uint32
	x, y, z float32
}

// stand says where a slot's body lies.
type gridRef struct {
	cell  int32 // its number plus one; 0: the slot has no body
	index uint32
}

const (
	// cellsARadius: more cells are more to visit, fewer are more bodies in the
	// cells that a radius cuts, whose distance is asked for. See BENCHMARKS.md.
	cellsPerRadius = 4
	// maxCellsAlong bounds the memory of a world in which players see little:
	// 65,536 cells are 3 MiB.
	maxCellsPerAxis = 256
)

func newGrid(half world.Vec3, enterRadius float32) grid {
	edge := max(enterRadius/cellsPerRadius, 2*max(half.X, half.Z)/maxCellsPerAxis)
	p := grid{halfX: half.X, halfZ: half.Z, cellsPerMetre: 1 / edge, cellSize: edge}
	p.columns, p.rows = int32(2*half.X/edge)+1, int32(2*half.Z/edge)+1
	p.cells = make([]cell, int(p.columns)*int(p.rows))
	return p
}

// along returns the cell along one axis; what lies outside is in the outermost.
// NaN counts as far below.
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

func (p *grid) column(x float32) int32 { return cellIndex(x, p.halfX, p.cellsPerMetre, p.columns) }
func (p *grid) row(z float32) int32    { return cellIndex(z, p.halfZ, p.cellsPerMetre, p.rows) }

// put notes that the body of a slot is at a place.
func (p *grid) put(slot uint32, at world.Vec3) {
	for int(slot) >= len(p.refs) {
		p.refs = append(p.refs, gridRef{})
	}
	number := p.row(at.Z)*p.columns + p.column(at.X)
	s := &p.refs[slot]
	if s.cell == number+1 {
		c := &p.cells[number]
		c.changed = p.capture
		b := &c.bodies[s.index]
		if b.y == c.low || b.y == c.high {
			p.markHeightsStale(number)
		}
		*b = gridBody{slot, at.X, at.Y, at.Z}
		c.low, c.high = min(c.low, at.Y), max(c.high, at.Y)
		return
	}
	p.remove(slot)
	c := &p.cells[number]
	c.changed = p.capture
	if len(c.bodies) == 0 {
		c.low, c.high = at.Y, at.Y
	}
	c.low, c.high = min(c.low, at.Y), max(c.high, at.Y)
	*s = gridRef{number + 1, uint32(len(c.bodies))}
	c.bodies = append(c.bodies, gridBody{slot, at.X, at.Y, at.Z})
}

// body returns the body of a slot, or nil.
func (p *grid) body(slot uint32) *gridBody {
	if int(slot) >= len(p.refs) || p.refs[slot].cell == 0 {
		return nil
	}
	return &p.cells[p.refs[slot].cell-1].bodies[p.refs[slot].index]
}

// remove takes the body of a slot out, if it has one.
func (p *grid) remove(slot uint32) {
	if int(slot) >= len(p.refs) || p.refs[slot].cell == 0 {
		return
	}
	s := p.refs[slot]
	p.refs[slot] = gridRef{}
	c := &p.cells[s.cell-1]
	c.changed = p.capture
	if y := c.bodies[s.index].y; y == c.low || y == c.high {
		p.markHeightsStale(s.cell - 1)
	}
	last := len(c.bodies) - 1
	if int(s.index) != last {
		c.bodies[s.index] = c.bodies[last]
		p.refs[c.bodies[s.index].slot].index = s.index
	}
	c.bodies = c.bodies[:last]
}

func (p *grid) markHeightsStale(number int32) {
	if c := &p.cells[number]; !c.heightsStale {
		c.heightsStale = true
		p.staleHeights = append(p.staleHeights, number)
	}
}

// settle measures the heights of the cells whose lowest or highest body moved.
func (p *grid) updateHeights() {
	for _, number := range p.staleHeights {
		c := &p.cells[number]
		c.heightsStale = false
		if len(c.bodies) == 0 {
			continue
		}
		c.low, c.high = c.bodies[0].y, c.bodies[0].y
		for i := range c.bodies {
			c.low, c.high = min(c.low, c.bodies[i].y), max(c.high, c.bodies[i].y)
		}
	}
	p.staleHeights = p.staleHeights[:0]
}

// slackShare is the share of a cell's edge by which rounding may put a body
// outside of its cell, and some more: cells are at least 1/256 of the world.
const slackDivisor = 1024

// span returns the squares of the least and of the largest distance along one
// axis from a point to cell number i of n. The slack outweighs what rounding
// puts into a cell, and the outermost cells hold all that lies beyond.
func (p *grid) axisDistances(i, n int32, half, from float32) (near, far float32) {
	slack := p.cellSize / slackDivisor
	low, high := float32(float32(i)*p.cellSize)-half-slack, float32(float32(i+1)*p.cellSize)-half+slack
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

// distance2 is the square of the distance to a point. Products are rounded
// before they are added, so that the bits are the same everywhere.
func (b *gridBody) distance2(from world.Vec3) float32 {
	x, y, z := b.x-from.X, b.y-from.Y, b.z-from.Z
	return float32(x*x) + float32(y*y) + float32(z*z)
}

func sqrt(x float32) float32 { return float32(math.Sqrt(float64(x))) }

func square(x float32) float32 { return float32(x * x) }
