package world_test

import (
	"cmp"
	"math"
	"slices"

	"github.com/worldd/worldd/world"
)

// modelContacts holds the touching bodies and pairs of one step.
type modelContacts struct {
	bodies map[*modelEntity]*modelContactBody
	order  []*modelContactBody // in order of discovery
	pairs  []*modelPair
}

// modelContactBody is a body while contacts are solved.
type modelContactBody struct {
	*modelEntity
	start, delta, deltaBefore world.Vec3
	now, vBefore, free        world.Vec3 // velocities
	invMass, gravity          float32
	group                     int
}

type modelPair struct {
	a, b       *modelContactBody
	normal     world.Vec3
	overlapped bool
}

// resolveContacts finds touching bodies, wakes sleepers that moving bodies hit, and moves all
// of them through the tick a second time, together.
func (m *model) resolveContacts(all []world.Entity) *modelContacts {
	c := &modelContacts{bodies: map[*modelEntity]*modelContactBody{}}
	for _, e := range all {
		b := m.entities[e]
		if !b.stepped || !b.def.Solid {
			continue
		}
		moves := m.moves(b, b.v)
		for _, near := range m.near(b, all) {
			other := m.entities[near]
			if b.def.Kinematic && other.def.Kinematic || other.stepped && bySlot(near, e) < 0 {
				continue
			}
			if !other.stepped && moves && !other.def.Kinematic {
				m.wake(other)
			}
			c.pairs = append(c.pairs, &modelPair{a: c.body(m, b), b: c.body(m, other)})
		}
	}
	for _, t := range c.order {
		if t.awake && !t.def.Kinematic {
			t.invMass = 1 / t.def.Mass
		}
	}
	c.solve(m)
	for _, t := range c.order {
		if t.invMass != 0 {
			m.put(t.modelEntity, t.start.Add(t.delta), limited(t.now))
		}
	}
	return c
}

// near lists the bodies touching b: by grid cell, along x first, and by slot within a cell.
func (m *model) near(b *modelEntity, all []world.Entity) []world.Entity {
	var list []world.Entity
	for _, e := range all {
		if m.touch(b, m.entities[e]) {
			list = append(list, e)
		}
	}
	slices.SortStableFunc(list, func(x, y world.Entity) int {
		p, q := m.entities[x].at, m.entities[y].at
		half := m.cfg.HalfExtent
		return cmp.Or(
			cmp.Compare(m.cell(p.Z, half.Z), m.cell(q.Z, half.Z)),
			cmp.Compare(m.cell(p.X, half.X), m.cell(q.X, half.X)),
		)
	})
	return list
}

// cell returns the number of a cell along one axis. The last cell may be cut off. It also
// contains all coordinates beyond it.
func (m *model) cell(x, half float32) int {
	n := int(math.Ceil(2 * float64(half) / float64(m.cfg.CellMetres)))
	return min(int(float32(x+half)*(1/m.cfg.CellMetres)), n-1)
}

// body moves a body back to its position at the beginning of the tick, except for the
// movement that the ground caused.
func (c *modelContacts) body(m *model, b *modelEntity) *modelContactBody {
	if t := c.bodies[b]; t != nil {
		return t
	}
	t := &modelContactBody{modelEntity: b, start: b.at, now: b.v, free: b.v, group: len(c.order)}
	if b.stepped {
		t.start = b.at.Sub(b.v.Scale(m.dt()))
	}
	if b.stepped && !b.def.Kinematic {
		if b.at.Y > b.def.Radius { // in the air: gravity acts in each substep
			t.gravity = m.cfg.Gravity
			t.now.Y += m.fall()
		}
		t.start.Y = max(t.start.Y, b.def.Radius)
	}
	c.bodies[b] = t
	c.order = append(c.order, t)
	return t
}

