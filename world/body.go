package world

import (
	"math"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/internal/invariants"
)

// noRow is the row of an entity without body.
const noRow = -1

// bodies holds one row for each body in parallel columns, awake rows first (W2).
// What all bodies of a kind share is looked up by kind.
type bodies struct {
	posX, posY, posZ []float32
	velX, velY, velZ []float32
	rest             []uint32 // ticks at rest
	slot             []uint32
	cell             []int32
	kind             []KindID

	awake   int         // rows [0, awake) are stepped
	goSleep bulk.Bitset // awake rows to be put to sleep by the next flush
	goWake  bulk.Bitset // sleeping rows to be woken by it
}

func (b *bodies) len() int { return len(b.slot) }

func (b *bodies) position(row int) Vec3 { return Vec3{b.posX[row], b.posY[row], b.posZ[row]} }

func (b *bodies) velocity(row int) Vec3 { return Vec3{b.velX[row], b.velY[row], b.velZ[row]} }

func (b *bodies) setPosition(row int, v Vec3) {
	b.posX[row], b.posY[row], b.posZ[row] = v.X, v.Y, v.Z
}

func (b *bodies) setVelocity(row int, v Vec3) {
	b.velX[row], b.velY[row], b.velZ[row] = v.X, v.Y, v.Z
}

// wake is the word that row is to be awake. It is idempotent, and a row that is
// awake starts to count its rest anew.
func (b *bodies) wake(row int) {
	b.rest[row] = 0
	if row >= b.awake {
		b.goWake.Set(uint32(row))
	} else {
		b.goSleep.Clear(uint32(row))
	}
}

// sleep is the word that row is to be asleep. It stops the body at once (W4).
func (b *bodies) sleep(row int) {
	b.rest[row] = 0
	b.setVelocity(row, Vec3{})
	if row < b.awake {
		b.goSleep.Set(uint32(row))
	} else {
		b.goWake.Clear(uint32(row))
	}
}

// wakeful says whether row will be awake after the next flush.
func (b *bodies) wakeful(row int) bool {
	if row < b.awake {
		return !b.goSleep.Has(uint32(row))
	}
	return b.goWake.Has(uint32(row))
}

// addBody appends a sleeping row that is about to wake: no other row moves.
func (w *World) addBody(slot uint32, k KindID, at, velocity Vec3) {
	b := &w.bodies
	row := b.len()
	b.posX, b.posY, b.posZ = append(b.posX, at.X), append(b.posY, at.Y), append(b.posZ, at.Z)
	b.velX, b.velY, b.velZ = append(b.velX, velocity.X), append(b.velY, velocity.Y), append(b.velZ, velocity.Z)
	b.rest = append(b.rest, 0)
	b.slot = append(b.slot, slot)
	b.kind = append(b.kind, k)
	b.cell = append(b.cell, w.grid.cellOf(at.X, at.Z))
	b.goWake.Set(uint32(row))
	w.grid.insert(b.cell[row], slot)
	w.rowOf[slot] = int32(row)
}

// removeBody closes the gap of an awake row with the last awake one, and the gap
// that this leaves, like that of a sleeping row, with the last of all (W2).
func (w *World) removeBody(row int) {
	b := &w.bodies
	w.grid.remove(b.cell[row], b.slot[row])
	w.rowOf[b.slot[row]] = noRow
	if row < b.awake {
		b.awake--
		w.replaceRow(row, b.awake)
		row = b.awake
	}
	last := b.len() - 1
	w.replaceRow(row, last)
	b.goSleep.Clear(uint32(last))
	b.goWake.Clear(uint32(last))
	b.truncate(last)
}

// replaceRow moves row from to row to, which nobody owns any more.
func (w *World) replaceRow(to, from int) {
	if to == from {
		return
	}
	b := &w.bodies
	b.posX[to], b.posY[to], b.posZ[to] = b.posX[from], b.posY[from], b.posZ[from]
	b.velX[to], b.velY[to], b.velZ[to] = b.velX[from], b.velY[from], b.velZ[from]
	b.rest[to], b.slot[to], b.cell[to], b.kind[to] = b.rest[from], b.slot[from], b.cell[from], b.kind[from]
	moveBit(&b.goSleep, uint32(to), uint32(from))
	moveBit(&b.goWake, uint32(to), uint32(from))
	w.rowOf[b.slot[to]] = int32(to)
}

func moveBit(set *bulk.Bitset, to, from uint32) {
	if set.Has(from) {
		set.Set(to)
		set.Clear(from)
	} else {
		set.Clear(to)
	}
}

// exchangeRows swaps two rows but not their bits, which the flush resets.
func (w *World) exchangeRows(i, j int) {
	b := &w.bodies
	b.posX[i], b.posX[j] = b.posX[j], b.posX[i]
	b.posY[i], b.posY[j] = b.posY[j], b.posY[i]
	b.posZ[i], b.posZ[j] = b.posZ[j], b.posZ[i]
	b.velX[i], b.velX[j] = b.velX[j], b.velX[i]
	b.velY[i], b.velY[j] = b.velY[j], b.velY[i]
	b.velZ[i], b.velZ[j] = b.velZ[j], b.velZ[i]
	b.rest[i], b.rest[j] = b.rest[j], b.rest[i]
	b.slot[i], b.slot[j] = b.slot[j], b.slot[i]
	b.cell[i], b.cell[j] = b.cell[j], b.cell[i]
	b.kind[i], b.kind[j] = b.kind[j], b.kind[i]
	w.rowOf[b.slot[i]], w.rowOf[b.slot[j]] = int32(i), int32(j)
}

// truncate drops the rows from n on, and poisons them in checked builds.
func (b *bodies) truncate(n int) {
	if invariants.Enabled {
		nan := float32(math.NaN())
		for _, c := range [][]float32{b.posX, b.posY, b.posZ, b.velX, b.velY, b.velZ} {
			c[n] = nan
		}
	}
	b.posX, b.posY, b.posZ = b.posX[:n], b.posY[:n], b.posZ[:n]
	b.velX, b.velY, b.velZ = b.velX[:n], b.velY[:n], b.velZ[:n]
	b.rest, b.slot, b.cell, b.kind = b.rest[:n], b.slot[:n], b.cell[:n], b.kind[:n]
}
