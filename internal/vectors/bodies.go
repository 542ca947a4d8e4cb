package vectors

import (
	"github.com/worldd/worldd/replication/schema"
)

// Kinds of BodiesSchema.
const (
	BodiesBall   = iota // falls, rests on the ground and feels winds
	BodiesDrone         // in layer 2
	BodiesUnused        // kind number that the schema lacks
)

// Tick rates of the cases about bodies.
const (
	BodiesHz     = 20
	FastBodiesHz = 1000 // for the cases about the oldest allowed states
)

// BodiesSchema returns the schema of the hand-made cases of clients that simulate.
func BodiesSchema(tickHz uint16) (*schema.Schema, error) { return bodiesSchema(schema.New(), tickHz) }

// RidingBodiesSchema returns the schema of the cases about bodies that ride on others.
func RidingBodiesSchema() (*schema.Schema, error) {
	s := schema.New()
	schema.Define[schema.Body](s, schema.BodyComponent)
	schema.Define[ride](s, "ride")
	return bodiesSchema(s, BodiesHz)
}

// bodiesSchema returns s with the component body, kinds and motion.
func bodiesSchema(s *schema.Schema, tickHz uint16) (*schema.Schema, error) {
	if len(s.Components()) == 0 {
		schema.Define[schema.Body](s, schema.BodyComponent)
	}
	if err := s.Err(); err != nil {
		return nil, err
	}
	for _, k := range []schema.EntityKind{
		{Name: "ball", Body: &schema.KindBody{InvMass: 1, Coupling: 0.125, Radius: 0.5, Layers: 1}},
		{Name: "drone", Body: &schema.KindBody{InvMass: 1, Coupling: 0.125, Radius: 0.5, Layers: 2}},
	} {
		if err := s.AddKind(k); err != nil {
			return nil, err
		}
	}
	return s, s.SetMotion(schema.Motion{
		TickHz: tickHz, Gravity: 10, MaxSpeed: 128, HalfX: 128, Height: 128, HalfZ: 128, RestSpeed: 0.125, RestTicks: 10,
		Bounds: schema.BoundsClamp,
	})
}
