package world

import (
	"math"

	"github.com/worldd/worldd/internal/invariants"
	"github.com/worldd/worldd/world/motion"
)

// noRow is the row of an entity without a body.
const noRow = -1

// bodies holds one row per body in parallel columns, awake rows first (W2). Constants
// of a kind are looked up by Kind.
type bodies struct {
	motion.Bodies // syncMoved processes Moved, quarantineStopped processes Stopped

	slot    []uint32
	cell    []int32
	crossed []uint64 // one bit per row that moved and may be in another grid cell

	compaction // compacts all columns above
}

func (b *bodies) init(mode Compaction) {
	b.mode, b.owner = mode, &b.slot
	b.columns = []rowColumn{
		&rows[float32]{values: &b.Pos.X}, &rows[float32]{values: &b.Pos.Y}, &rows[float32]{values: &b.Pos.Z},
		&rows[float32]{values: &b.Vel.X}, &rows[float32]{values: &b.Vel.Y}, &rows[float32]{values: &b.Vel.Z},
		&rows[uint32]{values: &b.Rest}, &rows[uint32]{values: &b.slot},
		&rows[int32]{values: &b.cell}, &rows[KindID]{values: &b.Kind},
	}
}

func (b *bodies) len() int { return len(b.slot) }

// requestWake requests that row be awake and restarts its rest timer. It is idempotent.
func (b *bodies) requestWake(row int) {
	b.Rest[row] = 0
	b.requestAwake(row, true)
}

// requestSleep requests that row be asleep and stops the body at once (W4).
func (b *bodies) requestSleep(row int) {
	b.FallAsleep(row)
	b.requestAwake(row, false)
}

// addBody appends a sleeping row with a request to wake: no other row moves.
func (w *World) addBody(slot uint32, k KindID, at, velocity Vec3) {
	b := &w.bodies
	row := b.len()
	b.Pos.X, b.Pos.Y, b.Pos.Z = append(b.Pos.X, at.X), append(b.Pos.Y, at.Y), append(b.Pos.Z, at.Z)
	b.Vel.X, b.Vel.Y, b.Vel.Z = append(b.Vel.X, velocity.X), append(b.Vel.Y, velocity.Y), append(b.Vel.Z, velocity.Z)
	b.Rest = append(b.Rest, 0)
	b.slot = append(b.slot, slot)
	b.Kind = append(b.Kind, k)
	b.cell = append(b.cell, w.grid.cellOf(at.X, at.Z))
	b.flips.reserve(row + 1)
	w.grid.insert(b.cell[row], slot)
	w.rowOf[slot] = int32(row)
	w.sleepState.newborn.Set(slot)
	w.recordMove(row, true)
	w.volumes.markDisplaced(slot)
	w.disturb(slot)
	w.requestGroupWake(row)
}

// removeBody removes a row. Unless compaction is InPlace, the last awake row first moves into
// the gap of an awake row. The last row then fills the gap that is left (W2).
func (w *World) removeBody(row int) {
	b := &w.bodies
	w.requestGroupWake(row) // wake the bodies that touch the removed one
	w.grid.remove(b.cell[row], b.slot[row])
	w.rowOf[b.slot[row]] = noRow
	w.sleepState.awake.Clear(b.slot[row])
	w.sleepState.newborn.Clear(b.slot[row])
	w.volumes.displaced.Clear(b.slot[row])
	if b.isAwake(row) {
		b.awake--
		if b.mode != InPlace {
			w.replaceRow(row, b.awake)
			row = b.awake
		}
	}
	last := b.len() - 1
	w.replaceRow(row, last)
	b.dropBits(uint32(last))
	b.truncate(last)
}

// replaceRow moves row from to row to, which no slot owns any more.
func (w *World) replaceRow(to, from int) {
	if to == from {
		return
	}
	b := &w.bodies
	b.markWritten(uint32(to))
	b.Pos.X[to], b.Pos.Y[to], b.Pos.Z[to] = b.Pos.X[from], b.Pos.Y[from], b.Pos.Z[from]
	b.Vel.X[to], b.Vel.Y[to], b.Vel.Z[to] = b.Vel.X[from], b.Vel.Y[from], b.Vel.Z[from]
	b.Rest[to], b.slot[to], b.cell[to], b.Kind[to] = b.Rest[from], b.slot[from], b.cell[from], b.Kind[from]
	b.moveBits(uint32(to), uint32(from))
	w.rowOf[b.slot[to]] = int32(to)
}

// truncate drops the rows from n on. Checked builds overwrite them with NaN.
func (b *bodies) truncate(n int) {
	if invariants.Enabled {
		nan := float32(math.NaN())
		for _, c := range [][]float32{b.Pos.X, b.Pos.Y, b.Pos.Z, b.Vel.X, b.Vel.Y, b.Vel.Z} {
			c[n] = nan
		}
	}
	b.Pos.X, b.Pos.Y, b.Pos.Z = b.Pos.X[:n], b.Pos.Y[:n], b.Pos.Z[:n]
	b.Vel.X, b.Vel.Y, b.Vel.Z = b.Vel.X[:n], b.Vel.Y[:n], b.Vel.Z[:n]
	b.Rest, b.slot, b.cell, b.Kind = b.Rest[:n], b.slot[:n], b.cell[:n], b.Kind[:n]
}
