package world_test

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"github.com/worldd/worldd/world"
)

// model is the obvious implementation of a world: a map of entities with awake flags, all
// visited each tick, effects evaluated point by point, and contacts and volumes found by
// comparing all pairs. It is written from the comments of package world, and has no rows, no
// cells and no memory except the state.
type model struct {
	cfg      world.Config
	tick     uint64
	kinds    []world.Kind
	entities map[world.Entity]*modelEntity
	effects  map[world.EffectID]*modelEffect
	volumes  map[world.Entity]world.Volume
	inside   map[world.Crossing]bool

	slept, woke, destroyed []world.Entity
	entered, left          []world.Crossing
	past                   map[uint64]map[world.Entity]world.Vec3 // by tick, at its end
}

// remember stores all positions at the end of the tick.
func (m *model) remember() { m.past[m.tick] = m.places() }

func (m *model) places() map[world.Entity]world.Vec3 {
	places := map[world.Entity]world.Vec3{}
	for e, b := range m.entities {
		if b.def != nil {
			places[e] = b.at
		}
	}
	return places
}

type modelEntity struct {
	kind    world.KindID
	def     *world.BodyDef // nil: no body
	at, v   world.Vec3
	rest    int
	awake   bool
	stepped bool // awake in the last step
	newborn bool
	doomed  bool
	expires uint64
}

// allBySlot returns all entities by slot.
func (m *model) allBySlot() []world.Entity {
	return slices.SortedFunc(maps.Keys(m.entities), bySlot)
}

func bySlot(a, b world.Entity) int { return cmp.Compare(a.Index(), b.Index()) }

func (m *model) dt() float32 { return float32(1 / float64(m.cfg.TickHz)) }

// fall is the speed that gravity adds in one tick.
func (m *model) fall() float32 { return float32(m.cfg.Gravity * m.dt()) }

// slowest is the highest impact speed without a bounce.
func (m *model) slowest() float32 { return float32(2*m.fall()) + 0.25 }

func (m *model) step() {
	m.tick++
	m.advancePaths()
	m.flush()
	all := m.allBySlot()
	for _, e := range all {
		if b := m.entities[e]; b.stepped {
			m.move(b)
		}
	}
	m.sleepRested(all, m.resolveContacts(all))
	m.updateVolumes(all)
	for _, id := range m.effectIDs() {
		if m.effects[id].expires == m.tick {
			m.removeEffect(id)
		}
	}
	m.end(all)
	m.endOrphans()
	m.remember()
}

// flush records which bodies move in this step, and which moved in the last.
func (m *model) flush() {
	m.slept, m.woke = nil, nil
	for _, e := range m.allBySlot() {
		b := m.entities[e]
		if b.stepped && !b.awake {
			m.slept = append(m.slept, e)
		}
		if !b.stepped && b.awake && !b.newborn {
			m.woke = append(m.woke, e)
		}
		b.stepped, b.newborn = b.awake, false
	}
}

// end destroys doomed entities and wakes the bodies touching them. All of them leave volumes
// before the first is gone.
func (m *model) end(all []world.Entity) {
	m.destroyed = nil
	for _, e := range all {
		if b := m.entities[e]; b.doomed || b.expires == m.tick {
			m.destroyed = append(m.destroyed, e)
		}
	}
	m.leaveDoomed()
	for _, e := range m.destroyed {
		m.wakeGroup(m.entities[e])
		delete(m.entities, e)
		delete(m.volumes, e)
	}
}

func (m *model) move(b *modelEntity) {
	at, v := m.moved(b, b.v)
	m.put(b, at, v)
}

// coupling returns the share of a velocity that drag takes in a tick.
func (m *model) coupling(b *modelEntity) float32 {
	d := float32(b.def.Drag * m.dt())
	return d / (1 + d)
}

// moved returns where a tick moves a body with velocity v, without bounds.
func (m *model) moved(b *modelEntity, v world.Vec3) (world.Vec3, world.Vec3) {
	if !b.def.Kinematic {
		wind, push := m.forces(b)
		v = v.Add(wind.Sub(v).Scale(m.coupling(b))).Add(push.Scale(m.dt()))
		v.Y -= m.fall()
	}
	v = limited(v)
	at := b.at
	at.Y += float32(v.Y * m.dt())
	if !b.def.Kinematic && at.Y <= b.def.Radius {
		deep := b.def.Radius - at.Y
		at.Y = b.def.Radius
		v = m.ground(b.def, v, deep)
	}
	at.X += float32(v.X * m.dt())
	at.Z += float32(v.Z * m.dt())
	return at, v
}

