package schema

import (
	"fmt"
	"reflect"

	"github.com/worldd/worldd/replication/wire"
)

// Schema declares everything that crosses the wire: components with the quantisation of their
// fields, commands, events, the input, kinds of entities and motion. A server sends its schema
// to clients, whose SDK binds the game's schema to it. Build a schema completely
// before use; from then on it is read-only and may be shared by goroutines.
//
// A type is described by the tags of its exported fields (unexported ones are
// not replicated):
//
//	Speed  float32     `net:"range=-128..128,step=1/32"` // quantised, saturating; also float64
//	Ammo   int32       `net:"bits=12"`                   // 12 bits, saturating; signed types are signed
//	Armed  bool                                          // 1 bit
//	Target bulk.Handle `net:"ref"`                       // a handle; the tag is required
//	Look   [3]float32  `net:"range=-1..1,step=1/127"`    // arrays and nested structs are flattened
//	Health int16       `net:"always"`                    // never sent as a difference; may be added to range, bits and ref
//	State  uint8       `net:"enum=5"`                    // 0 to 4, saturating
//	Yaw    float32     `net:"angle,bits=12"`             // radians, any turn; the whole turn is 2^12 steps
//	Facing [4]float32  `net:"quat,bits=9"`               // unit quaternion x, y, z, w: smallest three, 9 bits each
//	Gold   int32       `net:"owner"`                     // only for owners of the entity; may be added to any other tag
//	Serial uint64                                        // no tag: full width
//	Name   string      `net:"max=24"`                    // at most 24 bytes of UTF-8; []byte: any bytes
//	Cache  int32       `net:"-"`                         // not replicated
//
// The components of a quaternion, of 2 to 10 bits, cannot represent 0 exactly: the
// identity is off by 0.27 degrees with bits=9, and by 0.14 with bits=10.
//
// With predict=linear, the prediction is that a number, angle or quaternion keeps changing
// at the same rate. The row codec writes the difference from it. A position (an array of
// three ranged floats) may add parent=FIELD, the path of a handle in the same struct. If
// the named entity has the same component, the position and the struct's first quaternion
// are also predicted to move with that entity as if fixed to it.
//
// With owner a field is sent only to receivers that own the entity; the bits of other
// receivers' rows do not depend on its value. Other receivers still learn that the entity
// has the component. A component with parent= cannot have owner fields, because a parent's
// known motion must not depend on the receiver.
//
// Strings and []byte are text fields. They are sent in full, in an Enter and whenever they
// change, and are not part of a row. A string that is too long is cut off between two
// characters, and invalid UTF-8 is replaced by U+FFFD. See TextFields.
//
// The tag of a nested struct or array applies to all fields in it without a tag of
// their own; a field's own tag replaces it entirely, and must repeat owner.
//
// A field that had another name in earlier versions keeps it in a second tag, for clients of
// servers that still use it (see Bind):
//
//	Plates uint8 `net:"bits=6" was:"Shields"` // several names are separated by commas
type Schema struct {
	components []Component
	byName     map[string]int
	values     int
	declarations
}

// Component describes one component of a Schema.
type Component struct {
	Name       string
	Type       reflect.Type // nil in a parsed schema until Bind
	Fields     []Field      // in their order in a row
	TextFields []TextField
	Values     int // number of its quantised values
	Offset     int // index of its first value in a row
	// Parent is the index in Fields of the handle that a parent= tag names, or -1.
	// Anchored is the index of the position's first field.
	Parent, Anchored int
	Binding          *Binding // of the fields to the members of Type; nil: they are the same
	Default          any      // the struct given to WithDefault; nil: none

	was map[string][]string // former paths of its fields, by path
}

// Kind is the wire format of a field.
type Kind uint8

// Kinds.
const (
	KindBool     Kind = iota // 1 bit
	KindNumber               // an integer from 0 to Max, modulo Max+1
	KindRaw32                // 32 bits as they are: float32
	KindRaw64                // two values: float64, and integers of 64 bits
	KindHandle               // a handle: index, generation
	KindRotation             // a unit quaternion, smallest three; Max is the largest number of each
)

// FieldType is the meaning of a field's number.
type FieldType uint8

// Field types. Text names them by the words of fieldTypes.
const (
	TypeBool     FieldType = iota
	TypeUint               // an unsigned integer
	TypeInt                // a signed integer
	TypeFloat              // a float as it is
	TypeRange              // a float: n stands for Low + n*Step
	TypeAngle              // a float in radians: the whole turn has 2^Bits steps
	TypeEnum               // an unsigned integer up to Max
	TypeHandle             // a handle
	TypeRotation           // a unit quaternion
)

