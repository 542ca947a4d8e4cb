package world_test

import (
	"cmp"
	"maps"
	"slices"

	"github.com/worldd/worldd/field"
	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/world"
)

type modelEffect struct {
	def     world.EffectDef // its centre relative to the followed entity
	center  world.Vec3
	born    uint64
	expires uint64
}

// effectIDs returns all effects by slot.
func (m *model) effectIDs() []world.EffectID {
	return slices.SortedFunc(maps.Keys(m.effects), bySlot)
}

// forces sums the effects on a body. Effects of one mode and the same layers have one sum; the
// sums are added in ascending order of modes and layers.
func (m *model) forces(b *modelEntity) (wind, push world.Vec3) {
	type group struct {
		mode   world.EffectMode
		layers world.Layers
	}
	var order []group
	members := map[group][]*modelEffect{}
	for _, id := range m.effectIDs() {
		e := m.effects[id]
		g := group{e.def.Mode, e.def.Layers}
		if members[g] == nil {
			order = append(order, g)
		}
		members[g] = append(members[g], e)
	}
	slices.SortFunc(order, func(a, b group) int { return cmp.Or(cmp.Compare(a.mode, b.mode), cmp.Compare(a.layers, b.layers)) })
	for _, g := range order {
		total := &wind
		if g.mode == world.Acceleration {
			total = &push
		}
		if g.layers == 0 || g.layers&b.def.Layers != 0 {
			*total = total.Add(m.sum(members[g], b.at, world.Vec3{}))
		}
	}
	return wind, push
}

func (m *model) sum(effects []*modelEffect, at, sum world.Vec3) world.Vec3 {
	for _, e := range effects {
		if e.has(at) {
			sum = m.evaluate(e, at, sum)
		}
	}
	return sum
}

func (m *model) evaluate(e *modelEffect, at, sum world.Vec3) world.Vec3 {
	p := at.Sub(e.center)
	points := field.Planes{X: []float32{p.X}, Y: []float32{p.Y}, Z: []float32{p.Z}}
	out := field.Planes{X: []float32{sum.X}, Y: []float32{sum.Y}, Z: []float32{sum.Z}}
	env := field.Env{Time: float64(m.tick-e.born) / float64(m.cfg.TickHz), Params: e.def.Params}
	must.Do(e.def.Program.Evaluate(points, out, env, make([]float32, e.def.Program.Scratch())))
	return world.Vec3{X: out.X[0], Y: out.Y[0], Z: out.Z[0]}
}

// has reports whether a position is in the effect's box.
func (e *modelEffect) has(at world.Vec3) bool {
	box, boxed := e.def.Program.Box()
	p := at.Sub(e.center)
	for i, x := range []float32{p.X, p.Y, p.Z} {
		if boxed && (x < box.Min[i] || x > box.Max[i]) {
			return false
		}
	}
	return true
}

// wakeIn wakes the bodies in the effect's box that feel it.
func (m *model) wakeIn(e *modelEffect) {
	for _, b := range m.entities {
		if b.def != nil && m.acts(e, b) {
			m.wake(b)
		}
	}
}

// acts reports whether a body is in an effect's box and feels it.
func (m *model) acts(e *modelEffect, b *modelEntity) bool {
	return !b.def.Kinematic && e.has(b.at) && (e.def.Layers == 0 || e.def.Layers&b.def.Layers != 0)
}

func (m *model) removeEffect(id world.EffectID) {
	m.wakeIn(m.effects[id])
	delete(m.effects, id)
}

// center moves an effect. A body in both boxes restarts its rest once.
func (m *model) center(e *modelEffect, to world.Vec3) {
	if e.center != to {
		m.wakeIn(e)
		e.center = to
		m.wakeIn(e)
	}
}

// path returns an effect's centre of a tick.
func (m *model) path(e *modelEffect, tick uint64) world.Vec3 {
	n, d := tick-e.born, &e.def
	if d.Orbit != (world.EffectOrbit{}) {
		turns := float32(int32(d.Orbit.Phase+uint32(n)*d.Orbit.Rate)) / (1 << 32)
		return d.Center.Add(d.Orbit.AxisU.Scale(field.Sin(turns + 0.25))).Add(d.Orbit.AxisV.Scale(field.Sin(turns)))
	}
	seconds := float64(n) / float64(m.cfg.TickHz)
	along := func(c, v float32) float32 { return float32(float64(c) + float64(float64(v)*seconds)) }
	return world.Vec3{X: along(d.Center.X, d.Velocity.X), Y: along(d.Center.Y, d.Velocity.Y), Z: along(d.Center.Z, d.Velocity.Z)}
}

func (m *model) advancePaths() {
	for _, id := range m.effectIDs() {
		e := m.effects[id]
		if leader := m.entities[e.def.Follow]; leader != nil {
			m.center(e, leader.at.Add(e.def.Center))
		} else {
			m.center(e, m.path(e, m.tick))
		}
	}
}

// endOrphans removes the effects whose entity is gone.
func (m *model) endOrphans() {
	for _, id := range m.effectIDs() {
		if e := m.effects[id]; e.def.Follow != 0 && m.entities[e.def.Follow] == nil {
			m.removeEffect(id)
		}
	}
}
