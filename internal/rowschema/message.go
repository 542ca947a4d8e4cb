package rowschema

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
	"github.com/worldd/worldd/replication/schema"
	"github.com/worldd/worldd/replication/wire"
)

// Message reads and writes messages of one kind: an event, a command's arguments or answer, or an
// input.
//
//	struct ──Quantise──► Payload ──Append──► bytes ──Parse──► Payload ──Restore──► struct
type Message struct {
	of         reflect.Type // nil: the schema has no Go type for it
	fromClient bool         // its handles may be provisional
	fields     []field
	texts      []textField
	values     int // of all fields
	initials   *initials
	lacked     []uintptr // offsets in the struct of the handles that the server lacks
}

// NewMessage compiles m, or returns nil for nil.
func NewMessage(m *schema.Message) *Message {
	if m == nil {
		return nil
	}
	c := &Message{of: m.Type, fromClient: m.FromClient(), fields: newFields(m.Type, m.Fields, m.Binding), texts: newTexts(m.Type, m.TextFields, m.Binding)}
	c.initials = newInitials(m.Type, m.Binding)
	for i := range c.fields {
		c.values += c.fields[i].Values()
	}
	if m.FromClient() && m.Binding != nil {
		c.lacked = lackedHandles(m.Type, m.Binding)
	}
	return c
}

// NewUnservedMessage returns m, a message that the caller declares and sends, as bound to a server
// that lacks all its fields. It returns nil for nil.
func NewUnservedMessage(m *schema.Message) *Message {
	if m == nil {
		return nil
	}
	return &Message{of: m.Type, fromClient: true, lacked: lackedHandles(m.Type, &schema.Binding{Declared: m.Fields})}
}

// Type returns the message's struct type, nil if the schema has none.
func (m *Message) Type() reflect.Type { return m.of }

// Messages are the messages of a schema.
type Messages struct {
	schema  *schema.Schema
	Input   *Message   // nil: raw
	Args    []*Message // of commands, by number; nil: raw
	Answers []*Message // answer of a command; nil: none
	Events  []*Message // by number
}

// NewMessages compiles the messages of s, which must be complete.
func NewMessages(s *schema.Schema) *Messages {
	m := &Messages{schema: s, Input: NewMessage(s.Input())}
	for _, c := range s.Commands() {
		m.Args, m.Answers = append(m.Args, NewMessage(c.Args)), append(m.Answers, NewMessage(c.Answer))
	}
	for _, e := range s.Events() {
		m.Events = append(m.Events, NewMessage(e.Message))
	}
	return m
}

// AnswerTo returns the answer to the command of this name, or nil if it has none.
func (m *Messages) AnswerTo(command string) *Message {
	i, ok := m.schema.CommandByName(command)
	if !ok {
		return nil
	}
	return m.Answers[i]
}

// Payload is a quantised message. Its memory can be reused for the next message.
type Payload struct {
	Values []uint32 // of its fields, in order
	Texts  []string // of its text fields, in order
	// Lacked are the provisional handles of the struct in fields that the server lacks.
	Lacked []bulk.Handle
}

