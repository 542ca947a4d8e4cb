package replication

import "github.com/worldd/worldd/world"

// places finds the bodies of a frame by place. The world has a grid of its own,
// which moves on with the next step and has the cells that contacts want; this
// one is of the frame, and its cells are a share of the enter radius. A body
// lies in its cell's list with its position, so that a sweep reads memory in
// order, and each cell knows the box of its bodies: of a cell that is wholly
// within a radius, or wholly beyond, nobody is asked for his distance.
type places struct {
	halfX, halfZ float32
	perMetre     float32 // cells a metre
	edge         float32 // metres
	columns      int32   // cells along x
	rows         int32   // cells along z
	cells        []cell  // by z*columns + x
	where        []stand // by slot
	loose        []int32 // cells whose heights must be measured anew
	now          uint64  // the capture that is made or to come
}

// cell is a column of air. Its bodies come in no order: a sweep puts them in
// order of slots.
type cell struct {
	bodies    []placed
	low, high float32 // heights, of the lowest body and of the highest
	changed   uint64  // the last capture for which a body here came, went, moved or changed
	loose     bool    // low or high may be too far out
}

type placed struct {
	slot    uint32
	x, y, z float32
}

// stand says where a slot's body lies.
type stand struct {
	cell int32 // its number plus one; 0: the slot has no body
	at   uint32
}

const (
	// cellsARadius: more cells are more to visit, fewer are more bodies in the
	// cells that a radius cuts, whose distance is asked for. See BENCHMARKS.md.
	cellsARadius = 4
	// maxCellsAlong bounds the memory of a world in which players see little:
	// 65,536 cells are 3 MiB.
	maxCellsAlong = 256
)

func newPlaces(half world.Vec3, enterRadius float32) places {
	edge := max(enterRadius/cellsARadius, 2*max(half.X, half.Z)/maxCellsAlong)
	p := places{halfX: half.X, halfZ: half.Z, perMetre: 1 / edge, edge: edge}
	p.columns, p.rows = int32(2*half.X/edge)+1, int32(2*half.Z/edge)+1
	p.cells = make([]cell, int(p.columns)*int(p.rows))
	return p
}

// along returns the cell along one axis; what lies outside is in the outermost.
// NaN counts as far below.
func along(x, half, perMetre float32, n int32) int32 {
	f := float32(x+half) * perMetre
	switch {
	case !(f > 0):
		return 0
	case f >= float32(n):
		return n - 1
	}
	return min(int32(f), n-1)
}

func (p *places) column(x float32) int32 { return along(x, p.halfX, p.perMetre, p.columns) }
func (p *places) row(z float32) int32    { return along(z, p.halfZ, p.perMetre, p.rows) }

// put notes that the body of a slot is at a place.
func (p *places) put(slot uint32, at world.Vec3) {
	for int(slot) >= len(p.where) {
		p.where = append(p.where, stand{})
	}
	number := p.row(at.Z)*p.columns + p.column(at.X)
	s := &p.where[slot]
	if s.cell == number+1 {
		c := &p.cells[number]
		c.changed = p.now
		b := &c.bodies[s.at]
		if b.y == c.low || b.y == c.high {
			p.loosen(number)
		}
		*b = placed{slot, at.X, at.Y, at.Z}
		c.low, c.high = min(c.low, at.Y), max(c.high, at.Y)
		return
	}
	p.remove(slot)
	c := &p.cells[number]
	c.changed = p.now
	if len(c.bodies) == 0 {
		c.low, c.high = at.Y, at.Y
	}
	c.low, c.high = min(c.low, at.Y), max(c.high, at.Y)
	*s = stand{number + 1, uint32(len(c.bodies))}
	c.bodies = append(c.bodies, placed{slot, at.X, at.Y, at.Z})
}

// body returns the body of a slot, or nil.
func (p *places) body(slot uint32) *placed {
	if int(slot) >= len(p.where) || p.where[slot].cell == 0 {
		return nil
	}
	return &p.cells[p.where[slot].cell-1].bodies[p.where[slot].at]
}

// remove takes the body of a slot out, if it has one.
func (p *places) remove(slot uint32) {
	if int(slot) >= len(p.where) || p.where[slot].cell == 0 {
		return
	}
	s := p.where[slot]
	p.where[slot] = stand{}
	c := &p.cells[s.cell-1]
	c.changed = p.now
	if y := c.bodies[s.at].y; y == c.low || y == c.high {
		p.loosen(s.cell - 1)
	}
	last := len(c.bodies) - 1
	if int(s.at) != last {
		c.bodies[s.at] = c.bodies[last]
		p.where[c.bodies[s.at].slot].at = s.at
	}
	c.bodies = c.bodies[:last]
}

func (p *places) loosen(number int32) {
	if c := &p.cells[number]; !c.loose {
		c.loose = true
		p.loose = append(p.loose, number)
	}
}

// settle measures the heights of the cells whose lowest or highest body moved.
func (p *places) settle() {
	for _, number := range p.loose {
		c := &p.cells[number]
		c.loose = false
		if len(c.bodies) == 0 {
			continue
		}
		c.low, c.high = c.bodies[0].y, c.bodies[0].y
		for i := range c.bodies {
			c.low, c.high = min(c.low, c.bodies[i].y), max(c.high, c.bodies[i].y)
		}
	}
	p.loose = p.loose[:0]
}
