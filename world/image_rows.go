package world

import (
	"fmt"
	"math"
	"slices"
	"unsafe"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/internal/invariants"
	"github.com/worldd/worldd/world/motion"
)

// rowImage holds the rows of bodies in order. A sleeping body without a request to wake has
// zero velocity and rest (W4), and so no entries for them.
type rowImage struct {
	awake            int
	inPlace          bulk.Bitset // the awake rows, if compaction is InPlace; otherwise rows below awake
	flips            []uint32    // rows that the next flush changes, ascending
	slot             []uint32
	kind             []KindID
	posX, posY, posZ []float32
	velX, velY, velZ []float32 // velocities of the awake rows, then of the sleeping rows in flips
	rest             []uint32  // rest timers of the awake rows

	ahead   int         // number of words of rows copied by PrepareImage
	written bulk.Bitset // words changed since PrepareImage copied them; positions of awake rows always count as changed
	warm    int         // velocities and timers whose memory the operating system has supplied
}

// rowBytes is the size of a sleeping row, and movingBytes what an awake one adds.
const (
	rowBytes    = 4 + 2 + 3*4
	movingBytes = 4 * 4
)

// prepare copies words until it has copied most bytes or more, and returns the number of
// bytes copied. Only take reads the data.
func (img *rowImage) prepare(b *bodies, most int) (copied int) {
	words := min((most+64*rowBytes-1)/(64*rowBytes), (min(b.len(), len(img.slot))+63)/64-img.ahead)
	if words <= 0 {
		return 0
	}
	img.copyOwners(b, img.ahead, img.ahead+words)
	img.copyPositions(b, img.ahead, img.ahead+words)
	img.ahead += words
	return words * 64 * rowBytes
}

// prepareMoving writes new memory of velocities and timers once, up to most bytes or slightly more, and
// returns how many: take copies them, but the operating system supplies memory at its first use, more slowly than it is copied.
func (img *rowImage) prepareMoving(b *bodies, most int) int {
	first := img.warm
	end := min(first+(most+movingBytes-1)/movingBytes, b.movingPrefix(), len(img.velX))
	if first >= end {
		return 0
	}
	img.copyMoving(b, first, end)
	img.warm = end
	return (end - first) * movingBytes
}

// copyMoving copies the velocities and timers of rows [first, end).
func (img *rowImage) copyMoving(b *bodies, first, end int) {
	copy(img.velX[first:end], b.Vel.X[first:end])
	copy(img.velY[first:end], b.Vel.Y[first:end])
	copy(img.velZ[first:end], b.Vel.Z[first:end])
	copy(img.rest[first:end], b.Rest[first:end])
}

// movingPrefix returns the number of rows that are awake because of their order.
func (b *bodies) movingPrefix() int {
	if b.mode == InPlace {
		return 0
	}
	return b.awake
}

// copyOwners copies the slots and kinds of words [first, end).
func (img *rowImage) copyOwners(b *bodies, first, end int) {
	from, to := first*64, min(end*64, b.len())
	copy(img.slot[from:], b.slot[from:to])
	copy(img.kind[from:], b.Kind[from:to])
}

// copyPositions copies the positions of words [first, end).
func (img *rowImage) copyPositions(b *bodies, first, end int) {
	from, to := first*64, min(end*64, b.len())
	copy(img.posX[from:], b.Pos.X[from:to])
	copy(img.posY[from:], b.Pos.Y[from:to])
	copy(img.posZ[from:], b.Pos.Z[from:to])
}

// makeRoom resizes the columns for the rows of b and keeps their contents, as far as most bytes of new memory
// suffice. It returns what is left of them: zero or less if a column may lack room.
func (img *rowImage) makeRoom(b *bodies, most int) (left int) {
	n, moving := b.len(), b.movingPrefix()
	if cap(img.velX) < moving {
		img.warm = 0
	}
	left = resize(&img.slot, n, most)
	left = resize(&img.kind, n, left)
	for _, column := range []*[]float32{&img.posX, &img.posY, &img.posZ} {
		left = resize(column, n, left)
	}
	for _, column := range []*[]float32{&img.velX, &img.velY, &img.velZ} {
		left = resize(column, moving, left)
	}
	return resize(&img.rest, moving, left)
}

