package rowschema

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unsafe"

	"github.com/worldd/worldd/replication/schema"
)

// Layout reads and writes the rows of a schema and the texts of its components. It is read-only, and
// may be shared by goroutines.
type Layout struct {
	schema     *schema.Schema
	components []Component
	texts      []textField // of all components, in order
	parented   []int       // components with a parent tag
	secret     []int       // indices of the values of owner fields
	owned      uint32      // bitmap of the components with owner fields
	texted     uint32      // bitmap of the components with text fields
	refers     bool        // some field is a handle
	values     int
}

// Component converts one component between its Go struct and its values in a row. Methods that take
// a struct panic unless it is a pointer to the component's type.
type Component struct {
	name      string
	pointer   reflect.Type // pointer to its struct type; nil if the schema has none
	offset    int          // index of its first value in a row
	values    int          // in a row
	fields    []field
	texts     []textField
	firstText int // number of its first text field
	parent    int // index in fields of the handle that a parent= tag names, or -1
	load      int // see Layout.Load
	initials  *initials
	secret    bool // the struct has a field that only owners receive
}

// New compiles s, which must be complete: the layout does not include later definitions and
// types.
func New(s *schema.Schema) *Layout {
	l := &Layout{schema: s, values: s.Values()}
	for _, spec := range s.Components() {
		c := Component{
			name: spec.Name, offset: spec.Offset, values: spec.Values, parent: spec.Parent,
			fields: newFields(spec.Type, spec.Fields, spec.Binding), texts: newTexts(spec.Type, spec.TextFields, spec.Binding), firstText: len(l.texts),
			initials: newInitials(spec.Type, spec.Binding),
		}
		l.texts = append(l.texts, c.texts...)
		if spec.Type != nil {
			c.pointer = reflect.PointerTo(spec.Type)
		}
		c.secret = slices.ContainsFunc(c.fields, func(f field) bool { return f.Owner && f.memory != memNone })
		c.load = loadOf(c.fields, c.parent >= 0)
		l.addComponent(c)
	}
	return l
}

// addComponent adds the next component.
func (l *Layout) addComponent(c Component) {
	bit := uint32(1) << len(l.components)
	for i := range c.fields {
		f := &c.fields[i]
		l.refers = l.refers || f.Kind == schema.KindHandle
		if f.Owner {
			l.owned |= bit
			for j := range f.Values() {
				l.secret = append(l.secret, f.Index+j)
			}
		}
	}
	if len(c.texts) > 0 {
		l.texted |= bit
	}
	if c.parent >= 0 {
		l.parented = append(l.parented, len(l.components))
	}
	l.components = append(l.components, c)
}

// Schema returns the schema from which l was compiled.
func (l *Layout) Schema() *schema.Schema { return l.schema }

// Components returns the number of components.
func (l *Layout) Components() int { return len(l.components) }

// Component returns component i.
func (l *Layout) Component(i int) *Component { return &l.components[i] }

// Values returns the number of values in a row.
func (l *Layout) Values() int { return l.values }

// HasParents reports whether any component has a parent tag.
func (l *Layout) HasParents() bool { return len(l.parented) > 0 }

// Refers reports whether any field is a handle.
func (l *Layout) Refers() bool { return l.refers }

// OwnedMask returns a bitmap of the components with fields sent only to owners.
func (l *Layout) OwnedMask() uint32 { return l.owned }

// TextMask returns a bitmap of the components with text fields.
func (l *Layout) TextMask() uint32 { return l.texted }

// TextFields returns the text fields of all components, by number.
func (l *Layout) TextFields() []schema.TextField {
	all := make([]schema.TextField, len(l.texts))
	for i := range l.texts {
		all[i] = l.texts[i].TextField
	}
	return all
}

// mask has a bit for each component.
func (l *Layout) mask() uint32 { return uint32(1<<len(l.components) - 1) }

// In returns the component's values in a row.
func (c *Component) In(row []uint32) []uint32 { return row[c.offset : c.offset+c.values] }

// TextFields returns the numbers of the component's text fields: from first to before end.
func (c *Component) TextFields() (first, end int) { return c.firstText, c.firstText + len(c.texts) }

// IsSecret reports whether the struct has a field that only owners receive.
func (c *Component) IsSecret() bool { return c.secret }

// structAt returns the address of the component's struct that v points to.
func (c *Component) structAt(v any) unsafe.Pointer {
	if reflect.TypeOf(v) != c.pointer {
		panic(fmt.Sprintf("schema: component %q is read from and written to a %v, not a %v", c.name, c.pointer, reflect.TypeOf(v)))
	}
	// The second word of an interface that holds a pointer is the pointer. reflect would
	// take 2 ns more per component and row.
	p := (*[2]unsafe.Pointer)(unsafe.Pointer(&v))[1]
	if p == nil {
		panic(fmt.Sprintf("schema: component %q is read from or written to a nil %v", c.name, c.pointer))
	}
	return p
}

// field is a field in a Go struct.
type field struct {
	schema.Field
	offset uintptr // in the struct
	memory memory
	ranged bool   // Type is TypeRange
	angle  bool   // Type is TypeAngle
	own    memory // of memInteger: the integer in the struct
	top    uint32 // of memInteger: the field's Max as declared; 0: 64 bits
	// perUnit is 1/Step if Step is a power of two, so that multiplication gives the bits of
	// the division; else 0.
	perUnit float64
}

