package schema

import (
	"encoding/hex"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/worldd/worldd/internal/bitio"
	"github.com/worldd/worldd/replication/wire"
)

// TextField is a string or []byte field of a component or message. The text fields of a
// schema's components are numbered from 0 in order. Their values are passed as strings,
// also for []byte fields.
type TextField struct {
	Component int    // of the schema; 0 in messages
	Path      string // path in the struct, like Slots[2].Label
	Max       int    // bytes
	Bytes     bool   // any bytes, else UTF-8
	Owner     bool   // sent only to receivers that own the entity
}

// TextFields returns the text fields of all components. The caller owns the slice.
func (s *Schema) TextFields() []TextField { return slices.Clone(s.texts) }

// SentTo reports whether the field is sent to a receiver that owns the entity, or to one
// that does not.
func (f *TextField) SentTo(owner bool) bool { return owner || !f.Owner }

// Fit returns the form of a string that is sent: at most Max bytes, cut off between two
// characters, with U+FFFD in place of each run of invalid UTF-8.
func (f *TextField) Fit(text string) string {
	return truncate(strings.ToValidUTF8(text, string(utf8.RuneError)), f.Max)
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

// Format shows a value: quoted, or of a []byte in hexadecimal.
func (f *TextField) Format(text string) string {
	if f.Bytes {
		return hex.EncodeToString([]byte(text))
	}
	return strconv.Quote(text)
}

// Check returns an error if text is too long for the field, or is not UTF-8 although the
// field is a string.
func (f *TextField) Check(text string) error {
	if len(text) > f.Max {
		return wire.Malformed(fmt.Errorf("%s has %d bytes, at most %d are allowed", f.Path, len(text), f.Max))
	}
	if !f.Bytes && !utf8.ValidString(text) {
		return wire.Malformed(fmt.Errorf("%s is not UTF-8", f.Path))
	}
	return nil
}

// longest returns the maximum size of the field with its length, in bytes.
func (f *TextField) longest() int {
	return len(bitio.AppendUvarint(nil, uint32(f.Max))) + f.Max
}

// longestTexts returns the maximum size of an Enter's texts if another component has these
// texts.
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
func (p *planner) text(t reflect.Type, path string, g tag, own bool) error {
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
	p.texts = append(p.texts, TextField{Path: path, Max: g.max, Bytes: t.Kind() == reflect.Slice, Owner: g.owner})
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
