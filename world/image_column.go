package world

import (
	"fmt"
	"math"
	"unsafe"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/internal/invariants"
)

// columnImage holds a component: its slots, and the values of every word of slots that
// is not empty.
type columnImage struct {
	name string
	shape
	has     bulk.Bitset
	changed bulk.Bitset // marks since the last step
	values  []byte      // in memory format, by word; undefined for slots without the component
	texts   []string    // by slot and text field

	ahead   uint32      // words below it have been copied by PrepareImage
	touched bulk.Bitset // slots whose values may have changed since PrepareImage copied them
}

// wordBytes returns the size of the values of one word.
func (img *columnImage) wordBytes() int { return int(64 * img.size) }

// word returns the values of one word.
func (img *columnImage) word(word uint32) []byte {
	n := img.wordBytes()
	return img.values[int(word)*n:][:n:n]
}

// words yields the words with values in ascending order.
func (img *columnImage) words(yield func(word uint32, values []byte) bool) {
	for word := range img.has.WordCount() {
		if img.has.Word(word) != 0 && !yield(word, img.word(word)) {
			return
		}
	}
}

// makeRoom resizes the values to that many words, as rowImage.makeRoom does.
func (img *columnImage) makeRoom(words uint32, most int) (left int) {
	left = resize(&img.values, int(words)*img.wordBytes(), most)
	return resize(&img.texts, int(words)*64*len(img.textFields), left)
}

// eachColumn calls f with each saved component and its image, created if necessary.
func (w *World) eachColumn(img *Image, f func(column, *columnImage)) {
	n := 0
	for _, c := range w.components {
		info := c.info()
		if info.Local {
			continue
		}
		if n == len(img.components) {
			img.components = append(img.components, columnImage{})
		}
		own := &img.components[n]
		n++
		if own.name != info.Name || own.of != info.Type {
			*own = columnImage{name: info.Name, shape: newShape(info.Type)}
		}
		f(c, own)
	}
	img.components = img.components[:n]
}

func (w *World) takeComponents(img *Image) {
	w.eachColumn(img, func(c column, own *columnImage) { own.take(c) })
}

// take copies the words that PrepareImage did not copy or that have changed since.
func (img *columnImage) take(c column) {
	marks, present := c.changed(), c.present()
	words := present.WordCount()
	img.makeRoom(words, math.MaxInt)
	for word := range words {
		mask := present.Word(word)
		if word < img.ahead && mask == img.has.Word(word) &&
			img.touched.Word(word)|marks.imaged.Word(word)|marks.next.Word(word) == 0 {
			continue
		}
		if mask != 0 {
			img.copyWord(c, word, mask)
		}
	}
	img.ahead = 0
	img.has.CopyFrom(present.View())
	img.changed.SetOr(marks.imaged.View(), marks.next.View())
	if invariants.Enabled {
		for word := range img.words {
			if !img.equal(c, word) {
				panic(fmt.Sprintf("world: component %q changed in word %d without Mut, Set or a similar call", img.name, word))
			}
		}
	}
}

// memoryOf returns the memory of a component's values in one word. A word never spans
// blocks.
func memoryOf(c column, word uint32, n int) []byte {
	return unsafe.Slice((*byte)(c.at(word*64)), n)
}

// check checks values that may come from a file.
func (img *columnImage) check() error {
	if len(img.values) < int(img.highestWord())*img.wordBytes() {
		return fmt.Errorf("component %q has %d bytes of values", img.name, len(img.values))
	}
	for word, values := range img.words {
		if !img.isValid(values) {
			return fmt.Errorf("component %q has a bool that is neither 0 nor 1 in word %d", img.name, word)
		}
	}
	return nil
}

// highestWord returns the last word with values, plus one.
func (img *columnImage) highestWord() (n uint32) {
	if slot, ok := img.has.Prev(1<<32 - 1); ok {
		n = slot>>6 + 1
	}
	return n
}

// restoreColumn gives the component to the slots that have it in the image, or to none
// if img is nil.
func restoreColumn(c column, img *columnImage, slots uint32) {
	present := c.present()
	for word := range present.WordCount() {
		if mask := present.Word(word); mask != 0 {
			c.clear(word, mask)
		}
	}
	c.grow(slots)
	if img == nil {
		return
	}
	c.changed().restore(img.changed.View())
	for word, values := range img.words {
		mask := img.has.Word(word)
		memory := memoryOf(c, word, len(values))
		copy(memory, values)
		for i := range 64 {
			if mask>>i&1 == 0 { // W7: slots without the component hold zeros
				clear(memory[i*int(img.size) : (i+1)*int(img.size)])
			}
		}
		img.restoreTexts(c, word)
		present.SetWord(word, mask)
	}
}

// valueOf returns the memory of one slot's value.
func valueOf(c column, slot uint32) []byte {
	return unsafe.Slice((*byte)(c.at(slot)), c.info().Type.Size())
}
