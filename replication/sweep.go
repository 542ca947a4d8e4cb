package replication

import (
	"encoding/binary"
	"math"
	"math/bits"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/world"
)

// sweep is what lies around one viewer, as bits by slot: scratch, empty between
// two viewers. Words that may have a bit are marked by a byte each: a byte is
// stored without being read, so that a thousand bodies are not a thousand steps
// that wait for each other, as they were with a summary of bits.
type sweep struct {
	inside  []uint64  // within a radius, or in sure
	sure    []uint64  // to be shown at any distance, or found to be within the enter radius
	touched []byte    // by word; a multiple of 8
	far     []float32 // by column of cells: square of the largest distance along x
}

// reserve makes room for so many slots.
func (s *sweep) reserve(slots int) {
	words := (slots + 511) >> 9 << 3
	if words > len(s.inside) {
		s.inside, s.sure, s.touched = make([]uint64, words), make([]uint64, words), make([]byte, words)
	}
}

// add adds some of 64 neighbours to those inside, for sure, as far as there is room
// for them.
func (s *sweep) add(word uint32, mask uint64) {
	if word < uint32(len(s.inside)) {
		s.inside[word] |= mask
		s.sure[word] |= mask
		s.touched[word] = 1
	}
}

// slackShare is the share of a cell's edge by which rounding may put a body
// outside of its cell, and some more: cells are at least 1/256 of the world.
const slackShare = 1024

// look finds the bodies within a radius of a centre, its surface included, in the
// cells that changed after a capture: all of them, or those in a set of who changed,
// if there is one.
func (s *sweep) look(p *places, center world.Vec3, radius float32, changed *bulk.Bitset, capture uint64) {
	limit := float32(radius * radius)
	slack := p.edge / slackShare
	x0, x1 := p.column(center.X-radius-slack), p.column(center.X+radius+slack)
	z0, z1 := p.row(center.Z-radius), p.row(center.Z+radius)
	s.far = s.far[:0]
	for x := x0; x <= x1; x++ {
		_, far := p.span(x, p.columns, p.halfX, center.X)
		s.far = append(s.far, far)
	}
	for z := z0; z <= z1; z++ {
		near, far := p.span(z, p.rows, p.halfZ, center.Z)
		if near > limit {
			continue
		}
		reach := sqrt(limit-near) + slack
		from, to := max(p.column(center.X-reach), x0), min(p.column(center.X+reach), x1)
		cells := p.cells[z*p.columns+from : z*p.columns+to+1]
		farX := s.far[from-x0:][:len(cells)]
		for i := range cells {
			c := &cells[i]
			if c.changed <= capture || len(c.bodies) == 0 {
				continue
			}
			if changed != nil {
				s.addChanged(c, changed, center, limit)
			} else if y := max(center.Y-c.low, c.high-center.Y); farX[i]+far+float32(y*y) <= limit {
				s.addAll(c)
			} else {
				s.measure(c, center, limit)
			}
		}
	}
}

// span returns the squares of the least and of the largest distance along one
// axis from a point to cell number i of n. The slack outweighs what rounding
// puts into a cell, and the outermost cells hold all that lies beyond.
func (p *places) span(i, n int32, half, from float32) (near, far float32) {
	slack := p.edge / slackShare
	low, high := float32(float32(i)*p.edge)-half-slack, float32(float32(i+1)*p.edge)-half+slack
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

// addAll adds the bodies of a cell.
func (s *sweep) addAll(c *cell) {
	inside, touched := s.inside, s.touched[:len(s.inside)]
	bodies := c.bodies
	for i := range bodies {
		slot := bodies[i].slot
		word := slot >> 6
		inside[word] |= 1 << (slot & 63)
		touched[word] = 1
	}
}

// measure adds the bodies of a cell that are close enough. It has no branch for
// what is as good as random.
func (s *sweep) measure(c *cell, center world.Vec3, limit float32) {
	inside, touched := s.inside, s.touched[:len(s.inside)]
	bodies := c.bodies
	for i := range bodies {
		b := &bodies[i]
		x, y, z := b.x-center.X, b.y-center.Y, b.z-center.Z
		bit := uint64(0)
		if float32(x*x)+float32(y*y)+float32(z*z) <= limit {
			bit = 1
		}
		word := b.slot >> 6
		inside[word] |= bit << (b.slot & 63)
		touched[word] = 1
	}
}

// addChanged adds the bodies of a cell that changed and are close enough: few.
func (s *sweep) addChanged(c *cell, changed *bulk.Bitset, center world.Vec3, limit float32) {
	bodies := c.bodies
	for i := range bodies {
		if b := &bodies[i]; changed.Has(b.slot) && b.distance2(center) <= limit {
			s.inside[b.slot>>6] |= 1 << (b.slot & 63)
			s.touched[b.slot>>6] = 1
		}
	}
}

// distance2 is the square of the distance to a point. Products are rounded
// before they are added, so that the bits are the same everywhere.
func (b *placed) distance2(from world.Vec3) float32 {
	x, y, z := b.x-from.X, b.y-from.Y, b.z-from.Z
	return float32(x*x) + float32(y*y) + float32(z*z)
}

func sqrt(x float32) float32 { return float32(math.Sqrt(float64(x))) }

// take empties the sweep and calls f for the words with slots that are inside, and
// which of these are so for sure.
func (s *sweep) take(f func(word uint32, mask, sure uint64)) {
	for i := 0; i < len(s.touched); i += 8 {
		eight := s.touched[i : i+8]
		marks := binary.LittleEndian.Uint64(eight)
		if marks == 0 {
			continue
		}
		clear(eight)
		for ; marks != 0; marks &= marks - 1 {
			w := i + bits.TrailingZeros64(marks)>>3
			mask, sure := s.inside[w], s.sure[w]
			s.inside[w], s.sure[w] = 0, 0
			if mask != 0 {
				f(uint32(w), mask, sure)
			}
		}
	}
}

// restrict keeps of those inside whom keep allows of each word.
func (s *sweep) restrict(keep func(word uint32) uint64) {
	for w, mark := range s.touched {
		if mark != 0 {
			s.inside[w] &= keep(uint32(w))
		}
	}
}

// addSet adds the members of a set to those inside.
func (s *sweep) addSet(set *bulk.Bitset) {
	for word, mask := range bulk.Or(set) {
		s.add(word, mask)
	}
}