// memory is a field's type in the struct.
type memory uint8

const (
	memBool memory = iota
	memInt8
	memInt16
	memInt32
	memInt64
	memUint8
	memUint16
	memUint32
	memUint64
	memFloat32
	memNarrow // a float32 for numbers that exceed it, or are finer
	memFloat64
	memWide // a float64 for numbers of 32 bits
	memHandle
	memRotation
	memNone    // the struct lacks the field
	memInteger // an integer that the struct declares in another form than the server
)

// newFields returns fields of the struct type t, mapped by binding; t is nil if there is no struct.
func newFields(t reflect.Type, fields []schema.Field, binding *schema.Binding) []field {
	if t != nil && binding != nil {
		return bindFields(t, fields, binding)
	}
	all := make([]field, len(fields))
	for i, f := range fields {
		if t == nil {
			all[i] = newField(f)
		} else {
			all[i] = newFieldIn(t, f, f.Path)
		}
	}
	return all
}

// newField returns a field without a struct.
func newField(f schema.Field) field {
	c := field{Field: f, memory: defaultMemory(&f), ranged: f.Type == schema.TypeRange, angle: f.Type == schema.TypeAngle}
	if fraction, _ := math.Frexp(f.Step); fraction == 0.5 && !math.IsInf(1/f.Step, 0) {
		c.perUnit = 1 / f.Step
	}
	return c
}

// newFieldIn returns a field that the struct type t has under path.
func newFieldIn(t reflect.Type, f schema.Field, path string) field {
	c := newField(f)
	at, offset := locate(t, path)
	c.offset = offset
	if f.Type != schema.TypeHandle && f.Type != schema.TypeRotation {
		c.memory = memoryOf(at.Kind())
	}
	return c
}

// newTexts returns text fields of the struct type t, mapped by binding; t is nil if there is no struct.
func newTexts(t reflect.Type, fields []schema.TextField, binding *schema.Binding) []textField {
	all := make([]textField, len(fields))
	for i, f := range fields {
		own := f
		switch {
		case t == nil:
		case binding == nil:
			_, all[i].offset = locate(t, f.Path)
		case binding.Texts[i] < 0:
			own = schema.TextField{}
		default:
			own = binding.DeclaredTexts[binding.Texts[i]]
			_, all[i].offset = locate(t, own.Path)
		}
		all[i].TextField, all[i].own = f, own
	}
	return all
}

// locate returns the type and the offset of the field of t that a path like Aim.Pitch[2]
// names. t must have this field.
func locate(t reflect.Type, path string) (reflect.Type, uintptr) {
	offset := uintptr(0)
	for step := range strings.SplitSeq(path, ".") {
		name, indices, _ := strings.Cut(step, "[")
		f := fieldOf(t, name)
		t, offset = f.Type, offset+f.Offset
		for indices != "" {
			digits, rest, _ := strings.Cut(indices, "]")
			n, _ := strconv.Atoi(digits)
			t, offset = t.Elem(), offset+uintptr(n)*t.Elem().Size()
			indices = strings.TrimPrefix(rest, "[")
		}
	}
	return t, offset
}

// fieldOf returns the field of the struct type t with this name. FieldByName would also
// find the fields of embedded structs.
func fieldOf(t reflect.Type, name string) reflect.StructField {
	for i := range t.NumField() {
		if f := t.Field(i); f.Name == name {
			return f
		}
	}
	panic(fmt.Sprintf("schema: %v has no field %s", t, name))
}

// defaultMemory returns the type in which values of a field are shown if there is no
// struct.
func defaultMemory(f *schema.Field) memory {
	wide := f.Kind == schema.KindRaw64
	switch f.Type {
	case schema.TypeBool:
		return memBool
	case schema.TypeHandle:
		return memHandle
	case schema.TypeRotation:
		return memRotation
	case schema.TypeRange, schema.TypeAngle:
		return memFloat64
	case schema.TypeFloat:
		if wide {
			return memFloat64
		}
		return memFloat32
	case schema.TypeInt:
		if wide {
			return memInt64
		}
		return memInt32
	}
	if wide {
		return memUint64
	}
	return memUint32
}

// memoryOf returns the memory of a bool or number.
func memoryOf(k reflect.Kind) memory {
	switch k {
	case reflect.Bool:
		return memBool
	case reflect.Int8:
		return memInt8
	case reflect.Int16:
		return memInt16
	case reflect.Int32:
		return memInt32
	case reflect.Int64:
		return memInt64
	case reflect.Uint8:
		return memUint8
	case reflect.Uint16:
		return memUint16
	case reflect.Uint32:
		return memUint32
	case reflect.Float32:
		return memFloat32
	case reflect.Float64:
		return memFloat64
	}
	return memUint64
}

func (f *field) signed() bool { return f.Type == schema.TypeInt }

// isSentTo reports whether the field is sent to a receiver that owns the entity, or to one that does not.
func (f *field) isSentTo(owner bool) bool { return owner || !f.Owner }
