package replication

import (
	"bytes"
	"encoding/binary"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/world"
)

// candidates is the result of one viewer's interest query, one bit per slot. It is scratch
// memory, empty between viewers. A byte marks each word that may have a bit. Storing a byte
// reads nothing, whereas setting bits of a summary made a thousand bodies a chain of
// dependent loads.
type candidates struct {
	inside    []uint64  // within the query's radius, or confirmed
	confirmed []uint64  // visible at any distance, or known to be within the enter radius
	touched   []byte    // marks, by word; a multiple of 8
	farX      []float32 // by column of cells: the squared largest distance along x
}

func (s *candidates) reserveSlots(slots int) {
	words := (slots + 511) >> 9 << 3
	if words > len(s.inside) {
		s.inside, s.confirmed, s.touched = make([]uint64, words), make([]uint64, words), make([]byte, words)
	}
}

// addConfirmed adds confirmed candidates of a word. Slots beyond the reserved ones are ignored.
func (s *candidates) addConfirmed(word uint32, mask uint64) {
	if word < uint32(len(s.inside)) {
		s.inside[word] |= mask
		s.confirmed[word] |= mask
		s.touched[word] = 1
	}
}

// addWithin adds the bodies at most radius from a centre, from the cells that changed after
// a capture.
func (s *candidates) addWithin(g *grid, center world.Vec3, radius float32, capture uint64) {
	limit := float32(radius * radius)
	slack := g.cellSize / slackDivisor
	x0, x1 := g.columnOf(center.X-radius-slack), g.columnOf(center.X+radius+slack)
	z0, z1 := g.rowOf(center.Z-radius), g.rowOf(center.Z+radius)
	s.farX = s.farX[:0]
	for x := x0; x <= x1; x++ {
		_, far := g.axisDistances(x, g.columns, g.halfX, center.X)
		s.farX = append(s.farX, far)
	}
	for z := z0; z <= z1; z++ {
		near, far := g.axisDistances(z, g.rows, g.halfZ, center.Z)
		if near > limit {
			continue
		}
		reach := sqrt(limit-near) + slack
		from, to := max(g.columnOf(center.X-reach), x0), min(g.columnOf(center.X+reach), x1)
		cells := g.cells[z*g.columns+from : z*g.columns+to+1]
		farX := s.farX[from-x0:][:len(cells)]
		for i := range cells {
			c := &cells[i]
			if c.changed <= capture || len(c.bodies) == 0 {
				continue
			}
			if y := max(center.Y-c.low, c.high-center.Y); farX[i]+far+float32(y*y) <= limit {
				s.addCell(c)
			} else {
				s.addCellWithin(c, center, limit)
			}
		}
	}
}

func (s *candidates) addCell(c *cell) {
	inside, touched := s.inside, s.touched[:len(s.inside)]
	bodies := c.bodies
	for i := range bodies {
		slot := bodies[i].slot
		word := slot >> 6
		inside[word] |= 1 << (slot & 63)
		touched[word] = 1
	}
}

// addCellWithin adds the bodies of a cell that are close enough, without a branch on the
// distance: the branch would be unpredictable.
func (s *candidates) addCellWithin(c *cell, center world.Vec3, limit float32) {
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

// drainWords empties s and calls f for each word with candidates. It tests eight words at
// once: most marked words have no candidate left.
func (s *candidates) drainWords(f func(word uint32, mask, confirmed uint64)) {
	for i := s.nextMarked(0); i < len(s.touched); i = s.nextMarked(i + 8) {
		binary.LittleEndian.PutUint64(s.touched[i:], 0)
		inside, confirmed := (*[8]uint64)(s.inside[i:]), (*[8]uint64)(s.confirmed[i:])
		if inside[0]|inside[1]|inside[2]|inside[3]|inside[4]|inside[5]|inside[6]|inside[7] != 0 {
			for w, mask := range inside {
				if mask != 0 {
					f(uint32(i+w), mask, confirmed[w])
				}
			}
			*inside = [8]uint64{}
		}
		*confirmed = [8]uint64{}
	}
}

// keepOnly intersects each word of candidates with keep(word).
func (s *candidates) keepOnly(keep func(word uint32) uint64) {
	for i := s.nextMarked(0); i < len(s.touched); i = s.nextMarked(i + 8) {
		for w := i; w < i+8; w++ {
			if s.touched[w] != 0 {
				s.inside[w] &= keep(uint32(w))
			}
		}
	}
}

// nextMarked returns the first group of 8 words at or after i with a mark, or the number of
// words. IndexByte skips the unmarked rest of a large world.
func (s *candidates) nextMarked(i int) int {
	if i >= len(s.touched) || binary.LittleEndian.Uint64(s.touched[i:]) != 0 {
		return i
	}
	next := bytes.IndexByte(s.touched[i:], 1)
	if next < 0 {
		return len(s.touched)
	}
	return (i + next) &^ 7
}

// addSet adds the members of a set as confirmed candidates.
func (s *candidates) addSet(set bulk.BitsetView) {
	for word, mask := range bulk.Or(set) {
		s.addConfirmed(word, mask)
	}
}
