package world

import (
	"fmt"

	"github.com/worldd/worldd/bulk"
)

// rowImage holds the rows of bodies in their order. A body that is asleep, and
// not about to wake, has no velocity and no rest (W4): only the others have an
// entry in those.
type rowImage struct {
	awake            int
	goSleep, goWake  bulk.Bitset
	slot             []uint32
	kind             []KindID
	posX, posY, posZ []float32
	velX, velY, velZ []float32 // of rows [0, awake), then of goWake
	rest             []uint32  // of rows [0, awake)
}

func (img *rowImage) take(b *bodies) {
	img.awake = b.awake
	img.goSleep.CopyFrom(&b.goSleep)
	img.goWake.CopyFrom(&b.goWake)
	img.slot = append(img.slot[:0], b.slot...)
	img.kind = append(img.kind[:0], b.kind...)
	img.posX = append(img.posX[:0], b.posX...)
	img.posY = append(img.posY[:0], b.posY...)
	img.posZ = append(img.posZ[:0], b.posZ...)
	img.velX = append(img.velX[:0], b.velX[:b.awake]...)
	img.velY = append(img.velY[:0], b.velY[:b.awake]...)
	img.velZ = append(img.velZ[:0], b.velZ[:b.awake]...)
	img.rest = append(img.rest[:0], b.rest[:b.awake]...)
	for row, ok := b.goWake.Next(0); ok; row, ok = b.goWake.Next(row + 1) {
		img.velX = append(img.velX, b.velX[row])
		img.velY = append(img.velY, b.velY[row])
		img.velZ = append(img.velZ, b.velZ[row])
	}
}

// check says what is wrong with the rows, for a world of that configuration.
// Which slots they have is checked by the image.
func (img *rowImage) check(w *World) error {
	n := len(img.slot)
	if img.awake < 0 || img.awake > n {
		return fmt.Errorf("%d rows awake of %d", img.awake, n)
	}
	if row, ok := img.goSleep.Next(uint32(img.awake)); ok {
		return fmt.Errorf("row %d is to sleep, %d are awake", row, img.awake)
	}
	if row, ok := img.goWake.Next(0); ok && int(row) < img.awake {
		return fmt.Errorf("row %d is to wake, %d are awake", row, img.awake)
	}
	if row, ok := img.goWake.Next(uint32(n)); ok {
		return fmt.Errorf("row %d is to wake, of %d", row, n)
	}
	if moving := img.awake + img.goWake.Count(); len(img.velX) != moving || len(img.rest) != img.awake {
		return fmt.Errorf("%d velocities for %d bodies, %d timers for %d", len(img.velX), moving, len(img.rest), img.awake)
	}
	for row := range n {
		at := Vec3{img.posX[row], img.posY[row], img.posZ[row]}
		if !at.finite() || w.clamped(at) != at {
			return fmt.Errorf("row %d is at %v", row, at)
		}
	}
	for i := range img.velX {
		v := Vec3{img.velX[i], img.velY[i], img.velZ[i]}
		if !v.finite() || v.capped().Sub(v).Len() > MaxSpeed*1e-4 {
			return fmt.Errorf("body %d has velocity %v", i, v)
		}
	}
	for row, rest := range img.rest {
		stops := img.goSleep.Has(uint32(row))
		if stops && (rest != 0 || img.velX[row] != 0 || img.velY[row] != 0 || img.velZ[row] != 0) || int64(rest) > int64(w.cfg.RestTicks) {
			return fmt.Errorf("row %d has rested for %d ticks, about to sleep: %t", row, rest, stops)
		}
	}
	return nil
}

// restore makes the rows those of the image. Cells and the slots' rows follow.
func (b *bodies) restore(img *rowImage, kinds []KindID) {
	n := len(img.slot)
	b.awake = img.awake
	b.goSleep.CopyFrom(&img.goSleep)
	b.goWake.CopyFrom(&img.goWake)
	b.slot = append(b.slot[:0], img.slot...)
	b.posX = append(b.posX[:0], img.posX...)
	b.posY = append(b.posY[:0], img.posY...)
	b.posZ = append(b.posZ[:0], img.posZ...)
	b.velX = restored(b.velX, img.velX[:b.awake], n)
	b.velY = restored(b.velY, img.velY[:b.awake], n)
	b.velZ = restored(b.velZ, img.velZ[:b.awake], n)
	b.rest = restored(b.rest, img.rest, n)
	b.cell = restored(b.cell, nil, n)
	i := b.awake
	for row, ok := b.goWake.Next(0); ok; row, ok = b.goWake.Next(row + 1) {
		b.velX[row], b.velY[row], b.velZ[row] = img.velX[i], img.velY[i], img.velZ[i]
		i++
	}
	b.kind = restored(b.kind, nil, n)
	for row, k := range img.kind {
		b.kind[row] = kinds[k]
	}
}

// restored returns column as n rows that begin with values; the others are zero.
func restored[T any](column, values []T, n int) []T {
	column = append(column[:0], values...)
	if cap(column) < n {
		return append(column, make([]T, n-len(column))...)
	}
	column = column[:n]
	clear(column[len(values):])
	return column
}