// resize gives list n elements and keeps what it had, unless it needs new memory and left is not positive. It
// returns left without the bytes of new memory, which has room to grow.
func resize[T any](list *[]T, n, left int) int {
	if n <= cap(*list) {
		*list = (*list)[:n]
		return left
	}
	if left <= 0 {
		return left
	}
	grown := make([]T, n, n+n/8) // not written, if it comes from the operating system
	copy(grown, (*list)[:cap(*list)])
	*list = grown
	return left - n*int(unsafe.Sizeof(grown[0]))
}

// takeRows copies the rows that PrepareImage did not copy or that have changed since.
func (w *World) takeRows(img *rowImage) {
	b := &w.bodies
	img.awake = b.awake
	img.inPlace.CopyFrom(b.inPlace.View())
	img.flips = b.flips.appendTo(img.flips[:0])
	img.makeRoom(b, math.MaxInt)
	w.copied = img
	w.workers.run((b.len()+copyRows-1)/copyRows*rowParts, w.copyBlocks)
	w.copied = nil
	img.ahead = 0
	img.takeScattered(b)
	img.audit(b)
}

// Workers copy blocks: some columns of copyRows rows each, a mebibyte per column. Copies of
// that size bypass the caches, which saves a third of the memory traffic; blocks of a few
// pages take 1.5 times as long.
const (
	copyRows = 1 << 18
	rowParts = 6
)

// copyBlock copies one part of a block of rows: owners or positions that were not copied
// ahead or have changed since, or one column that only a prefix of awake rows has.
func (w *World) copyBlock(_ *chunk, block int) {
	img, b := w.copied, &w.bodies
	from := block / rowParts * copyRows
	switch block % rowParts {
	case 0:
		img.eachStaleRun(b, from, func(int) uint64 { return 0 }, img.copyOwners)
	case 1:
		img.eachStaleRun(b, from, b.awakeWord, img.copyPositions)
	case 2:
		copyAwake(img.velX, b.Vel.X, from)
	case 3:
		copyAwake(img.velY, b.Vel.Y, from)
	case 4:
		copyAwake(img.velZ, b.Vel.Z, from)
	case 5:
		copyAwake(img.rest, b.Rest, from)
	}
}

// eachStaleRun calls f for each run of words in the block at row that were not copied
// ahead, were written since, or have a bit in other.
func (img *rowImage) eachStaleRun(b *bodies, row int, other func(word int) uint64, f func(b *bodies, first, end int)) {
	first, words := row/64, (min(row+copyRows, b.len())+63)/64
	for first < words {
		end := first
		for end < words && (end >= img.ahead || img.written.Has(uint32(end)) || other(end) != 0) {
			end++
		}
		f(b, first, end)
		first = end + 1
	}
}

// copyAwake copies a block of a column that only awake rows have.
func copyAwake[T any](to, from []T, row int) {
	if row < len(to) {
		end := min(row+copyRows, len(to))
		copy(to[row:end], from[row:end])
	}
}

// takeScattered copies the velocities and timers of awake rows in place, and the
// velocities of rows about to wake.
func (img *rowImage) takeScattered(b *bodies) {
	if b.mode == InPlace {
		for first, end := b.awakeRange(0, b.len()); first < end; first, end = b.awakeRange(end, b.len()) {
			img.velX = append(img.velX, b.Vel.X[first:end]...)
			img.velY = append(img.velY, b.Vel.Y[first:end]...)
			img.velZ = append(img.velZ, b.Vel.Z[first:end]...)
			img.rest = append(img.rest, b.Rest[first:end]...)
		}
	}
	for _, row := range img.flips {
		if !b.isAwake(int(row)) {
			img.velX = append(img.velX, b.Vel.X[row])
			img.velY = append(img.velY, b.Vel.Y[row])
			img.velZ = append(img.velZ, b.Vel.Z[row])
		}
	}
}

// audit compares the rows with the world's in builds with invariants.
func (img *rowImage) audit(b *bodies) {
	if invariants.Enabled && !(slices.Equal(img.slot, b.slot) && slices.Equal(img.kind, b.Kind) &&
		slices.Equal(img.posX, b.Pos.X) && slices.Equal(img.posY, b.Pos.Y) && slices.Equal(img.posZ, b.Pos.Z)) {
		panic("world: a row that was copied ahead has changed without markWritten")
	}
}

// isAwake reports whether row is awake.
func (img *rowImage) isAwake(row uint32) bool {
	return int(row) < img.awake && !img.inPlace.Any() || img.inPlace.Has(row)
}