// solve is position-based dynamics in eight substeps.
func (c *modelContacts) solve(m *model) {
	for range 4 {
		for _, p := range c.pairs {
			p.depenetrate()
		}
	}
	h := m.dt() / 8
	for range 8 {
		for _, t := range c.order {
			if t.invMass != 0 {
				t.now.Y -= float32(t.gravity * h)
			}
			t.vBefore, t.deltaBefore = t.now, t.delta
			t.delta = t.delta.Add(t.now.Scale(h))
		}
		for _, p := range c.pairs {
			p.separate()
		}
		for _, t := range c.order {
			if t.invMass != 0 {
				t.pushOutOfGround()
				t.now = t.delta.Sub(t.deltaBefore).Scale(1 / h)
			}
		}
		for _, p := range c.pairs {
			p.solveVelocity(m.slowest(), 2*m.fall()/8)
		}
	}
}

// apart returns the vector from a to b.
func (p *modelPair) apart() world.Vec3 { return p.b.start.Sub(p.a.start).Add(p.b.delta.Sub(p.a.delta)) }

// unit returns the direction of v; up if v is zero.
func unit(v world.Vec3) world.Vec3 {
	if v.Len() > 0 {
		return v.Scale(1 / v.Len())
	}
	return world.Vec3{Y: 1}
}

// depenetrate separates bodies that were placed inside each other, and gives them no speed.
func (p *modelPair) depenetrate() {
	d, reach := p.apart(), p.a.def.Radius+p.b.def.Radius-0.01
	if p.a.invMass+p.b.invMass != 0 && reach >= 0 && d.Dot(d) < float32(reach*reach) {
		p.push(unit(d).Scale((reach - d.Len()) / (p.a.invMass + p.b.invMass)))
	}
}

// push moves both bodies by their inverse masses, b forwards and a backwards.
func (p *modelPair) push(by world.Vec3) {
	p.a.delta = p.a.delta.Sub(by.Scale(p.a.invMass))
	p.b.delta = p.b.delta.Add(by.Scale(p.b.invMass))
}

func (p *modelPair) friction() float32 { return root(float32(p.a.def.Friction * p.b.def.Friction)) }

func (p *modelPair) separate() {
	d, reach, invMasses := p.apart(), p.a.def.Radius+p.b.def.Radius, p.a.invMass+p.b.invMass
	p.overlapped = invMasses != 0 && d.Dot(d) < float32(reach*reach)
	if !p.overlapped {
		return
	}
	p.normal = unit(d)
	depth := reach - d.Len()
	p.push(p.normal.Scale(depth / invMasses))
	slip := p.b.delta.Sub(p.b.deltaBefore).Sub(p.a.delta.Sub(p.a.deltaBefore))
	slip = slip.Sub(p.normal.Scale(slip.Dot(p.normal)))
	slip = frictionCorrection(slip, float32(p.friction()*depth)).Scale(1 / invMasses)
	p.a.delta, p.b.delta = p.a.delta.Add(slip.Scale(p.a.invMass)), p.b.delta.Sub(slip.Scale(p.b.invMass))
}

// frictionCorrection returns v, shortened to length most.
func frictionCorrection(v world.Vec3, most float32) world.Vec3 {
	if v.Dot(v) <= float32(most*most) {
		return v
	}
	return v.Scale(most / v.Len())
}

// pushOutOfGround keeps a body above the ground.
func (t *modelContactBody) pushOutOfGround() {
	depth := t.def.Radius - (t.start.Y + t.delta.Y)
	if depth <= 0 {
		return
	}
	t.delta.Y += depth
	slip := t.delta.Sub(t.deltaBefore)
	slip.Y = 0
	t.delta = t.delta.Sub(frictionCorrection(slip, float32(t.def.Friction*depth)))
}

