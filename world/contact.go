package world

import "github.com/worldd/worldd/world/motion"

// touch is the gap in metres up to which two solid bodies count as touching. Bodies
// resting on each other are apart, or overlap, by rounding errors.
const touch = 0.01

// contacts is the scratch memory of one step's contacts. Nothing in it outlives the
// step: later steps depend on positions and velocities alone.
type contacts struct {
	bodies []contactBody // bodies in contact, in order of discovery
	list   []contact     // pairs of bodies
	local  []int32       // by row: index into bodies + 1, or 0
	slots  []uint32      // slots of the awake bodies, ascending
	near   []int32       // scratch: rows from appendTouching
	group  []int32       // by body: union-find parent
	states []groupState  // by body: state of its group, if the body is the representative
}

// groupState is the fate of the rested bodies in a group of touching bodies.
type groupState uint8

const (
	groupRests      groupState = iota // they fall asleep
	groupRestarts                     // something would move them: their rest timers restart
	groupStaysAwake                   // they touch a body that has not rested
)

// contactBody is a body while contacts are solved. Its position is start+delta. delta is
// short, so velocities derived from it are precise even far from the origin.
type contactBody struct {
	start       Vec3 // position at the beginning of the tick
	delta       Vec3 // movement since start
	deltaBefore Vec3 // delta at the beginning of the substep
	v           Vec3
	vBefore     Vec3    // v before contacts changed it in this substep
	free        Vec3    // velocity after the tick without contacts
	invMass     float32 // 0: kinematic or asleep, not moved by contacts
	gravity     float32 // m/s2
	row         int32
	params      *motion.Kind
}

// contact is a pair of bodies that touch, or may touch within the tick.
type contact struct {
	a, b       int32 // indexes in bodies; a is awake
	overlapped bool  // the bodies overlapped in the last substep
	friction   float32
	offset     Vec3 // b.start - a.start
	normal     Vec3 // from a to b, at the last overlap
}

// appendTouching appends the rows of the solid bodies that touch row's body, in an
// order that depends on positions alone: cells along x, then z, then slots.
func (w *World) appendTouching(row int, list []int32) []int32 {
	b, g := &w.bodies, &w.grid
	at, own := b.Position(row), w.motion.Kinds[b.Kind[row]].Radius
	x, z, r := float64(at.X), float64(at.Z), float64(own+w.solidRadius+touch)
	cover := g.cover(x-r, x+r, z-r, z+r)
	for cz := cover.z0; cz <= cover.z1; cz++ {
		for cx := cover.x0; cx <= cover.x1; cx++ {
			settled, recent := g.runs(cz*g.columns + cx)
			for len(recent) != 0 {
				var slots []uint32
				slots, settled, recent = takeLowest(settled, recent)
				list = w.appendTouchingIn(slots, row, at, own, list)
			}
			list = w.appendTouchingIn(settled, row, at, own, list)
		}
	}
	return list
}

// appendTouchingIn appends the rows among slots that touch row's body, which is at at and
// has radius own.
func (w *World) appendTouchingIn(slots []uint32, row int, at Vec3, own float32, list []int32) []int32 {
	b := &w.bodies
	for _, slot := range slots {
		other := int(w.rowOf[slot])
		theirs := w.kinds[b.Kind[other]].solid
		if theirs < 0 || other == row {
			continue
		}
		d, reach := b.Position(other).Sub(at), own+theirs+touch
		if d.Dot(d) <= float32(reach*reach) {
			list = append(list, int32(other))
		}
	}
	return list
}

// resolveContacts finds the contacts of the bodies that the step moved, wakes
// sleepers that are hit, separates overlapping bodies and writes the results back.
// Bodies, and the neighbours of each, are processed in a fixed order, so the order of
// rows and of events has no influence (W11).
func (w *World) resolveContacts() {
	c := &w.contacts
	c.bodies, c.list = c.bodies[:0], c.list[:0]
	if !w.solid || w.mover != nil {
		return
	}
	w.findContacts()
	if len(c.list) == 0 {
		return
	}
	w.disturbTouching()
	c.solve(w)
	for i := range c.bodies {
		w.writeBack(&c.bodies[i])
	}
}