// moving yields the rows with a velocity, in the order of velX, and whether each is
// awake.
func (img *rowImage) moving(yield func(row uint32, awake bool) bool) {
	if img.inPlace.Any() {
		for row := range img.inPlace.All() {
			if !yield(row, true) {
				return
			}
		}
	} else {
		for row := range uint32(img.awake) {
			if !yield(row, true) {
				return
			}
		}
	}
	for _, row := range img.flips {
		if !img.isAwake(row) && !yield(row, false) {
			return
		}
	}
}

// checkLayout checks the order of rows for a Compaction.
func (img *rowImage) checkLayout(mode Compaction) error {
	n := len(img.slot)
	if img.awake < 0 || img.awake > n {
		return fmt.Errorf("%d of %d rows awake", img.awake, n)
	}
	if inPlace := img.inPlace.Count(); inPlace > 0 && mode != InPlace || mode == InPlace && inPlace != img.awake {
		return fmt.Errorf("%d rows awake, but %d in place", img.awake, inPlace)
	}
	if row, ok := img.inPlace.Next(uint32(n)); ok {
		return fmt.Errorf("row %d of %d is awake", row, n)
	}
	for i, row := range img.flips {
		if int64(row) >= int64(n) || i > 0 && img.flips[i-1] >= row {
			return fmt.Errorf("row %d of %d in flips, out of range or order", row, n)
		}
	}
	return nil
}

// check checks the rows for a world with w's configuration. Image.checkTenants checks
// their slots.
func (img *rowImage) check(w *World) error {
	if err := img.checkLayout(w.cfg.Compaction); err != nil {
		return err
	}
	for row := range img.slot {
		at := Vec3{X: img.posX[row], Y: img.posY[row], Z: img.posZ[row]}
		if !motion.Finite(at) || w.motion.Clamp(at) != at {
			return fmt.Errorf("row %d is at %v", row, at)
		}
	}
	return img.checkMoving(w)
}

func (img *rowImage) checkMoving(w *World) error {
	moving := 0
	for range img.moving {
		moving++
	}
	if len(img.velX) != moving || len(img.velY) != moving || len(img.velZ) != moving || len(img.rest) != img.awake {
		return fmt.Errorf("%d velocities for %d moving rows, %d timers for %d awake rows", len(img.velX), moving, len(img.rest), img.awake)
	}
	i := -1
	for row, awake := range img.moving {
		i++
		v := Vec3{X: img.velX[i], Y: img.velY[i], Z: img.velZ[i]}
		if !motion.Finite(v) || motion.CapSpeed(v).Sub(v).Len() > MaxSpeed*1e-4 {
			return fmt.Errorf("row %d has velocity %v", row, v)
		}
		if !awake {
			continue
		}
		_, flips := slices.BinarySearch(img.flips, row)
		if flips && (v != Vec3{} || img.rest[i] != 0) || int64(img.rest[i]) > int64(w.motion.RestTicks) {
			return fmt.Errorf("row %d has rested for %d ticks at velocity %v, about to sleep: %t", row, img.rest[i], v, flips)
		}
	}
	return nil
}

// restore sets the rows from the image. The caller sets the cells and rowOf.
func (b *bodies) restore(img *rowImage, kinds []KindID) {
	n := len(img.slot)
	b.awake = img.awake
	b.inPlace.CopyFrom(img.inPlace.View())
	b.flips.reset()
	b.flips.reserve(n)
	for _, row := range img.flips {
		b.flips.put(row, true)
	}
	b.slot = append(b.slot[:0], img.slot...)
	b.Pos.X = append(b.Pos.X[:0], img.posX...)
	b.Pos.Y = append(b.Pos.Y[:0], img.posY...)
	b.Pos.Z = append(b.Pos.Z[:0], img.posZ...)
	b.Vel.X, b.Vel.Y, b.Vel.Z = zeroed(b.Vel.X, n), zeroed(b.Vel.Y, n), zeroed(b.Vel.Z, n)
	b.Rest, b.cell, b.Kind = zeroed(b.Rest, n), zeroed(b.cell, n), zeroed(b.Kind, n)
	i := 0
	for row, awake := range img.moving {
		b.Vel.X[row], b.Vel.Y[row], b.Vel.Z[row] = img.velX[i], img.velY[i], img.velZ[i]
		if awake {
			b.Rest[row] = img.rest[i]
		}
		i++
	}
	for row, k := range img.kind {
		b.Kind[row] = kinds[k]
	}
}

// zeroed returns column as n zeros.
func zeroed[T any](column []T, n int) []T {
	if cap(column) < n {
		return make([]T, n)
	}
	column = column[:n]
	clear(column)
	return column
}
