package bodies

import (
	"github.com/worldd/worldd/internal/rowschema"
	"github.com/worldd/worldd/replication/schema"
	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/world/motion"
)

// rowForm converts between exact states and the component body of rows.
type rowForm struct {
	component int                  // number of the component body
	offset    int                  // of its values in a row
	alone     *rowschema.Component // the body in a row that has nothing else
	body      schema.Body          // scratch
	values    [6]uint32            // scratch: of body
}

// newRowForm returns the form of the rows of s. form is a schema with the component body alone.
func newRowForm(s, form *schema.Schema) rowForm {
	n, _ := s.ByName(schema.BodyComponent)
	return rowForm{component: n, offset: s.Components()[n].Offset, alone: rowschema.New(form).Component(0)}
}

// gridOf returns the numbers that the quantised body in a row stands for.
func (f *rowForm) gridOf(values []uint32) (g wire.Grid) {
	f.alone.Restore(values[f.offset:f.offset+len(f.values)], &f.body)
	copy(g[:3], f.body.Position[:])
	copy(g[3:], f.body.Velocity[:])
	return g
}

// quantise returns the values of a body in a row, valid until the next call.
func (f *rowForm) quantise(s *motion.State) []uint32 {
	f.body = schema.Body{Position: s.Position.Array(), Velocity: s.Velocity.Array()}
	f.alone.Quantise(&f.body, f.values[:])
	return f.values[:]
}
