package schema

import (
	"fmt"
	"iter"
	"reflect"
	"slices"
	"strings"
	"unsafe"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/internal/bitio"
	"github.com/worldd/worldd/internal/invariants"
	"github.com/worldd/worldd/replication/wire"
)

// Message describes the body of an event, of a command's arguments or answer, or of an
// input. Its fields are tagged and quantised as in a component; all are sent.
//
//	struct ──Quantise──► Payload ──Append──► bytes ──Parse──► Payload ──Restore──► struct
//
// In what clients send, arguments and inputs, a handle may be provisional: of even
// generation, at least 2. In all other messages such a handle becomes null or is an error.
type Message struct {
	Type reflect.Type // nil in a parsed schema until Bind

	role   role
	fields []Field
	texts  []TextField
	values int // of all fields
	most   int // bytes of its longest form
}

// role is the purpose of a message.
type role uint8

const (
	fromServer role = iota // events, answers
	fromClient             // arguments
	ofInput                // inputs
)

// limit returns the most bytes that a message may take.
func (r role) limit() int {
	if r == ofInput {
		return wire.MaxInputBytes
	}
	return wire.MaxEventBytes
}

// Payload is a quantised message. Its memory can be used again for the next one.
type Payload struct {
	Values []uint32 // of its fields, in order
	Texts  []string // of its text fields, in order
}

// planMessage plans the struct type t. name is for errors.
func planMessage(name string, r role, t reflect.Type) (*Message, error) {
	if t == nil || t.Kind() != reflect.Struct {
		return nil, fmt.Errorf("schema: %s is a %v: want a struct", name, t)
	}
	m := &Message{Type: t, role: r}
	p := planner{component: name, message: m}
	if err := p.structure(t, 0, "", tag{}); err != nil {
		return nil, err
	}
	m.fields, m.texts, m.values = p.fields, p.texts, p.values
	if err := m.measure(); err != nil {
		return nil, fmt.Errorf("schema: %s: %w", name, err)
	}
	return m, nil
}

// measure sets m.most, or returns an error if that exceeds the limit.
func (m *Message) measure() error {
	bits := 0
	for i := range m.fields {
		bits += m.fields[i].longest()
	}
	m.most = (bits + 7) / 8
	for i := range m.texts {
		m.most += m.texts[i].longest()
	}
	if limit := m.role.limit(); m.most > limit {
		return fmt.Errorf("may take %d bytes, at most %d are allowed: quantise its fields or lower max", m.most, limit)
	}
	return nil
}

// longest returns the most bits of the field in full.
func (f *Field) longest() int {
	const sized = 2 + 32
	switch f.Kind {
	case KindRaw64:
		return 64
	case KindHandle:
		return 1 + 2*sized
	default:
		return int(f.Bits)
	}
}

// Fields returns the fields other than texts. The caller owns the slice.
func (m *Message) Fields() []Field { return slices.Clone(m.fields) }

// TextFields returns the text fields. The caller owns the slice.
func (m *Message) TextFields() []TextField { return slices.Clone(m.texts) }

// MaxBytes returns the length of the longest body.
func (m *Message) MaxBytes() int { return m.most }

// Quantise sets body to the values of v, a struct of the message's type or a pointer to
// one. See Schema.Quantise and Schema.UpdateTexts.
func (m *Message) Quantise(v any, body *Payload) error {
	p, err := m.structAt(v)
	if err != nil {
		return err
	}
	m.reset(body)
	quantise(m.fields, 0, p, body.Values)
	for i := range m.fields {
		if f := &m.fields[i]; f.Kind == KindHandle && m.role != fromServer {
			if h := *(*bulk.Handle)(unsafe.Add(p, f.offset)); isProvisional(h) {
				body.Values[f.Index], body.Values[f.Index+1] = h.Index(), h.Generation()
			}
		}
	}
	for i := range m.texts {
		body.Texts[i] = m.texts[i].get(p)
	}
	return nil
}

// isProvisional reports whether a client made h.
func isProvisional(h bulk.Handle) bool { return h.Generation() != 0 && !h.Valid() }

// Restore sets the struct of the message's type at v, a pointer, to body. Fields that are
// not replicated are left unchanged.
func (m *Message) Restore(body *Payload, v any) error {
	if reflect.TypeOf(v) != nil && reflect.TypeOf(v) == m.Type {
		return fmt.Errorf("schema: %v is a value: want a pointer to it", m.Type)
	}
	p, err := m.structAt(v)
	if err != nil {
		return err
	}
	restore(m.fields, 0, true, body.Values, p)
	for i := range m.texts {
		m.texts[i].set(p, body.Texts[i])
	}
	return nil
}

// structAt returns the struct that v is or points to. It copies a value.
func (m *Message) structAt(v any) (unsafe.Pointer, error) {
	if m.Type == nil {
		return nil, fmt.Errorf("schema: no Go type is bound to the message that %T is for: declare it, and call Bind", v)
	}
	switch r := reflect.ValueOf(v); {
	case !r.IsValid():
	case r.Type() == m.Type:
		pointer := reflect.New(m.Type)
		pointer.Elem().Set(r)
		return pointer.UnsafePointer(), nil
	case r.Kind() == reflect.Pointer && r.Type().Elem() == m.Type && !r.IsNil():
		return r.UnsafePointer(), nil
	}
	return nil, fmt.Errorf("schema: message is a %T or nil: want a %v or a pointer to one", v, m.Type)
}