// limited caps the speed of a step. Its square is computed in single precision.
func limited(v world.Vec3) world.Vec3 {
	if v.Dot(v) > world.MaxSpeed*world.MaxSpeed {
		return capped(v)
	}
	return v
}

// capped caps a velocity at MaxSpeed in double precision.
func capped(v world.Vec3) world.Vec3 {
	x, y, z := float64(v.X), float64(v.Y), float64(v.Z)
	square := float64(x*x) + float64(y*y) + float64(z*z)
	if square <= world.MaxSpeed*world.MaxSpeed {
		return v
	}
	s := world.MaxSpeed / math.Sqrt(square)
	return world.Vec3{X: float32(x * s), Y: float32(y * s), Z: float32(z * s)}
}

func (m *model) clamped(v world.Vec3) world.Vec3 {
	e := m.cfg.HalfExtent
	return world.Vec3{X: min(max(v.X, -e.X), e.X), Y: min(max(v.Y, 0), e.Y), Z: min(max(v.Z, -e.Z), e.Z)}
}

// put moves a body, and applies the rule at the bounds.
func (m *model) put(b *modelEntity, at, v world.Vec3) {
	b.at, b.v = m.clamped(at), v
	if m.cfg.Bounds == world.BoundsDestroy {
		b.doomed = b.doomed || b.at != at
		return
	}
	for _, axis := range []struct {
		out bool
		v   *float32
	}{{b.at.X != at.X, &b.v.X}, {b.at.Y != at.Y, &b.v.Y}, {b.at.Z != at.Z, &b.v.Z}} {
		bounces := m.cfg.Bounds == world.BoundsBounce && (*axis.v > m.slowest() || *axis.v < -m.slowest())
		switch {
		case axis.out && bounces:
			*axis.v = -float32(*axis.v * b.def.Restitution)
		case axis.out:
			*axis.v = 0
		}
	}
}

func (m *model) ground(def *world.BodyDef, v world.Vec3, deep float32) world.Vec3 {
	if v.Y >= 0 {
		return v
	}
	up := float32(0)
	if square := float32(v.Y*v.Y) - float32(2*m.cfg.Gravity*deep); square > float32(m.slowest()*m.slowest()) {
		up = float32(root(square) * def.Restitution)
	}
	grip := float32(def.Friction * (up - v.Y))
	slide := world.Vec3{X: v.X, Z: v.Z}
	if slide.Dot(slide) <= float32(grip*grip) {
		return world.Vec3{Y: up}
	}
	slide = slide.Scale(1 - grip/slide.Len())
	slide.Y = up
	return slide
}

func root(x float32) float32 { return float32(math.Sqrt(float64(x))) }

// rested returns the rest timer after a tick: one more for a body at rest, zero for a
// moving body, and unchanged if the speed is between Config.RestSpeed and twice that. A
// kinematic body either rests or moves.
func (m *model) rested(b *modelEntity) int {
	slow := m.cfg.RestSpeed
	switch square := b.v.Dot(b.v); {
	case b.def.Kinematic && b.v == world.Vec3{}, !b.def.Kinematic && square <= float32(slow*slow):
		return b.rest + 1
	case m.moves(b, b.v):
		return 0
	}
	return b.rest
}

// moves reports whether a body's velocity counts as moving.
func (m *model) moves(b *modelEntity, v world.Vec3) bool {
	if b.def.Kinematic {
		return v != world.Vec3{}
	}
	fast := float32(2 * m.cfg.RestSpeed)
	return v.Dot(v) > float32(fast*fast)
}

func (b *modelEntity) sleep() { b.awake, b.rest, b.v = false, 0, world.Vec3{} }

// wake restarts the rest timer of an awake body, or wakes a sleeper with its group.
func (m *model) wake(b *modelEntity) {
	if b.awake {
		b.rest = 0
		return
	}
	m.wakeGroup(b)
}

// wakeGroup wakes a body and all sleepers reachable from it by touch.
func (m *model) wakeGroup(b *modelEntity) {
	if b.def == nil {
		return
	}
	b.awake, b.rest = true, 0
	for _, other := range m.entities {
		if b.def.Solid && !other.awake && m.touch(b, other) && !other.def.Kinematic {
			m.wakeGroup(other)
		}
	}
}

// touch reports whether two solid bodies are at most a centimetre apart.
func (m *model) touch(a, b *modelEntity) bool {
	if a == b || b.def == nil || !a.def.Solid || !b.def.Solid {
		return false
	}
	d, reach := b.at.Sub(a.at), a.def.Radius+b.def.Radius+0.01
	return d.Dot(d) <= float32(reach*reach)
}
