package world

import (
	"math/bits"

	"github.com/worldd/worldd/world/motion"
)

// chunkRows is the number of rows in a block, the unit of work of one worker.
const chunkRows = motion.BatchRows

// chunk is the memory of one worker.
type chunk struct {
	batch  motion.Batch
	points int // points at which effects were evaluated, if this step counts them
}

// move steps the awake rows, in blocks that are independent of each other (W11).
func (w *World) move() {
	b := &w.bodies
	for len(b.Moved)*64 < b.len() {
		b.Moved, b.crossed, b.Stopped = append(b.Moved, 0), append(b.crossed, 0), append(b.Stopped, 0)
	}
	w.gatherForces()
	w.moved = true
	w.startCounting()
	w.workers.run((b.awakeEnd(b.len())+chunkRows-1)/chunkRows, w.moveBlocks)
	if w.order.counting {
		w.addLosses()
	}
	if w.mover != nil {
		w.disturbMoved()
		w.runMover()
	}
}

// nextMotion returns the tick in which bodies move next: the present tick if a step runs
// and has not moved them yet, otherwise the next tick.
func (w *World) nextMotion() uint64 {
	if w.running && !w.moved {
		return w.tick
	}
	return w.tick + 1
}

// gatherForces collects the effects of this step in the order of their slots (M2 of
// package motion).
func (w *World) gatherForces() {
	f := &w.effects
	f.forces.Reset()
	f.hidden = f.hidden[:0]
	f.boxed = 0
	live := f.pool.Live()
	for slot, ok := live.Next(0); ok; slot, ok = live.Next(slot + 1) {
		e := f.pool.At(slot)
		force := motion.Effect{
			Program: f.programs[slot], Params: f.params[slot], Mode: e.mode, Reach: e.Reach,
			Time: w.motion.Seconds(w.tick - e.born),
		}
		if err := f.forces.Add(&force); err != nil {
			panic("world: W9: an effect that AddEffect accepted: " + err.Error())
		}
		if e.Boxed {
			f.boxed++
		}
		if e.hidden {
			f.hidden = append(f.hidden, e.Reach)
			w.disturbReached(e)
		}
	}
	for i := range w.workers.chunks {
		w.workers.chunks[i].batch.Reserve(&f.forces)
	}
}

// moveBlock steps the awake rows of one block.
func (w *World) moveBlock(c *chunk, block int) {
	b, forces := &w.bodies, &w.effects.forces
	first := block * chunkRows
	end := min(first+chunkRows, b.awakeEnd(b.len()))
	for from, to := b.awakeRange(first, chunkRows); from < to && from < end; from, to = b.awakeRange(to, chunkRows) {
		to = min(to, end)
		if w.order.counting {
			c.points += forces.Work(&b.Bodies, from, to)
		}
		if w.mover == nil {
			w.motion.Step(&c.batch, forces, &b.Bodies, from, to)
		} else {
			w.motion.Accelerate(&c.batch, forces, &b.Bodies, from, to)
		}
	}
	if w.mover == nil {
		w.findCrossed(first, end)
	}
}

// findCrossed finds the rows of a block that may have entered another grid cell, while the
// rows are in the cache. If few of 64 rows moved, it marks all of these for updateCell.
func (w *World) findCrossed(first, end int) {
	b := &w.bodies
	for from := first; from < end; from += 64 {
		moved, to := b.Moved[from>>6], min(from+64, end)
		if bits.OnesCount64(moved) > 16 {
			moved &= w.grid.outsideMask(b.Pos.X[from:to], b.Pos.Z[from:to], b.cell[from:to])
		}
		b.crossed[from>>6] = moved
	}
}

// updateCell updates the grid to a row's position.
func (w *World) updateCell(row int) {
	b := &w.bodies
	c := w.grid.cellOf(b.Pos.X[row], b.Pos.Z[row])
	if c == b.cell[row] {
		return
	}
	w.grid.remove(b.cell[row], b.slot[row])
	w.grid.insert(c, b.slot[row])
	b.cell[row] = c
}

// syncMoved marks the bodies that moved as changed, and updates the grid for those that
// left their cell.
func (w *World) syncMoved() {
	b := &w.bodies
	for i, word := range b.Moved[:min((b.awakeEnd(b.len())+63)>>6, len(b.Moved))] { // a Mover may have spawned bodies
		if word == 0 {
			continue
		}
		b.Moved[i] = 0
		for rest := word; rest != 0; rest &= rest - 1 {
			w.movedSlots.Set(b.slot[i<<6|bits.TrailingZeros64(rest)])
		}
		crossed := b.crossed[i]
		b.crossed[i] = 0
		if w.cfg.Bounds == BoundsDestroy {
			crossed = word
		}
		for ; crossed != 0; crossed &= crossed - 1 {
			w.confine(i<<6 | bits.TrailingZeros64(crossed))
		}
	}
}

// confine updates the grid for a row that moved. Under BoundsDestroy it dooms a body
// that left the world and keeps it on the bound for the rest of the step (W5).
func (w *World) confine(row int) {
	b := &w.bodies
	if w.cfg.Bounds == BoundsDestroy {
		if at := b.Position(row); w.motion.Clamp(at) != at {
			b.SetPosition(row, w.motion.Clamp(at))
			w.doomed.Set(b.slot[row])
		}
	}
	w.updateCell(row)
}
