package replication

import (
	"errors"
	"fmt"
	"reflect"

	"github.com/worldd/worldd/internal/rowschema"
	"github.com/worldd/worldd/replication/schema"
	"github.com/worldd/worldd/world"
)

// ErrSchema reports a schema that does not fit the world. New wraps it in an error that
// names the component, so that callers can tell it from a bad Config.
var ErrSchema = errors.New("replication: schema does not fit the world")

// worldBody marks a binding that reads the body instead of a component.
const worldBody = -1

// CheckSchema returns an error that names each component of s that w cannot supply.
func CheckSchema(w *world.World, s *schema.Schema) error {
	_, err := bindComponents(w, s)
	return err
}

// bindComponents finds for every schema component the world component that supplies its
// values: the one with the same name and type. The error names every component without one.
func bindComponents(w *world.World, s *schema.Schema) ([]int, error) {
	byName := map[string]world.ComponentInfo{}
	for _, info := range w.Components() {
		byName[info.Name] = info
	}
	bound := make([]int, len(s.Components()))
	var errs []error
	for i, spec := range s.Components() {
		if spec.Name == schema.BodyComponent {
			errs = append(errs, checkBodyRange(w, s, i))
			bound[i] = worldBody
			continue
		}
		info, ok := byName[spec.Name]
		switch {
		case !ok:
			errs = append(errs, fmt.Errorf("%w: component %q of the schema is not registered in the world: register it with server.Register", ErrSchema, spec.Name))
		case info.Local:
			errs = append(errs, fmt.Errorf("%w: component %q is local to the server's process and cannot be sent: register it with server.Register", ErrSchema, spec.Name))
		case info.Type != spec.Type:
			errs = append(errs, fmt.Errorf("%w: component %q is %v in the schema and %v in the world", ErrSchema, spec.Name, spec.Type, info.Type))
		}
		bound[i] = info.ID
	}
	return bound, errors.Join(errs...)
}

// checkBodyRange returns an error if bodies of w cannot be sent as component i of s. Bodies
// are read as schema.Body whatever the component's type, and quantising would clamp a
// position outside the range of its field tags.
func checkBodyRange(w *world.World, s *schema.Schema, i int) error {
	spec := &s.Components()[i]
	if spec.Type != reflect.TypeFor[schema.Body]() {
		return fmt.Errorf("%w: component %q is %v in the schema, want schema.Body: the name is reserved for the world's bodies", ErrSchema, spec.Name, spec.Type)
	}
	h := w.Config().HalfExtent
	corner, arrives := schema.Body{Position: [3]float32{h.X, h.Y, h.Z}}, schema.Body{}
	values := make([]uint32, spec.Values)
	bodies := rowschema.New(s).Component(i)
	bodies.Quantise(&corner, values)
	bodies.Restore(values, &arrives)
	for axis, at := range corner.Position {
		if at-arrives.Position[axis] > 1 {
			return fmt.Errorf("%w: bodies may be at %v m, and schema.Body holds at most %v m: reduce world.Config.HalfExtent", ErrSchema, at, arrives.Position[axis])
		}
	}
	return nil
}
