package world

// prepareBytes is what a call of PrepareImage copies at most: a fraction of a
// millisecond.
const prepareBytes = 4 << 20

// PrepareImage copies a part of the components into img, ahead of TakeImage,
// which then copies only what has changed since: so that no tick is kept waiting
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
		w.eachColumn(img, func(c column, own *columnImage) {
			own.ahead = 0
			own.touched.Reset()
			own.makeRoom(c.present().WordCount())
		})
	}
	left := prepareBytes
	w.eachColumn(img, func(c column, own *columnImage) {
		left -= own.prepare(c, left)
	})
	return left > 0
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
func (w *World) followPrepared() {
	if w.preparing != nil {
		w.eachColumn(w.preparing, func(c column, own *columnImage) {
			own.touched.SetOr(&own.touched, &c.changed().past)
		})
	}
}
