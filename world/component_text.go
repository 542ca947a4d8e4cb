package world

import (
	"bytes"
	"fmt"
	"math/bits"
	"reflect"
	"strings"
	"unsafe"
)

// MaxTextBytes bounds a string or []byte of a component in an image or a recording.
const MaxTextBytes = 1 << 20

// textField is a string or []byte in a component type. Its header is a gap in the type's
// shape: raw copies of values hold zeros there, and the text is stored separately.
type textField struct {
	offset uintptr
	bytes  bool
}

// isText reports whether t is the type of a text field.
func isText(t reflect.Type) bool {
	return t.Kind() == reflect.String || t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Uint8
}

// get returns the text of the value at p. It shares the value's memory.
func (f textField) get(p unsafe.Pointer) string {
	at := unsafe.Add(p, f.offset)
	if !f.bytes {
		return *(*string)(at)
	}
	b := *(*[]byte)(at)
	return unsafe.String(unsafe.SliceData(b), len(b))
}

// copy returns a copy of the text of the value at p, for a reader that outlives the value.
func (f textField) copy(p unsafe.Pointer) string {
	if f.bytes {
		return strings.Clone(f.get(p))
	}
	return f.get(p)
}

// set sets the text of the value at p. An empty []byte becomes nil.
func (f textField) set(p unsafe.Pointer, text string) {
	at := unsafe.Add(p, f.offset)
	switch {
	case !f.bytes:
		*(*string)(at) = text
	case text == "":
		*(*[]byte)(at) = nil
	default:
		*(*[]byte)(at) = []byte(text)
	}
}

// own replaces the []byte fields of the value at p by copies: the value was assigned, and
// must share no memory with its source.
func (l *layout) own(p unsafe.Pointer) {
	for _, f := range l.textFields {
		if f.bytes {
			at := (*[]byte)(unsafe.Add(p, f.offset))
			*at = bytes.Clone(*at)
		}
	}
}

// copyWord copies the values of one word that are present by mask.
func (img *columnImage) copyWord(c column, word uint32, mask uint64) (copied int) {
	copied = copy(img.word(word), memoryOf(c, word, img.wordBytes()))
	if len(img.textFields) == 0 {
		return copied
	}
	img.blank(img.word(word))
	texts := img.textsOf(word)
	clear(texts)
	for ; mask != 0; mask &= mask - 1 {
		i := bits.TrailingZeros64(mask)
		p := c.at(word<<6 | uint32(i))
		for j, f := range img.textFields {
			texts[i*len(img.textFields)+j] = f.copy(p)
			copied += len(texts[i*len(img.textFields)+j])
		}
	}
	return copied
}

// textsOf returns the texts of one word: one per slot and text field.
func (img *columnImage) textsOf(word uint32) []string {
	n := 64 * len(img.textFields)
	return img.texts[int(word)*n:][:n:n]
}

// presentTexts yields pointers to the texts of the present slots of one word.
func (img *columnImage) presentTexts(word uint32) func(yield func(*string) bool) {
	return func(yield func(*string) bool) {
		if len(img.textFields) == 0 {
			return
		}
		texts, n := img.textsOf(word), len(img.textFields)
		for mask := img.has.Word(word); mask != 0; mask &= mask - 1 {
			first := bits.TrailingZeros64(mask) * n
			for i := range texts[first : first+n] {
				if !yield(&texts[first+i]) {
					return
				}
			}
		}
	}
}

// restoreTexts sets the texts of a word whose values have been restored.
func (img *columnImage) restoreTexts(c column, word uint32) {
	for mask := img.has.Word(word); mask != 0 && len(img.textFields) > 0; mask &= mask - 1 {
		i := bits.TrailingZeros64(mask)
		p := c.at(word<<6 | uint32(i))
		for j, f := range img.textFields {
			f.set(p, img.textsOf(word)[i*len(img.textFields)+j])
		}
	}
}

// equal reports whether the image has the values of one word of c.
func (img *columnImage) equal(c column, word uint32) bool {
	memory := memoryOf(c, word, img.wordBytes())
	if len(img.textFields) == 0 {
		return bytes.Equal(img.word(word), memory)
	}
	memory = bytes.Clone(memory)
	img.blank(memory)
	if !bytes.Equal(img.word(word), memory) {
		return false
	}
	for mask := img.has.Word(word); mask != 0; mask &= mask - 1 {
		i := bits.TrailingZeros64(mask)
		for j, f := range img.textFields {
			if f.get(c.at(word<<6|uint32(i))) != img.textsOf(word)[i*len(img.textFields)+j] {
				return false
			}
		}
	}
	return true
}

// text writes a text of a component.
func (e *imageEncoder) text(component, text string) {
	if len(text) > MaxTextBytes && e.err == nil {
		e.err = fmt.Errorf("%w: a text in component %q has %d bytes; an image holds at most %d", ErrValue, component, len(text), MaxTextBytes)
	}
	e.blob([]byte(text))
}