// Quantise sets body to the values of v, a struct of the message's type or a pointer to
// one. See Component.Quantise and Component.UpdateTexts.
func (m *Message) Quantise(v any, body *Payload) error {
	p, err := m.structAt(v)
	if err != nil {
		return err
	}
	m.reset(body)
	quantise(m.fields, 0, p, body.Values)
	for i := range m.fields {
		if f := &m.fields[i]; f.memory == memHandle && m.fromClient {
			if h := *(*bulk.Handle)(unsafe.Add(p, f.offset)); isProvisional(h) {
				body.Values[f.Index], body.Values[f.Index+1] = h.Index(), h.Generation()
			}
		}
	}
	for _, offset := range m.lacked {
		if h := *(*bulk.Handle)(unsafe.Add(p, offset)); isProvisional(h) {
			body.Lacked = append(body.Lacked, h)
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
	if reflect.TypeOf(v) != nil && reflect.TypeOf(v) == m.of {
		return fmt.Errorf("schema: %v is a value: want a pointer to it", m.of)
	}
	p, err := m.structAt(v)
	if err != nil {
		return err
	}
	restore(m.fields, 0, true, body.Values, p)
	for i := range m.texts {
		m.texts[i].set(p, body.Texts[i])
	}
	if m.initials != nil {
		m.initials.copyTo(p)
	}
	return nil
}

// structAt returns the struct that v is or points to. It copies a value.
func (m *Message) structAt(v any) (unsafe.Pointer, error) {
	if m.of == nil {
		return nil, fmt.Errorf("schema: no Go type is bound to the message that %T is for: declare it, and call Bind", v)
	}
	switch r := reflect.ValueOf(v); {
	case !r.IsValid():
	case r.Type() == m.of:
		pointer := reflect.New(m.of)
		pointer.Elem().Set(r)
		return pointer.UnsafePointer(), nil
	case r.Kind() == reflect.Pointer && r.Type().Elem() == m.of && !r.IsNil():
		return r.UnsafePointer(), nil
	}
	return nil, fmt.Errorf("schema: message is a %T or nil: want a %v or a pointer to one", v, m.of)
}

// reset sets body to zeros.
func (m *Message) reset(body *Payload) {
	body.Values = slices.Grow(body.Values[:0], m.values)[:m.values]
	body.Texts = slices.Grow(body.Texts[:0], len(m.texts))[:len(m.texts)]
	clear(body.Values)
	clear(body.Texts)
	body.Lacked = body.Lacked[:0]
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
		AppendField(&w, &m.fields[i].Field, body.Values)
	}
	b = w.Bytes()
	for i := range m.texts {
		b = m.texts[i].append(b, body.Texts[i])
	}
	return b
}

// Parse reads body from b, which may come from an untrusted peer. An error is a *wire.Error
// with BadMessage; the contents of body are then undefined.
func (m *Message) Parse(b []byte, body *Payload) error {
	m.reset(body)
	var r bitio.Reader
	r.Reset(b)
	for i := range m.fields {
		if f := &m.fields[i]; f.Kind == schema.KindHandle && m.fromClient {
			f.readProvisional(&r, body.Values)
		} else {
			ReadField(&r, &f.Field, body.Values)
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

// readProvisional is like ReadField, for a handle that may be provisional.
func (f *field) readProvisional(r *bitio.Reader, values []uint32) {
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

// References calls f, in order, with every handle in body that is not null, including
// provisional handles. The receiver of the message learns these handles.
func (m *Message) References(body *Payload, f func(bulk.Handle)) {
	for i := range m.fields {
		if at := m.fields[i].Index; m.fields[i].Kind == schema.KindHandle && body.Values[at+1] != 0 {
			f(bulk.NewHandle(body.Values[at], body.Values[at+1]))
		}
	}
}

// KeepReferences sets each handle in body to null unless keep returns true for it.
func (m *Message) KeepReferences(body *Payload, keep func(bulk.Handle) bool) {
	for i := range m.fields {
		if at := m.fields[i].Index; m.fields[i].Kind == schema.KindHandle && body.Values[at+1] != 0 {
			if !keep(bulk.NewHandle(body.Values[at], body.Values[at+1])) {
				body.Values[at], body.Values[at+1] = 0, 0
			}
		}
	}
}

// MapReferences replaces every handle in body that is not null by f's result. The result
// may be provisional only if the handle was.
func (m *Message) MapReferences(body *Payload, f func(bulk.Handle) bulk.Handle) {
	for i := range m.fields {
		if at := m.fields[i].Index; m.fields[i].Kind == schema.KindHandle && body.Values[at+1] != 0 {
			h := f(bulk.NewHandle(body.Values[at], body.Values[at+1]))
			body.Values[at], body.Values[at+1] = h.Index(), h.Generation()
		}
	}
}

// View yields the path of each field of body and its value as text: first the fields, then
// the text fields. It needs no Go type. Values are the values that Restore sets.
func (m *Message) View(body *Payload) iter.Seq2[string, string] {
	return func(yield func(path, value string) bool) {
		for i := range m.fields {
			if !yield(m.fields[i].Path, m.fields[i].format(body.Values)) {
				return
			}
		}
		for i := range m.texts {
			if !yield(m.texts[i].Path, m.texts[i].format(body.Texts[i])) {
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
