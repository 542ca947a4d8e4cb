package schema

import (
	"fmt"
	"reflect"

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
