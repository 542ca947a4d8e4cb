package world_test

import (
	"cmp"
	"math"
	"slices"

	"github.com/worldd/worldd/world"
)

// modelContacts are the bodies that touch in one step, and which of them do.
type modelContacts struct {
	bodies map[*modelEntity]*touching
	order  []*touching // as they were met
	pairs  []*modelPair
}

// touching is a body while contacts are solved.
type touching struct {
	*modelEntity
	start, way, from world.Vec3
	now, before      world.Vec3 // velocities
	weight, gravity  float32
	group            int
}

type modelPair struct {
	a, b   *touching
	normal world.Vec3
	met    bool
}

// collide finds who touches, wakes sleepers that somebody who moves hits, and
// moves all of them through the tick once more, together.
func (m *model) collide(all []world.Entity) *modelContacts {
	c := &modelContacts{bodies: map[*modelEntity]*touching{}}
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
			t.weight = 1 / t.def.Mass
		}
	}
	c.solve(m)
	for _, t := range c.order {
		if t.weight != 0 {
			m.put(t.modelEntity, t.start.Add(t.way), limited(t.now))
		}
	}
	return c
}

// near lists who touches a body: from one grid cell to the next, along x first,
// and by slot in each.
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

// cell is the number of a cell along one axis. The last may be cut off, and what
// is on its far side belongs to it.
func (m *model) cell(x, half float32) int {
	n := int(math.Ceil(2 * float64(half) / float64(m.cfg.CellMetres)))
	return min(int(float32(x+half)*(1/m.cfg.CellMetres)), n-1)
}

// body puts a body back to where the tick began, as far as it was not the ground
// that moved it.
func (c *modelContacts) body(m *model, b *modelEntity) *touching {
	if t := c.bodies[b]; t != nil {
		return t
	}
	t := &touching{modelEntity: b, start: b.at, now: b.v, group: len(c.order)}
	if b.stepped {
		t.start = b.at.Sub(b.v.Scale(m.dt()))
	}
	if b.stepped && !b.def.Kinematic {
		if b.at.Y > b.def.Radius { // in the air: gravity acts bit by bit
			t.gravity = m.cfg.Gravity
			t.now.Y += m.fall()
		}
		t.start.Y = max(t.start.Y, b.def.Radius)
	}
	c.bodies[b] = t
	c.order = append(c.order, t)
	return t
}

// solve is position-based dynamics in eight small steps.
func (c *modelContacts) solve(m *model) {
	for range 4 {
		for _, p := range c.pairs {
			p.loosen()
		}
	}
	h := m.dt() / 8
	for range 8 {
		for _, t := range c.order {
			if t.weight != 0 {
				t.now.Y -= float32(t.gravity * h)
			}
			t.before, t.from = t.now, t.way
			t.way = t.way.Add(t.now.Scale(h))
		}
		for _, p := range c.pairs {
			p.separate()
		}
		for _, t := range c.order {
			if t.weight != 0 {
				t.press()
				t.now = t.way.Sub(t.from).Scale(1 / h)
			}
		}
		for _, p := range c.pairs {
			p.part(m.slowest(), 2*m.fall()/8)
		}
	}
}

// apart is the vector from one body to the other.
func (p *modelPair) apart() world.Vec3 { return p.b.start.Sub(p.a.start).Add(p.b.way.Sub(p.a.way)) }

// unit is upwards for two bodies in one place.
func unit(v world.Vec3) world.Vec3 {
	if v.Len() > 0 {
		return v.Scale(1 / v.Len())
	}
	return world.Vec3{Y: 1}
}

// loosen moves bodies that were put into each other apart, and gives them no
// speed for it.
func (p *modelPair) loosen() {
	d, reach := p.apart(), p.a.def.Radius+p.b.def.Radius-0.01
	if p.a.weight+p.b.weight != 0 && reach >= 0 && d.Dot(d) < float32(reach*reach) {
		p.push(unit(d).Scale((reach - d.Len()) / (p.a.weight + p.b.weight)))
	}
}