// reset makes body one of zeros.
func (m *Message) reset(body *Payload) {
	body.Values = slices.Grow(body.Values[:0], m.values)[:m.values]
	body.Texts = slices.Grow(body.Texts[:0], len(m.texts))[:len(m.texts)]
	clear(body.Values)
	clear(body.Texts)
}

// Append appends body: all fields in full as one bit string, padded to a byte, then each
// text with its length.
func (m *Message) Append(b []byte, body *Payload) []byte {
	if invariants.Enabled {
		invariants.Checkf(len(body.Values) == m.values && len(body.Texts) == len(m.texts), "body has %d values and %d texts, its message %d and %d", len(body.Values), len(body.Texts), m.values, len(m.texts))
	}
	var w bitio.Writer
	w.Reset(b)
	for i := range m.fields {
		m.fields[i].Append(&w, body.Values)
	}
	b = w.Bytes()
	for i := range m.texts {
		b = m.texts[i].append(b, body.Texts[i])
	}
	return b
}

// Parse reads into body what Append wrote, from an untrusted peer. After an error, an
// *wire.Error with BadMessage, the contents of body are undefined.
func (m *Message) Parse(b []byte, body *Payload) error {
	m.reset(body)
	var r bitio.Reader
	r.Reset(b)
	for i := range m.fields {
		if f := &m.fields[i]; f.Kind == KindHandle && m.role != fromServer {
			f.readProvisional(&r, body.Values)
		} else {
			f.Read(&r, body.Values)
		}
	}
	if padding := r.Read(uint(r.Left() % 8)); padding != 0 {
		r.Fail("the padding of the fields is %b, not zero", padding)
	}
	if err := r.Err(); err != nil {
		return wire.Malformed(err)
	}
	c := bitio.NewCursor(b[len(b)-r.Left()/8:])
	for i := range m.texts {
		body.Texts[i] = m.texts[i].read(&c)
	}
	return wire.Malformed(c.End())
}

// readProvisional is Field.Read for a handle that may be provisional.
func (f *Field) readProvisional(r *bitio.Reader, values []uint32) {
	at := values[f.Index:]
	if !r.ReadBool() {
		return
	}
	at[0], at[1] = r.ReadSized(), r.ReadSized()
	if h := bulk.NewHandle(at[0], at[1]); r.Err() == nil && !isProvisional(h) && !(h.Valid() && h.Index() < wire.MaxSlots) {
		r.Fail("%s refers to slot %d, generation %d: no handle", f.Path, at[0], at[1])
	}
}

// AppendValue appends v, a struct of the message's type or a pointer to one. See Quantise
// and Append.
func (m *Message) AppendValue(b []byte, v any) ([]byte, error) {
	var body Payload
	if err := m.Quantise(v, &body); err != nil {
		return b, err
	}
	return m.Append(b, &body), nil
}

// ReadValue reads a body into the struct of the message's type at v, a pointer. See Parse
// and Restore.
func (m *Message) ReadValue(b []byte, v any) error {
	var body Payload
	if err := m.Parse(b, &body); err != nil {
		return err
	}
	return m.Restore(&body, v)
}

// References calls f with every handle in body that is not null, in order: the receiver
// learns of these. A provisional handle is one of the client's own.
func (m *Message) References(body *Payload, f func(bulk.Handle)) {
	for i := range m.fields {
		if at := m.fields[i].Index; m.fields[i].Kind == KindHandle && body.Values[at+1] != 0 {
			f(bulk.NewHandle(body.Values[at], body.Values[at+1]))
		}
	}
}

// KeepReferences sets to null every handle in body for which keep returns false.
func (m *Message) KeepReferences(body *Payload, keep func(bulk.Handle) bool) {
	for i := range m.fields {
		if at := m.fields[i].Index; m.fields[i].Kind == KindHandle && body.Values[at+1] != 0 {
			if !keep(bulk.NewHandle(body.Values[at], body.Values[at+1])) {
				body.Values[at], body.Values[at+1] = 0, 0
			}
		}
	}
}

// MapReferences replaces every handle in body that is not null by f's result, which must not
// be provisional unless the handle was.
func (m *Message) MapReferences(body *Payload, f func(bulk.Handle) bulk.Handle) {
	for i := range m.fields {
		if at := m.fields[i].Index; m.fields[i].Kind == KindHandle && body.Values[at+1] != 0 {
			h := f(bulk.NewHandle(body.Values[at], body.Values[at+1]))
			body.Values[at], body.Values[at+1] = h.Index(), h.Generation()
		}
	}
}

// View yields the path of each field of body and its value as text, without a Go type:
// first the fields, then the text fields. Values are those that Restore gives.
func (m *Message) View(body *Payload) iter.Seq2[string, string] {
	return func(yield func(path, value string) bool) {
		for i := range m.fields {
			if !yield(m.fields[i].Path, m.fields[i].format(body.Values)) {
				return
			}
		}
		for i := range m.texts {
			if !yield(m.texts[i].Path, m.texts[i].Format(body.Texts[i])) {
				return
			}
		}
	}
}

// Format returns View as text: Damage=12 By=17v3 Verb="burnt".
func (m *Message) Format(body *Payload) string {
	var b strings.Builder
	for path, value := range m.View(body) {
		if b.Len() > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(path)
		b.WriteByte('=')
		b.WriteString(value)
	}
	return b.String()
}

// appendText appends the lines of the message's fields.
func (m *Message) appendText(b []byte) []byte {
	for i := range m.fields {
		b = m.fields[i].appendText(b)
	}
	for i := range m.texts {
		b = m.texts[i].appendText(b)
	}
	return b
}
