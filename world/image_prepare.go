package world

import "unsafe"

// prepareBytes bounds the copying of one PrepareImage call to a fraction of a
// millisecond, or about one if the memory is new.
const prepareBytes = 2 << 20

// PrepareImage copies a part of the components and rows into img ahead of TakeImage, which
// then copies only awake rows and later changes. It spreads the cost over many ticks,
// however large the world is. Call it once after each step until it returns true; then,
// after the same or a later step, call TakeImage with the same image. Only one image can be
// prepared at a time. Without PrepareImage, TakeImage copies everything.
//
// Changes are found by their marks: a write through an old pointer of Component.Mut,
// without another Mut in that step, is missing from the image.
func (w *World) PrepareImage(img *Image) bool {
	if w.running {
		panic("world: PrepareImage was called by a system")
	}
	if w.preparing != img {
		w.preparing = img
		img.rows.ahead = 0
		img.rows.written.Reset()
		w.bodies.written = &img.rows.written
		w.eachColumn(img, func(c column, own *columnImage) {
			own.ahead = 0
			own.touched.Reset()
		})
	}
	left := w.prepareRoom(img, prepareBytes)
	if left <= 0 {
		return false
	}
	left -= img.rows.prepare(&w.bodies, left)
	left -= img.rows.prepareMoving(&w.bodies, left)
	w.eachColumn(img, func(c column, own *columnImage) {
		left -= own.prepare(c, left)
	})
	return left > 0
}

// prepareRoom makes room for the image until it has allocated most bytes or more, and returns what is left of
// them.
func (w *World) prepareRoom(img *Image, most int) (left int) {
	left = img.rows.makeRoom(&w.bodies, most)
	w.eachColumn(img, func(c column, own *columnImage) {
		left = own.makeRoom(c.present().WordCount(), left)
	})
	if slots := int(w.pool.Slots()); cap(img.entities.Generations) < slots && left > 0 {
		w.pool.State(&img.entities)
		left -= slots * int(unsafe.Sizeof(img.entities.Generations[0]))
	}
	return left
}

// endPreparing stops tracking changes. If img was not the prepared image, it has no values
// that count as copied ahead.
func (w *World) endPreparing(img *Image) {
	if w.preparing != img {
		img.rows.ahead = 0
		w.eachColumn(img, func(_ column, own *columnImage) { own.ahead = 0 })
	}
	w.preparing, w.bodies.written = nil, nil
}

// prepare copies words until it has copied most bytes or more, and returns the number of
// bytes copied.
func (img *columnImage) prepare(c column, most int) (copied int) {
	words := min(c.present().WordCount(), uint32(len(img.values)/max(img.wordBytes(), 1)))
	for ; img.ahead < words && copied < most; img.ahead++ {
		mask := c.present().Word(img.ahead)
		img.has.SetWord(img.ahead, mask)
		if mask != 0 {
			copied += img.copyWord(c, img.ahead, mask)
		}
	}
	return copied
}

// markTouched records the changes of a step to values that were copied ahead.
func (w *World) markTouched() {
	if w.preparing != nil {
		w.eachColumn(w.preparing, func(c column, own *columnImage) {
			own.touched.SetOr(own.touched.View(), c.changed().past.View())
		})
	}
}
