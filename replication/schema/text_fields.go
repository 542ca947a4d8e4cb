package schema

import (
	"encoding/hex"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
	"unsafe"

	"github.com/worldd/worldd/internal/bitio"
	"github.com/worldd/worldd/internal/invariants"
	"github.com/worldd/worldd/replication/wire"
)

// TextField is a string or []byte field of a component or message. The text fields of a
// schema's components are numbered from 0 in order. Their values are passed as strings,
// also for []byte fields.
type TextField struct {
	Component int    // of the schema; 0 in messages
	Path      string // from the struct, like Slots[2].Label
	Max       int    // bytes
	Bytes     bool   // any bytes, else UTF-8
	Owner     bool   // sent only to receivers that own the entity

	offset uintptr // in the struct
}

// TextFields returns the text fields of all components. The caller owns the slice.
func (s *Schema) TextFields() []TextField { return slices.Clone(s.texts) }

// TextFieldsOf returns the numbers of a component's text fields: from first to before end.
func (s *Schema) TextFieldsOf(component int) (first, end int) {
	c := &s.components[component]
	return c.text, c.texts
}

// TextMask returns a bitmap of the components with text fields.
func (s *Schema) TextMask() (mask uint32) {
	for i := range s.texts {
		mask |= 1 << s.texts[i].Component
	}
	return mask
}

// SentTo reports whether the field is sent to a receiver that owns the entity, or to one
// that does not.
func (f *TextField) SentTo(owner bool) bool { return owner || !f.Owner }

// get returns the value of the field in the struct at p, as it is sent: at most Max bytes,
// cut off between two characters, with U+FFFD in place of each run of invalid UTF-8. It
// copies a []byte.
func (f *TextField) get(p unsafe.Pointer) string {
	at := unsafe.Add(p, f.offset)
	if f.Bytes {
		b := *(*[]byte)(at)
		return string(b[:min(len(b), f.Max)])
	}
	return truncate(strings.ToValidUTF8(*(*string)(at), string(utf8.RuneError)), f.Max)
}

// holds reports whether get would return text. It does not allocate if the struct's value
// is as it is sent.
func (f *TextField) holds(p unsafe.Pointer, text string) bool {
	at := unsafe.Add(p, f.offset)
	if f.Bytes {
		b := *(*[]byte)(at)
		return string(b[:min(len(b), f.Max)]) == text
	}
	return *(*string)(at) == text || f.get(p) == text
}

// truncate cuts valid UTF-8 off at a rune boundary.
func truncate(text string, most int) string {
	if len(text) <= most {
		return text
	}
	for !utf8.RuneStart(text[most]) {
		most--
	}
	return text[:most]
}

// set sets the field in the struct at p. A []byte gets a copy of its own, nil for an empty
// text.
func (f *TextField) set(p unsafe.Pointer, text string) {
	at := unsafe.Add(p, f.offset)
	switch {
	case !f.Bytes:
		*(*string)(at) = text
	case text == "":
		*(*[]byte)(at) = nil
	default:
		*(*[]byte)(at) = []byte(text)
	}
}

// Format shows a value: quoted, or of a []byte in hexadecimal.
func (f *TextField) Format(text string) string {
	if f.Bytes {
		return hex.EncodeToString([]byte(text))
	}
	return strconv.Quote(text)
}

// Check returns an error if text is too long for the field, or not UTF-8 where it must be.
func (f *TextField) Check(text string) error {
	if len(text) > f.Max {
		return wire.Malformed(fmt.Errorf("%s has %d bytes, at most %d are allowed", f.Path, len(text), f.Max))
	}
	if !f.Bytes && !utf8.ValidString(text) {
		return wire.Malformed(fmt.Errorf("%s is not UTF-8", f.Path))
	}
	return nil
}

// longest returns the most bytes that the field takes with its length.
func (f *TextField) longest() int {
	return len(bitio.AppendUvarint(nil, uint32(f.Max))) + f.Max
}

// append appends a value with its length.
func (f *TextField) append(b []byte, text string) []byte {
	if invariants.Enabled {
		err := f.Check(text)
		invariants.Checkf(err == nil, "%v", err)
	}
	return append(bitio.AppendUvarint(b, uint32(len(text))), text...)
}

// read reads what append wrote.
func (f *TextField) read(c *bitio.Cursor) string {
	n := c.Uvarint(uint32(f.Max), f.Path)
	text := string(c.Bytes(int(n), f.Path))
	if err := f.Check(text); err != nil {
		c.FailWith(err)
		return ""
	}
	return text
}

