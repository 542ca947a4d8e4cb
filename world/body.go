package world

import (
	"math"

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
	moved            []uint64 // by row, a bit: got another place or velocity, and was not followed yet
	crossed          []uint64 // by row, a bit: and another grid cell, perhaps
	halted           []uint64 // by row, a bit: stopped, since its velocity was not finite, and not quarantined yet

	compaction // of all the above
}

func (b *bodies) init(mode Compaction) {
	b.mode, b.owner = mode, &b.slot
	b.columns = []rowColumn{
		&rows[float32]{values: &b.posX}, &rows[float32]{values: &b.posY}, &rows[float32]{values: &b.posZ},
		&rows[float32]{values: &b.velX}, &rows[float32]{values: &b.velY}, &rows[float32]{values: &b.velZ},
		&rows[uint32]{values: &b.rest}, &rows[uint32]{values: &b.slot},
		&rows[int32]{values: &b.cell}, &rows[KindID]{values: &b.kind},
	}
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
	b.say(row, true)
}

// sleep is the word that row is to be asleep. It stops the body at once (W4).
func (b *bodies) sleep(row int) {
	b.rest[row] = 0
	b.setVelocity(row, Vec3{})
	b.say(row, false)
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
	b.flips.reserve(row + 1)
	w.grid.insert(b.cell[row], slot)
	w.rowOf[slot] = int32(row)
	w.wakefulness.newborn.Set(slot)
	w.noteMove(row, true)
	w.volumes.displace(slot)
	w.rouse(row)
}

// removeBody closes the gap of an awake row with the last awake one, and the gap
// that this leaves, like that of a sleeping row, with the last of all (W2).
func (w *World) removeBody(row int) {
	b := &w.bodies
	w.rouse(row) // what touches it
	w.grid.remove(b.cell[row], b.slot[row])
	w.rowOf[b.slot[row]] = noRow
	w.wakefulness.awake.Clear(b.slot[row])
	w.wakefulness.newborn.Clear(b.slot[row])
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

// replaceRow moves row from to row to, which nobody owns any more.
func (w *World) replaceRow(to, from int) {
	if to == from {
		return
	}
	b := &w.bodies
	b.noteWritten(uint32(to))
	b.posX[to], b.posY[to], b.posZ[to] = b.posX[from], b.posY[from], b.posZ[from]
	b.velX[to], b.velY[to], b.velZ[to] = b.velX[from], b.velY[from], b.velZ[from]
	b.rest[to], b.slot[to], b.cell[to], b.kind[to] = b.rest[from], b.slot[from], b.cell[from], b.kind[from]
	b.moveBits(uint32(to), uint32(from))
	w.rowOf[b.slot[to]] = int32(to)
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
