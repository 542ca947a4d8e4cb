package world

import (
	"fmt"
	"unsafe"

	"github.com/worldd/worldd/bulk"
)

// columnImage holds a component: who has it, and the values of every 64 slots
// among which somebody has.
type columnImage struct {
	name string
	shape
	has     bulk.Bitset
	changed bulk.Bitset // since the last step
	values  []byte      // in the memory's own form
}

// wordBytes is the size of the values of 64 neighbouring slots.
func (img *columnImage) wordBytes() int { return int(64 * img.size) }

func (w *World) takeComponents(img *Image) {
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
		own.has.CopyFrom(c.present())
		own.changed.CopyFrom(&c.changed().next)
		own.values = own.values[:0]
		for word := range own.has.WordCount() {
			if own.has.Word(word) != 0 {
				own.values = append(own.values, memoryOf(c, word, own.wordBytes())...)
			}
		}
	}
	img.components = img.components[:n]
}

// memoryOf returns the memory of a component's values on 64 neighbouring slots,
// which lie in one block.
func memoryOf(c column, word uint32, n int) []byte {
	return unsafe.Slice((*byte)(c.at(word*64)), n)
}

// check says what is wrong with the values, which came from a file.
func (img *columnImage) check() error {
	words := 0
	for word := range img.has.WordCount() {
		if img.has.Word(word) != 0 {
			words++
		}
	}
	if len(img.values) != words*img.wordBytes() {
		return fmt.Errorf("component %q has %d bytes for %d words", img.name, len(img.values), words)
	}
	if !img.sound(img.values) {
		return fmt.Errorf("component %q has a bool that is neither true nor false", img.name)
	}
	return nil
}

// restoreColumn gives the component to those who have it in the image, to nobody
// if there is none.
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
	c.changed().next.CopyFrom(&img.changed)
	rest, n := img.values, img.wordBytes()
	for word := range img.has.WordCount() {
		mask := img.has.Word(word)
		if mask == 0 {
			continue
		}
		memory := memoryOf(c, word, n)
		copy(memory, rest[:n])
		rest = rest[n:]
		for i := range 64 {
			if mask>>i&1 == 0 { // W7: who lacks it has zeros
				clear(memory[i*int(img.size) : (i+1)*int(img.size)])
			}
		}
		present.SetWord(word, mask)
	}
}

// valueOf returns the memory of one slot's value.
func valueOf(c column, slot uint32) []byte {
	return unsafe.Slice((*byte)(c.at(slot)), c.info().Type.Size())
}