// UpdateTexts copies a component's text fields from the struct that v points to into texts,
// which has one element for each text field of the schema. They are as sent: cut between
// two characters to at most Max bytes, with U+FFFD in place of each run of invalid UTF-8.
// v must be a *T for the component's type T; UpdateTexts and SetTexts panic otherwise.
//
// It returns a bit for each of the component's text fields, in order, that has changed, and
// allocates nothing if none has.
func (s *Schema) UpdateTexts(component int, v any, texts []string) (changed uint64) {
	c := &s.components[component]
	p := c.structAt(v)
	for i := c.text; i < c.texts; i++ {
		if !s.texts[i].holds(p, texts[i]) {
			texts[i] = s.texts[i].get(p)
			changed |= 1 << (i - c.text)
		}
	}
	return changed
}

// SetTexts sets a component's text fields in the struct that v points to, to the values in texts, or
// to empty ones if texts is nil. For a receiver that does not own the entity, fields sent only to
// owners are left unchanged.
func (s *Schema) SetTexts(component int, owner bool, texts []string, v any) {
	p := s.components[component].structAt(v)
	for i := s.components[component].text; i < s.components[component].texts; i++ {
		if !s.texts[i].SentTo(owner) {
			continue
		}
		value := ""
		if texts != nil {
			value = texts[i]
		}
		s.texts[i].set(p, value)
	}
}

// AppendTexts appends the texts of an Enter: the value of each text field of the components
// in mask that the receiver is sent, with its length. texts has a value for each text
// field of the schema.
func (s *Schema) AppendTexts(b []byte, mask uint32, owner bool, texts []string) []byte {
	for i := range s.texts {
		if f := &s.texts[i]; mask>>f.Component&1 != 0 && f.SentTo(owner) {
			b = f.append(b, texts[i])
		}
	}
	return b
}

// ReadTexts reads into texts what AppendTexts wrote. Values that were not sent are empty.
// After an error, the contents of texts are undefined.
func (s *Schema) ReadTexts(b []byte, mask uint32, owner bool, texts []string) error {
	clear(texts)
	c := bitio.NewCursor(b)
	for i := range s.texts {
		if f := &s.texts[i]; mask>>f.Component&1 != 0 && f.SentTo(owner) {
			texts[i] = f.read(&c)
		}
	}
	return wire.Malformed(c.End())
}

// longestTexts returns the most bytes of an Enter's texts if a component has these too.
func (s *Schema) longestTexts(component string, texts []TextField) (int, error) {
	bytes := s.textBytes
	for i := range texts {
		bytes += texts[i].longest()
	}
	if bytes > wire.MaxTexts {
		return 0, fmt.Errorf("schema: component %q: with it the texts of an entity may take %d bytes, at most %d are allowed: lower max", component, bytes, wire.MaxTexts)
	}
	return bytes, nil
}

func (f *TextField) appendText(b []byte) []byte {
	kind := "string"
	if f.Bytes {
		kind = "bytes"
	}
	b = fmt.Appendf(b, "%s %s %d", f.Path, kind, f.Max)
	if f.Owner {
		b = append(b, " owner"...)
	}
	return append(b, '\n')
}

// isText reports whether t is the type of a text field.
func isText(t reflect.Type) bool {
	return t.Kind() == reflect.String || t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Uint8
}

// text plans a text field.
func (p *planner) text(t reflect.Type, offset uintptr, path string, g tag, own bool) error {
	if g.max == 0 {
		what := "wants its most bytes"
		if own {
			what = "takes no option but max and owner"
		}
		return p.complain(path, t, "a string or []byte %s: `net:\"max=24\"`, or `net:\"-\"`", what)
	}
	if err := p.admit(t, path); err != nil {
		return err
	}
	p.texts = append(p.texts, TextField{Path: path, Max: g.max, Bytes: t.Kind() == reflect.Slice, Owner: g.owner, offset: offset})
	return nil
}

// admit returns an error if the struct has no room for another field, or its path is too
// long.
func (p *planner) admit(t reflect.Type, path string) error {
	if len(path) > MaxPath {
		return p.complain(path, t, "the path has %d bytes, at most %d are allowed: shorten names", len(path), MaxPath)
	}
	if len(p.fields)+len(p.texts) == wire.MaxFieldsPerComponent {
		return p.complain(path, t, "is one more than a struct's %d fields: split it", wire.MaxFieldsPerComponent)
	}
	return nil
}
