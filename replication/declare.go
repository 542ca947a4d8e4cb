package replication

import (
	"errors"
	"fmt"

	"github.com/worldd/worldd/replication/schema"
	"github.com/worldd/worldd/world"
	"github.com/worldd/worldd/world/motion"
)

// DeclareWorld declares in s what clients need to compute bodies: the kinds of w and, if some kind
// has a body, the constants of its motion. An error says what to rename or to remove.
func DeclareWorld(s *schema.Schema, w *world.World) error {
	stepper, moves := w.Motion(), false
	var errs []error
	for i, kind := range w.Kinds() {
		k := schema.EntityKind{Name: kind.Name}
		if kind.Body != nil {
			moves = true
			k.Body = kindBody(&stepper.Kinds[i])
		}
		if err := s.AddKind(k); err != nil {
			errs = append(errs, fmt.Errorf("replication: kind %.64q of World cannot be in the schema that clients receive: rename or remove it: %w", kind.Name, err))
		}
	}
	if !moves {
		return errors.Join(errs...)
	}
	if err := s.SetMotion(motionOf(&stepper)); err != nil {
		errs = append(errs, fmt.Errorf("replication: the motion of World cannot be in the schema that clients receive: %w", err))
	}
	return errors.Join(errs...)
}

// kindBody converts a kind's constants to the schema's type.
func kindBody(k *motion.Kind) *schema.KindBody {
	return &schema.KindBody{
		InvMass: k.InvMass, Coupling: k.Coupling, Radius: k.Radius, Friction: k.Friction, Restitution: k.Restitution,
		Layers: uint32(k.Layers),
	}
}

// motionOf converts the constants of a world's motion to the schema's type.
func motionOf(s *motion.Stepper) schema.Motion {
	return schema.Motion{
		TickHz: uint16(s.TickHz), Gravity: s.Gravity, MaxSpeed: world.MaxSpeed,
		HalfX: s.HalfExtent.X, Height: s.HalfExtent.Y, HalfZ: s.HalfExtent.Z,
		RestSpeed: s.RestSpeed, RestTicks: s.RestTicks, Bounds: schema.Bounds(s.Bounds),
	}
}
