package world

// prepareBytes is what a call of PrepareImage copies at most: a fraction of a
// millisecond.
const prepareBytes = 4 << 20

// PrepareImage copies a part of the components and of the bodies' rows into img,
// ahead of TakeImage, which then copies only what has changed since, and what is
// awake: so that no tick is kept waiting
// for long, however large the world. Call it once after each step until it
// returns true, and then, after the same step or a later one, TakeImage with the
// same image. Only one image is prepared at a time. (Without it, TakeImage copies
// everything.)
//
// Changes are known by their marks: what is written through a pointer of
// Component.Mut in a later step, without another Mut, is missing from the image.
func (w *World) PrepareImage(img *Image) bool {
	if w.running {
		panic("world: PrepareImage was called by a system")
	}
	if w.preparing != img {
		w.preparing = img
		img.rows.ahead = 0
		img.rows.written.Reset()
		img.rows.makeRoom(w.bodies.len())
		w.bodies.written = &img.rows.written
		w.eachColumn(img, func(c column, own *columnImage) {
			own.ahead = 0
			own.touched.Reset()
			own.makeRoom(c.present().WordCount())
		})
	}
	left := prepareBytes
	left -= img.rows.prepare(&w.bodies, left)
	w.eachColumn(img, func(c column, own *columnImage) {
		left -= own.prepare(c, left)
	})
	return left > 0
}

// endPreparing has nobody note changes any more. If img is not what was prepared,
// nothing in it was.
func (w *World) endPreparing(img *Image) {
	if w.preparing != img {
		img.rows.ahead = 0
		w.eachColumn(img, func(_ column, own *columnImage) { own.ahead = 0 })
	}
	w.preparing, w.bodies.written = nil, nil
}

// prepare copies further words, of so many bytes or one word more, and says how
// many bytes they were.
func (img *columnImage) prepare(c column, most int) (copied int) {
	words := min(c.present().WordCount(), uint32(len(img.values)/max(img.wordBytes(), 1)))
	for ; img.ahead < words && copied < most; img.ahead++ {
		mask := c.present().Word(img.ahead)
		img.has.SetWord(img.ahead, mask)
		if mask != 0 {
			copied += copy(img.word(img.ahead), memoryOf(c, img.ahead, img.wordBytes()))
		}
	}
	return copied
}

// followPrepared notes what a step has changed of what was copied ahead.
func (w *World) markTouched() {
	if w.preparing != nil {
		w.eachColumn(w.preparing, func(c column, own *columnImage) {
			own.touched.SetOr(&own.touched, &c.changed().past)
		})
	}
}
