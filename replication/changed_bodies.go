package replication

import (
	"math/bits"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/world"
)

// changedBodies holds the bodies of changed slots by position. Viewers with the same
// changes share it, and each reads only the bodies around it, in memory order.
type changedBodies struct {
	capture uint64     // the capture for which it was built
	shift   uint       // a block is 1<<shift cells along x
	blocks  int32      // blocks along x
	starts  []uint32   // by block: index of its first body
	bodies  []gridBody // by block
	blockOf []uint32   // scratch: block and slot of each body
}

// maxBlocks bounds the number of blocks: a build visits every block.
const maxBlocks = 1 << 13

// sortByBlock sorts the bodies of slots by block with a counting sort.
func (b *changedBodies) sortByBlock(g *grid, slots *bulk.Bitset) {
	for b.shift = 0; (g.columns>>b.shift+1)*g.rows > maxBlocks; b.shift++ {
	}
	b.blocks = g.columns>>b.shift + 1
	n := int(b.blocks * g.rows)
	if b.starts == nil {
		b.starts = make([]uint32, n+2)
	}
	clear(b.starts)
	counts := b.starts[2:] // shifted by two: placing bodies advances starts[block+1]
	b.blockOf = b.blockOf[:0]
	for word, mask := range bulk.Or(slots.View()) {
		for ; mask != 0; mask &= mask - 1 {
			slot := word<<6 | uint32(bits.TrailingZeros64(mask))
			if _, ok := g.positionOf(slot); ok {
				number := b.blockOfCell(g, g.refs[slot].cell-1)
				counts[number]++
				b.blockOf = append(b.blockOf, uint32(number), slot)
			}
		}
	}
	for i := 1; i < n; i++ {
		counts[i] += counts[i-1]
	}
	if bodies := len(b.blockOf) / 2; bodies > cap(b.bodies) {
		b.bodies = make([]gridBody, bodies+bodies/4)
	}
	b.bodies = b.bodies[:len(b.blockOf)/2]
	for i := 0; i < len(b.blockOf); i += 2 {
		at, slot := &b.starts[b.blockOf[i]+1], b.blockOf[i+1]
		p := g.refs[slot].at
		b.bodies[*at] = gridBody{slot, p.X, p.Y, p.Z}
		*at++
	}
}

// blockOfCell returns the block of a cell.
func (b *changedBodies) blockOfCell(g *grid, cell int32) int32 {
	return cell/g.columns*b.blocks + cell%g.columns>>b.shift
}

// addChangedWithin adds the changed bodies at most radius from a centre. It tests every
// changed body in the surrounding square: they are few, and skipping the corners costs
// more. It does not branch on the distance: the branch would be unpredictable.
func (s *candidates) addChangedWithin(g *grid, b *changedBodies, center world.Vec3, radius float32) {
	limit, slack := float32(radius*radius), g.cellSize/slackDivisor
	inside, touched := s.inside, s.touched[:len(s.inside)]
	from, to := g.columnOf(center.X-radius-slack)>>b.shift, g.columnOf(center.X+radius+slack)>>b.shift
	for row, last := g.rowOf(center.Z-radius), g.rowOf(center.Z+radius); row <= last; row++ {
		starts := b.starts[row*b.blocks:]
		bodies := b.bodies[starts[from]:starts[to+1]]
		for i := range bodies {
			p := &bodies[i]
			x, y, z := p.x-center.X, p.y-center.Y, p.z-center.Z
			bit := uint64(0)
			if float32(x*x)+float32(y*y)+float32(z*z) <= limit {
				bit = 1
			}
			word := p.slot >> 6
			inside[word] |= bit << (p.slot & 63)
			touched[word] = 1
		}
	}
}