func (w *World) findContacts() {
	c, b := &w.contacts, &w.bodies
	for len(c.local) < b.len() {
		c.local = append(c.local, 0)
	}
	c.slots = w.sleepState.awake.AppendTo(c.slots[:0])
	for _, slot := range c.slots {
		row := int(w.rowOf[slot])
		kind := b.Kind[row]
		if w.kinds[kind].solid < 0 {
			continue
		}
		params := &w.motion.Kinds[kind]
		moving := !w.motion.NearRest(params, b.Velocity(row))
		c.near = w.appendTouching(row, c.near[:0])
		for _, other := range c.near {
			theirs := &w.motion.Kinds[b.Kind[other]]
			awake := b.isAwake(int(other))
			if params.InvMass == 0 && theirs.InvMass == 0 || awake && b.slot[other] < slot {
				continue // nothing to push, or the pair is listed already
			}
			if !awake && moving && theirs.InvMass != 0 {
				w.requestWake(int(other))
			}
			c.list = append(c.list, contact{a: w.contactBody(row), b: w.contactBody(int(other))})
		}
	}
	for i := range c.bodies { // sleepers that were hit can move
		if body := &c.bodies[i]; b.willBeAwake(int(body.row)) {
			body.invMass = body.params.InvMass
		}
	}
}

// contactBody returns the index of row's contact body, adding it if it is new.
func (w *World) contactBody(row int) int32 {
	c, b := &w.contacts, &w.bodies
	if i := c.local[row]; i != 0 {
		return i - 1
	}
	v := b.Velocity(row)
	body := contactBody{start: b.Position(row), v: v, free: v, row: int32(row), params: &w.motion.Kinds[b.Kind[row]]}
	if b.isAwake(row) {
		w.rewind(&body)
	}
	c.bodies = append(c.bodies, body)
	c.local[row] = int32(len(c.bodies))
	return c.local[row] - 1
}

// rewind undoes this tick's integration. A body that was lifted to the ground stays there:
// it starts on the ground, which carries it.
func (w *World) rewind(body *contactBody) {
	low := body.start.Y
	body.start = body.start.Sub(body.v.Scale(w.motion.TickSeconds))
	if body.params.InvMass == 0 {
		return
	}
	if low > body.params.Radius {
		body.gravity = w.cfg.Gravity
		body.v.Y += w.motion.Fall
	}
	body.start.Y = max(body.start.Y, body.params.Radius)
}

// writeBack stores the solver's result for a body.
func (w *World) writeBack(body *contactBody) {
	b, row := &w.bodies, int(body.row)
	if body.invMass == 0 {
		return
	}
	at, v := w.motion.Enclose(body.params, body.start.Add(body.delta), w.bodies.Limit(row, body.v))
	if at == b.Position(row) && v == b.Velocity(row) {
		return
	}
	if !b.isAwake(row) { // hit while asleep: integration did not record its move
		w.recordMove(row, false)
		w.volumes.markDisplaced(b.slot[row])
	}
	b.SetPosition(row, at)
	b.SetVelocity(row, v)
	w.dirty.Set(b.slot[row])
	w.confine(row)
}

// join merges two groups. Kinematic bodies at rest count as ground and join none.
func (c *contacts) join(a, b int32) {
	if c.bodies[a].params.InvMass == 0 || c.bodies[b].params.InvMass == 0 {
		return
	}
	c.group[c.root(a)] = c.root(b)
}

// root returns the group's representative and shortens the path to it.
func (c *contacts) root(i int32) int32 {
	for c.group[i] != i {
		c.group[i] = c.group[c.group[i]]
		i = c.group[i]
	}
	return i
}