// push moves both bodies, by their weights, b forwards and a backwards.
func (p *modelPair) push(by world.Vec3) {
	p.a.way = p.a.way.Sub(by.Scale(p.a.weight))
	p.b.way = p.b.way.Add(by.Scale(p.b.weight))
}

func (p *modelPair) friction() float32 { return root(float32(p.a.def.Friction * p.b.def.Friction)) }

func (p *modelPair) separate() {
	d, reach, weights := p.apart(), p.a.def.Radius+p.b.def.Radius, p.a.weight+p.b.weight
	p.met = weights != 0 && d.Dot(d) < float32(reach*reach)
	if !p.met {
		return
	}
	p.normal = unit(d)
	depth := reach - d.Len()
	p.push(p.normal.Scale(depth / weights))
	slip := p.b.way.Sub(p.b.from).Sub(p.a.way.Sub(p.a.from))
	slip = slip.Sub(p.normal.Scale(slip.Dot(p.normal)))
	slip = gripped(slip, float32(p.friction()*depth)).Scale(1 / weights)
	p.a.way, p.b.way = p.a.way.Add(slip.Scale(p.a.weight)), p.b.way.Sub(slip.Scale(p.b.weight))
}

// gripped is a vector, shortened to a length of so much.
func gripped(v world.Vec3, most float32) world.Vec3 {
	if v.Dot(v) <= float32(most*most) {
		return v
	}
	return v.Scale(most / v.Len())
}

// press keeps a body above the ground.
func (t *touching) press() {
	depth := t.def.Radius - (t.start.Y + t.way.Y)
	if depth <= 0 {
		return
	}
	t.way.Y += depth
	slip := t.way.Sub(t.from)
	slip.Y = 0
	t.way = t.way.Sub(gripped(slip, float32(t.def.Friction*depth)))
}

// part lets bodies that met bounce or stay together, and slide the less.
func (p *modelPair) part(slow, cling float32) {
	if !p.met {
		return
	}
	weights := p.a.weight + p.b.weight
	before, now := p.b.before.Sub(p.a.before).Dot(p.normal), p.b.now.Sub(p.a.now).Dot(p.normal)
	want := max(before, 0)
	if before < -slow {
		want = float32(-before * max(p.a.def.Restitution, p.b.def.Restitution))
	}
	slip := p.b.now.Sub(p.a.now).Sub(p.normal.Scale(now))
	change := p.normal.Scale((want - now) / weights)
	change = change.Sub(gripped(slip, float32(p.friction()*cling)).Scale(1 / weights))
	p.a.now, p.b.now = p.a.now.Sub(change.Scale(p.a.weight)), p.b.now.Add(change.Scale(p.b.weight))
}

// settle counts rest, and puts to sleep who rested long enough: alone, or with
// all whom it touches and who do not sleep yet.
func (m *model) settle(all []world.Entity, c *modelContacts) {
	for _, e := range all {
		if b := m.entities[e]; b.stepped {
			b.rest = min(m.rested(b), m.cfg.RestTicks)
		}
	}
	long := func(b *modelEntity) bool { return b.rest >= m.cfg.RestTicks }
	kept := map[int]bool{} // groups that stay awake
	for range c.order {    // as often as a group can be merged
		for _, p := range c.pairs {
			if p.a.awake && p.b.awake && long(p.a.modelEntity) && long(p.b.modelEntity) && !p.a.def.Kinematic && !p.b.def.Kinematic {
				p.a.group = min(p.a.group, p.b.group)
				p.b.group = p.a.group
			}
		}
	}
	for _, p := range c.pairs {
		if p.a.awake && p.b.awake && !(long(p.a.modelEntity) && long(p.b.modelEntity)) {
			kept[p.a.group], kept[p.b.group] = true, true
		}
	}
	for _, e := range all {
		b := m.entities[e]
		t := c.bodies[b]
		if b.stepped && long(b) && (t == nil || !kept[t.group]) {
			b.sleep()
		}
	}
}