// solveVelocity applies restitution and friction to bodies that overlapped.
func (p *modelPair) solveVelocity(slow, velocityGrip float32) {
	if !p.overlapped {
		return
	}
	invMasses := p.a.invMass + p.b.invMass
	before, now := p.b.vBefore.Sub(p.a.vBefore).Dot(p.normal), p.b.now.Sub(p.a.now).Dot(p.normal)
	want := max(before, 0)
	if before < -slow {
		want = float32(-before * max(p.a.def.Restitution, p.b.def.Restitution))
	}
	slip := p.b.now.Sub(p.a.now).Sub(p.normal.Scale(now))
	change := p.normal.Scale((want - now) / invMasses)
	change = change.Sub(frictionCorrection(slip, float32(p.friction()*velocityGrip)).Scale(1 / invMasses))
	p.a.now, p.b.now = p.a.now.Sub(change.Scale(p.a.invMass)), p.b.now.Add(change.Scale(p.b.invMass))
}

// sleepRested counts rest and puts bodies to sleep that have rested long enough: alone, or
// together with all awake bodies that they touch.
func (m *model) sleepRested(all []world.Entity, c *modelContacts) {
	for _, e := range all {
		if b := m.entities[e]; b.stepped {
			b.rest = min(m.rested(b), restTicks)
		}
	}
	long := func(b *modelEntity) bool { return b.rest >= restTicks }
	stayAwake := map[int]bool{} // groups that stay awake
	for range c.order {         // the maximum number of merges of a group
		for _, p := range c.pairs {
			if p.a.awake && p.b.awake && long(p.a.modelEntity) && long(p.b.modelEntity) && !p.a.def.Kinematic && !p.b.def.Kinematic {
				p.a.group = min(p.a.group, p.b.group)
				p.b.group = p.a.group
			}
		}
	}
	for _, p := range c.pairs {
		if p.a.awake && p.b.awake && !(long(p.a.modelEntity) && long(p.b.modelEntity)) {
			stayAwake[p.a.group], stayAwake[p.b.group] = true, true
		}
	}
	restarts := map[int]bool{} // groups with a body that would move
	for _, t := range c.order {
		if t.stepped && long(t.modelEntity) && !stayAwake[t.group] && !m.isStill(t.modelEntity, t) {
			restarts[t.group] = true
		}
	}
	for _, e := range all {
		b := m.entities[e]
		t := c.bodies[b]
		switch {
		case !b.stepped || !long(b) || t != nil && stayAwake[t.group]:
		case t == nil && !m.isStill(b, nil), t != nil && restarts[t.group]:
			b.rest = 0
		default:
			b.sleep()
		}
	}
}

// isStill reports whether a body is still: no effect that changes with time acts on it, and
// a tick from rest would leave it where it is or, in contact, contacts undid half of its
// acceleration.
func (m *model) isStill(b *modelEntity, t *modelContactBody) bool {
	if b.def.Kinematic {
		return true
	}
	wind, push := m.forces(b)
	for _, e := range m.effects {
		d := &e.def
		if d.Program.ChangesWithTime(d.Params) && m.acts(e, b) && (d.Mode == world.Acceleration || b.def.Drag != 0) {
			return false
		}
	}
	from := *b
	at, v := m.moved(b, world.Vec3{})
	if m.cfg.Bounds != world.BoundsDestroy {
		m.put(&from, at, v)
		at, v = from.at, from.v
	}
	slack := m.fall()
	for _, f := range [][2]float32{{wind.X, push.X}, {wind.Y, push.Y}, {wind.Z, push.Z}} {
		slack += float32(math.Abs(float64(float32(f[0] * m.coupling(b)))))
		slack += float32(math.Abs(float64(float32(f[1] * m.dt()))))
	}
	slack /= 4096
	small := func(v world.Vec3, most float32) bool {
		return v.X >= -most && v.X <= most && v.Y >= -most && v.Y <= most && v.Z >= -most && v.Z <= most
	}
	way := at.Sub(b.at)
	switch {
	case small(v, slack) && t == nil:
		return small(way, float32(slack*m.dt()))
	case small(v, slack) && way.Len() <= 0.01:
		return true
	case small(v, slack):
		v = way.Scale(1 / m.dt())
	}
	return t != nil && b.v.Sub(t.free).Dot(v) <= -v.Dot(v)/2
}