var fieldTypes = [...]string{"bool", "uint", "int", "float", "range", "angle", "enum", "ref", "quat"}

// String returns the type's word in Text.
func (t FieldType) String() string { return fieldTypes[t] }

// Field is one quantised value of a component or message: a number, a handle or a rotation.
// Structs and arrays are flattened.
type Field struct {
	Path   string // path in the struct, like Aim.Pitch[2]
	Type   FieldType
	Kind   Kind
	Index  int     // index of its first value in a row or message
	Bits   uint    // width of an absolute number
	Max    uint32  // largest number
	Low    float64 // of a range
	Step   float64 // of a range
	Always bool    // in full in every row
	Owner  bool    // only in rows of receivers that own the entity
	Linear bool    // predicted from its last two states
	Vector bool    // the first of three fields that form a vector
}

// MaxRotationBits bounds the bits of each of a rotation's three smaller components.
const MaxRotationBits = 10

// New returns a schema without components.
func New() *Schema {
	return &Schema{byName: map[string]int{}}
}

// addType adds the struct type t under name. An error names the type, the field and the
// remedy, and leaves s unchanged.
func (s *Schema) addType(name string, t reflect.Type) error {
	if err := s.checkComponent(name); err != nil {
		return err
	}
	if t == nil || t.Kind() != reflect.Struct {
		return fmt.Errorf("schema: component %q is a %v: want a struct", name, t)
	}
	p := planner{component: name, values: s.values}
	if err := p.structure(t, "", tag{}); err != nil {
		return err
	}
	parent, err := p.findParent(t)
	if err != nil {
		return err
	}
	was, err := p.formerPaths(t)
	if err != nil {
		return err
	}
	return s.addComponent(name, t, plan{p.fields, p.texts, p.values, parent, p.anchored, was})
}

// checkComponent returns an error if no component of that name can be added.
func (s *Schema) checkComponent(name string) error {
	if err := checkName("component", name); err != nil {
		return err
	}
	if _, taken := s.byName[name]; taken {
		return fmt.Errorf("schema: component %q is added twice", name)
	}
	if len(s.components) == wire.MaxComponents {
		return fmt.Errorf("schema: component %q is one more than a schema's %d: join some into one struct", name, wire.MaxComponents)
	}
	return nil
}

// plan is the wire form of a component.
type plan struct {
	fields           []Field
	texts            []TextField
	values           int // values in the schema up to this component
	parent, anchored int // see Component
	was              map[string][]string
}

// addComponent adds a checked component, unless the schema would become too large.
func (s *Schema) addComponent(name string, t reflect.Type, p plan) error {
	c := Component{
		Name: name, Type: t, Fields: p.fields, TextFields: p.texts, Values: p.values - s.values, Offset: s.values,
		Parent: p.parent, Anchored: p.anchored, was: p.was,
	}
	for i := range c.TextFields {
		c.TextFields[i].Component = len(s.components)
	}
	textBytes, err := s.longestTexts(name, c.TextFields)
	if err != nil {
		return err
	}
	if err := s.admitText("component", name, c.appendText(nil)); err != nil {
		return err
	}
	s.byName[name] = len(s.components)
	s.components = append(s.components, c)
	s.values, s.textBytes = p.values, textBytes
	return nil
}

// Components returns the components in the order of their definition, which numbers them from 0.
// The slice is the schema's: do not change it.
func (s *Schema) Components() []Component { return s.components }

// ByName returns the number of the component with this name.
func (s *Schema) ByName(name string) (int, bool) {
	i, ok := s.byName[name]
	return i, ok
}

// Values returns the number of values in a row.
func (s *Schema) Values() int { return s.values }

// Values returns the number of values of the field.
func (f *Field) Values() int {
	if f.Kind == KindRaw64 || f.Kind == KindHandle {
		return 2
	}
	return 1
}

// BodyComponent is the schema name of Body. The server fills it from the world's
// bodies, and every other component from the world component of the same name.
const BodyComponent = "body"

// Body is an entity's position and velocity, registered in a schema as
// BodyComponent. Six raw floats would be 192 bits; quantised they are 102.
type Body struct {
	Position [3]float32 `net:"range=-1024..1024,step=1/256,predict=linear"` // metres, y up
	Velocity [3]float32 `net:"range=-128..128,step=1/32,predict=linear"`    // metres a second
}
