package bodies

import (
	"reflect"
	"unsafe"

	"github.com/worldd/worldd/replication/schema"
	"github.com/worldd/worldd/world/motion"
)

// Fields are the offsets of a body's position and velocity in a struct type.
type Fields struct{ position, velocity uintptr }

// OwnFields are the fields of schema.Body.
var OwnFields = &Fields{unsafe.Offsetof(schema.Body{}.Position), unsafe.Offsetof(schema.Body{}.Velocity)}

// FieldsOf returns the fields of a component's struct type. It returns nil if the component is
// not the body, or the struct's fields have other types.
func FieldsOf(component string, t reflect.Type) *Fields {
	vector := reflect.TypeFor[[3]float32]()
	if component != schema.BodyComponent {
		return nil
	}
	if t == reflect.TypeFor[schema.Body]() {
		return OwnFields
	}
	p, ok := t.FieldByName("Position")
	v, moves := t.FieldByName("Velocity")
	if !ok || !moves || p.Type != vector || v.Type != vector || len(p.Index) != 1 || len(v.Index) != 1 {
		return nil
	}
	return &Fields{p.Offset, v.Offset}
}

// SetBody sets the position and the velocity of the struct at v to those in s.
func (f *Fields) SetBody(v unsafe.Pointer, s *motion.State) {
	*(*[3]float32)(unsafe.Add(v, f.position)) = s.Position.Array()
	*(*[3]float32)(unsafe.Add(v, f.velocity)) = s.Velocity.Array()
}

// HasBody reports whether position and velocity of the struct at v equal those in s, as
// numbers.
func (f *Fields) HasBody(v unsafe.Pointer, s *motion.State) bool {
	p, w := *(*[3]float32)(unsafe.Add(v, f.position)), *(*[3]float32)(unsafe.Add(v, f.velocity))
	return motion.VecOf(p) == s.Position && motion.VecOf(w) == s.Velocity
}
