package rowschema

import (
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
	"unsafe"

	"github.com/worldd/worldd/internal/bitio"
	"github.com/worldd/worldd/internal/invariants"
	"github.com/worldd/worldd/replication/schema"
	"github.com/worldd/worldd/replication/wire"
)

// textField is a text field in a Go struct.
type textField struct {
	schema.TextField
	own    schema.TextField // as the struct declares it; its Max is 0 if the struct lacks it
	offset uintptr          // in the struct
}

// get returns the value of the field in the struct at p in the form that is sent
// (fitText). It copies a []byte.
func (f *textField) get(p unsafe.Pointer) string {
	at := unsafe.Add(p, f.offset)
	switch {
	case f.own.Max == 0:
		return ""
	case !f.own.Bytes:
		return fitText(&f.TextField, *(*string)(at))
	case f.Bytes:
		b := *(*[]byte)(at)
		return string(b[:min(len(b), f.Max)])
	}
	return fitText(&f.TextField, string(*(*[]byte)(at)))
}

// fitText returns text in the form that f is sent: at most f.Max bytes. A string is cut off between
// two characters, and has U+FFFD in place of each run of invalid UTF-8.
func fitText(f *schema.TextField, text string) string {
	most := f.Max
	if !f.Bytes {
		text = strings.ToValidUTF8(text, string(utf8.RuneError))
		for most < len(text) && !utf8.RuneStart(text[most]) {
			most--
		}
	}
	return text[:min(len(text), most)]
}

// CheckText returns an error if text is too long for f, or is not UTF-8 although f is a string.
func CheckText(f *schema.TextField, text string) error {
	if len(text) > f.Max {
		return wire.Malformed(fmt.Errorf("%s has %d bytes, at most %d are allowed", f.Path, len(text), f.Max))
	}
	if !f.Bytes && !utf8.ValidString(text) {
		return wire.Malformed(fmt.Errorf("%s is not UTF-8", f.Path))
	}
	return nil
}

// isSentTo reports whether the field is sent to a receiver that owns the entity, or to one that does not.
func (f *textField) isSentTo(owner bool) bool { return owner || !f.Owner }

// format shows a value: quoted, or of a []byte in hexadecimal.
func (f *textField) format(text string) string {
	if f.Bytes {
		return hex.EncodeToString([]byte(text))
	}
	return strconv.Quote(text)
}

// holds reports whether get would return text. It does not allocate unless the struct's
// value must be cut, repaired or converted.
func (f *textField) holds(p unsafe.Pointer, text string) bool {
	at := unsafe.Add(p, f.offset)
	switch {
	case f.own.Bytes && f.Bytes:
		b := *(*[]byte)(at)
		return string(b[:min(len(b), f.Max)]) == text
	case f.own.Bytes || f.own.Max == 0:
		return f.get(p) == text
	}
	return *(*string)(at) == text || f.get(p) == text
}

// set sets the field in the struct at p. A []byte gets its own copy, or nil for an empty
// text.
func (f *textField) set(p unsafe.Pointer, text string) {
	if f.own.Max == 0 {
		return
	}
	if f.own.Max < f.Max || f.own.Bytes != f.Bytes {
		text = fitText(&f.own, text)
	}
	at := unsafe.Add(p, f.offset)
	switch {
	case !f.own.Bytes:
		*(*string)(at) = text
	case text == "":
		*(*[]byte)(at) = nil
	default:
		*(*[]byte)(at) = []byte(text)
	}
}

// append appends a value with its length.
func (f *textField) append(b []byte, text string) []byte {
	if invariants.Enabled {
		err := CheckText(&f.TextField, text)
		invariants.Checkf(err == nil, "%v", err)
	}
	return append(bitio.AppendUvarint(b, uint32(len(text))), text...)
}

// read reads what append wrote.
func (f *textField) read(c *bitio.Cursor) string {
	n := c.Uvarint(uint32(f.Max), f.Path)
	text := string(c.Bytes(int(n), f.Path))
	if err := CheckText(&f.TextField, text); err != nil {
		c.FailWith(err)
		return ""
	}
	return text
}

// UpdateTexts copies the component's text fields from the struct that v points to into
// texts, which has one element for each text field of the schema. They have the form that
// is sent (fitText). v must be a *T for the component's type T; UpdateTexts
// and SetTexts panic otherwise.
//
// It returns a bitmap of the component's text fields that have changed, and allocates
// nothing if none has.
func (c *Component) UpdateTexts(v any, texts []string) (changed uint64) {
	p := c.structAt(v)
	own := texts[c.firstText:][:len(c.texts)]
	for i := range c.texts {
		if !c.texts[i].holds(p, own[i]) {
			own[i] = c.texts[i].get(p)
			changed |= 1 << i
		}
	}
	return changed
}

// SetTexts sets the component's text fields in the struct that v points to, to the values in texts, or
// to empty ones if texts is nil. For a receiver that does not own the entity, fields sent only to
// owners are left unchanged.
func (c *Component) SetTexts(owner bool, texts []string, v any) {
	p := c.structAt(v)
	for i := range c.texts {
		if !c.texts[i].isSentTo(owner) {
			continue
		}
		value := ""
		if texts != nil {
			value = texts[c.firstText+i]
		}
		c.texts[i].set(p, value)
	}
}

// AppendTexts appends the texts of an Enter: each text field of the components in mask, if
// the receiver is sent the field, with its length. texts has a value for each text field of
// the schema.
func (l *Layout) AppendTexts(b []byte, mask uint32, owner bool, texts []string) []byte {
	for i := range l.texts {
		if f := &l.texts[i]; mask>>f.Component&1 != 0 && f.isSentTo(owner) {
			b = f.append(b, texts[i])
		}
	}
	return b
}

// ReadTexts reads texts that AppendTexts wrote. Values that were not sent are empty. After
// an error, the contents of texts are undefined.
func (l *Layout) ReadTexts(b []byte, mask uint32, owner bool, texts []string) error {
	clear(texts)
	c := bitio.NewCursor(b)
	for i := range l.texts {
		if f := &l.texts[i]; mask>>f.Component&1 != 0 && f.isSentTo(owner) {
			texts[i] = f.read(&c)
		}
	}
	return wire.Malformed(c.End())
}
