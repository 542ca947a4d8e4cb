package world

import (
	"fmt"
	"iter"
	"slices"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/world/motion"
)

// Volume makes its entity a trigger volume: Entered and Left report the bodies that cross
// its surface. Volume is an ordinary component, registered under any name; a world has at
// most one component of this type. The volume moves with its entity's body, if any, and
// ends with the entity.
//
// It is a sphere if Radius is not zero, otherwise a box; its surface counts as inside. A
// body is located at its centre. A volume may be infinitely large. It is empty if its size
// is negative or NaN, or its centre is not finite. It never contains its own entity.
type Volume struct {
	Center Vec3    // relative to the entity's body, or to the origin if there is none
	Radius float32 // metres
	Half   Vec3    // half the box's extent along each axis, metres
	Layers Layers  // kinds to report; 0 means all
}

// Crossing is a body that entered or left a volume.
type Crossing struct {
	Volume, Entity Entity
}

// Entered yields the bodies that entered a volume in the last step, in ascending order of
// the volumes' slots, then of the bodies' slots. Systems that run After see the crossings
// of their own step. Valid until the next Step.
func (w *World) Entered() iter.Seq[Crossing] { return slices.Values(w.volumes.entered) }

// Left yields the bodies that left a volume in the last step, in the order of Entered. Then
// it yields the pairs whose body or volume the end of the step destroyed, so that games can
// undo the effects of entering; their handles may be Stale. Valid until the next Step.
func (w *World) Left() iter.Seq[Crossing] { return slices.Values(w.volumes.left) }

// Inside reports whether the last step found the body inside the volume. It returns
// false unless both are live.
func (w *World) Inside(volume, body Entity) bool {
	if w.pool.Get(volume) == nil || w.pool.Get(body) == nil {
		return false
	}
	t := w.volumes.trigger(volume.Index())
	return t != nil && t.members.Has(body.Index())
}

// volumes holds the trigger volumes and their members.
type volumes struct {
	component     *Component[Volume]
	triggers      []*trigger // by slot; nil where there is none
	known         bulk.Bitset
	free          []*trigger
	displaced     bulk.Bitset // bodies moved by SetPosition or similar since the last update; they may be asleep
	entered, left []Crossing

	moved      bulk.Bitset // bodies that may have moved, by slot
	movedCells bulk.Bitset // cells of the bodies in moved
	found      bulk.Bitset // scratch
}

// trigger is a volume at its last update. Memory: one bit per slot of the world, up to
// the highest member.
type trigger struct {
	volume  Entity
	shape   Volume // with an absolute centre
	members bulk.Bitset
}

func (v *volumes) trigger(slot uint32) *trigger {
	if slot < uint32(len(v.triggers)) {
		return v.triggers[slot]
	}
	return nil
}

// register makes c the world's volume component if it has that type.
func (v *volumes) register(c column) error {
	component, ok := c.(*Component[Volume])
	if !ok || component.local {
		return nil
	}
	if v.component != nil {
		return fmt.Errorf("%w: component %q: %q already has type world.Volume, and a world has only one such component", ErrType, component.name, v.component.name)
	}
	v.component = component
	return nil
}

func (v *volumes) begin() { v.entered, v.left = v.entered[:0], v.left[:0] }

// markDisplaced makes the next update check a body that may be asleep.
func (v *volumes) markDisplaced(slot uint32) {
	if v.component != nil {
		v.displaced.Set(slot)
	}
}

// open returns a new trigger for a volume.
func (v *volumes) open(volume Entity) *trigger {
	slot := volume.Index()
	for uint32(len(v.triggers)) <= slot {
		v.triggers = append(v.triggers, nil)
	}
	var t *trigger
	if n := len(v.free); n > 0 {
		t, v.free = v.free[n-1], v.free[:n-1]
	} else {
		t = new(trigger)
	}
	t.volume = volume
	v.triggers[slot] = t
	v.known.Set(slot)
	return t
}

// closeVolume reports all members of a volume as left and removes its trigger.
func (w *World) closeVolume(slot uint32) {
	v := &w.volumes
	t := v.triggers[slot]
	for member := range t.members.All() {
		v.left = append(v.left, Crossing{t.volume, w.tenant(member)})
	}
	t.members.Reset()
	t.shape = Volume{}
	v.triggers[slot] = nil
	v.known.Clear(slot)
	v.free = append(v.free, t)
}

// shapeOf returns a volume with its absolute centre.
func (w *World) shapeOf(slot uint32) Volume {
	shape := *w.volumes.component.values.At(slot)
	if row := w.rowOf[slot]; row != noRow {
		shape.Center = w.bodies.Position(int(row)).Add(shape.Center)
	}
	return shape
}

// contains reports whether p is inside, in double precision: rounding must not move a
// distant point inside.
func (s *Volume) contains(p Vec3) bool {
	if !motion.Finite(s.Center) {
		return false // even if it is infinite
	}
	x, y, z := float64(p.X)-float64(s.Center.X), float64(p.Y)-float64(s.Center.Y), float64(p.Z)-float64(s.Center.Z)
	if s.Radius != 0 {
		r := float64(s.Radius)
		return r > 0 && float64(x*x)+float64(y*y)+float64(z*z) <= float64(r*r)
	}
	hx, hy, hz := float64(s.Half.X), float64(s.Half.Y), float64(s.Half.Z)
	return -hx <= x && x <= hx && -hy <= y && y <= hy && -hz <= z && z <= hz
}

// coverVolume returns the cells that the volume intersects.
func (g *grid) coverVolume(s *Volume) region {
	x, z := float64(s.Center.X), float64(s.Center.Z)
	hx, hz := float64(s.Half.X), float64(s.Half.Z)
	if s.Radius != 0 {
		hx, hz = float64(s.Radius), float64(s.Radius)
	}
	return g.cover(x-hx, x+hx, z-hz, z+hz)
}

// isInside reports whether t contains the body of slot. It is false for the volume itself, and
// for bodies in layers that t does not select.
func (w *World) isInside(t *trigger, slot uint32) bool {
	row := w.rowOf[slot]
	if row == noRow || slot == t.volume.Index() {
		return false
	}
	layers := w.motion.Kinds[w.bodies.Kind[row]].Layers
	return t.shape.Layers.Selects(layers) && t.shape.contains(w.bodies.Position(int(row)))
}
