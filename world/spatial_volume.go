package world

import (
	"fmt"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/world/motion"
)

// Volume makes its entity a trigger volume: Entered and Left tell who crosses its
// surface. It is a component like any other, registered under a name of the
// game's choice; a world has at most one component of this type. The volume moves
// with its entity's body, if that has one, and ends with the entity.
//
// It is a sphere if Radius is not zero, else a box; what is on the surface is
// inside. A body is where its centre is. A volume may be infinitely large. Nobody
// is inside one whose size is negative or no number, or whose centre is not finite,
// nor inside itself.
type Volume struct {
	Center Vec3    // relative to the entity's body; to the origin if it has none
	Radius float32 // metres
	Half   Vec3    // half the box along each axis, metres
	Layers Layers  // of the kinds that it is about; 0 means all
}

// Crossing is a body that went into a volume, or out of it.
type Crossing struct {
	Volume, Entity Entity
}

// Entered returns who was found inside a volume by the last step, and was not by
// the step before: the body moved, or the volume did, or either is new. In
// ascending order of the volumes' slots, then of the entities'. Systems that run
// After see those of their own step. Valid until the next Step; read only.
func (w *World) Entered() []Crossing { return w.volumes.entered }

// Left returns who was inside a volume and was not found there by the last step,
// in the order of Entered, and behind them those pairs of which the step's end
// destroyed one: that a handle is Stale is no reason not to undo what its
// entering did. Valid until the next Step; read only.
func (w *World) Left() []Crossing { return w.volumes.left }

// Inside says whether the last step found the body inside the volume. False
// unless both are live.
func (w *World) Inside(volume, body Entity) bool {
	if w.pool.Get(volume) == nil || w.pool.Get(body) == nil {
		return false
	}
	t := w.volumes.trigger(volume.Index())
	return t != nil && t.members.Has(body.Index())
}

// volumes keeps the trigger volumes and who is inside.
type volumes struct {
	component     *Component[Volume]
	triggers      []*trigger // by slot; nil where there is none
	known         bulk.Bitset
	free          []*trigger
	displaced     bulk.Bitset // bodies put somewhere since the last look, who may sleep
	entered, left []Crossing

	moved      bulk.Bitset // who may have moved, by slot
	movedCells bulk.Bitset // cells that hold one of those
	found      bulk.Bitset // memory of a look
}

// trigger is a volume as it was last looked at. Memory: an eighth of a byte for
// each slot of the world, up to the highest of a member.
type trigger struct {
	volume  Entity
	shape   Volume // its centre absolute
	members bulk.Bitset
}

func (v *volumes) trigger(slot uint32) *trigger {
	if slot < uint32(len(v.triggers)) {
		return v.triggers[slot]
	}
	return nil
}

// adopt makes a component the world's volumes if it is one.
func (v *volumes) register(c column) error {
	component, ok := c.(*Component[Volume])
	if !ok || component.local {
		return nil
	}
	if v.component != nil {
		return fmt.Errorf("%w: component %q: %q has the type world.Volume already, and a world has one such component", ErrType, component.name, v.component.name)
	}
	v.component = component
	return nil
}

func (v *volumes) begin() { v.entered, v.left = v.entered[:0], v.left[:0] }

// displace has a body looked at that may sleep.
func (v *volumes) markDisplaced(slot uint32) {
	if v.component != nil {
		v.displaced.Set(slot)
	}
}

// open returns a trigger for a volume that has none.
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

// close lets all members of a volume leave, and forgets it.
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

// shapeOf returns a volume with its centre where it is now.
func (w *World) shapeOf(slot uint32) Volume {
	shape := *w.volumes.component.values.At(slot)
	if row := w.rowOf[slot]; row != noRow {
		shape.Center = w.bodies.Position(int(row)).Add(shape.Center)
	}
	return shape
}

// contains compares in double precision: what is far away does not seem near.
func (s *Volume) contains(p Vec3) bool {
	if !motion.Finite(s.Center) {
		return false // however large it is
	}
	x, y, z := float64(p.X)-float64(s.Center.X), float64(p.Y)-float64(s.Center.Y), float64(p.Z)-float64(s.Center.Z)
	if s.Radius != 0 {
		r := float64(s.Radius)
		return r > 0 && float64(x*x)+float64(y*y)+float64(z*z) <= float64(r*r)
	}
	hx, hy, hz := float64(s.Half.X), float64(s.Half.Y), float64(s.Half.Z)
	return -hx <= x && x <= hx && -hy <= y && y <= hy && -hz <= z && z <= hz
}

// cover returns the cells that the volume reaches into.
func (g *grid) coverVolume(s *Volume) region {
	x, z := float64(s.Center.X), float64(s.Center.Z)
	hx, hz := float64(s.Half.X), float64(s.Half.Z)
	if s.Radius != 0 {
		hx, hz = float64(s.Radius), float64(s.Radius)
	}
	return g.cover(x-hx, x+hx, z-hz, z+hz)
}

// holds says whether a body is inside.
func (w *World) isInside(t *trigger, slot uint32) bool {
	row := w.rowOf[slot]
	if row == noRow || slot == t.volume.Index() {
		return false
	}
	layers := w.motion.Kinds[w.bodies.Kind[row]].Layers
	return t.shape.Layers.Selects(layers) && t.shape.contains(w.bodies.Position(int(row)))
}
