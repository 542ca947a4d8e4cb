package world

import "github.com/worldd/worldd/world/motion"

// touch is the gap in metres up to which two solid bodies count as touching.
// Bodies that rest on each other are a rounding apart, or a little way inside.
const touch = 0.01

// contacts is the working memory of one step's contacts. None of it outlives the
// step: what happens next follows from positions and velocities alone.
type contacts struct {
	bodies    []contactBody // those that touch another, in the order they were met
	list      []contact     // pairs of them
	local     []int32       // by row: index into bodies + 1, or 0
	slots     []uint32      // of the awake bodies, ascending
	near      []int32       // rows, from touching
	group     []int32       // by body: one of its group, nearer to the root
	stayAwake []bool        // by body: it, or its group, stays awake
}

// contactBody is a body while contacts are solved. Its place is start+way: ways
// are short, so that velocities may be taken from them far from the origin too.
type contactBody struct {
	start       Vec3 // where it was when the tick began
	delta       Vec3 // how far it got since
	deltaBefore Vec3 // way when the small step began
	v           Vec3
	vBefore     Vec3    // v before contacts changed it in the small step
	invMass     float32 // inverse mass; 0: kinematic or asleep, nothing here moves it
	gravity     float32 // m/s2
	row         int32
	params      *motion.Kind
}

// contact is a pair of bodies that touch, or may do so within the tick.
type contact struct {
	a, b       int32 // in bodies; a is awake
	overlapped bool  // in the last small step, they were inside each other
	friction   float32
	offset     Vec3 // of b.start from a.start
	normal     Vec3 // from a to b, when they met
}

// touching appends the rows of the solid bodies that touch the one of row, in an
// order that follows from the positions: cells along x, then z, then slots.
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

// touchingOf is touching among some slots, for a body at a place with a radius of
// its own.
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

// collide finds the contacts of the bodies that the step moved, wakes sleepers
// that are hit, pushes bodies apart and writes the outcome back. Bodies are taken
// in the order of slots, and theirs in that of touching, so that neither the
// order of rows nor that of events has a say (W11).
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
				continue // nothing to push, or met already
			}
			if !awake && moving && theirs.InvMass != 0 {
				w.wake(int(other))
			}
			c.list = append(c.list, contact{a: w.contactBody(row), b: w.contactBody(int(other))})
		}
	}
	for i := range c.bodies { // sleepers that were hit are not of stone
		if body := &c.bodies[i]; b.willBeAwake(int(body.row)) {
			body.invMass = body.params.InvMass
		}
	}
}

// contactBody returns the index of a row's body, which it adds when it is new.
func (w *World) contactBody(row int) int32 {
	c, b := &w.contacts, &w.bodies
	if i := c.local[row]; i != 0 {
		return i - 1
	}
	body := contactBody{start: b.Position(row), v: b.Velocity(row), row: int32(row), params: &w.motion.Kinds[b.Kind[row]]}
	if b.isAwake(row) {
		w.rewind(&body)
	}
	c.bodies = append(c.bodies, body)
	c.local[row] = int32(len(c.bodies))
	return c.local[row] - 1
}

// rewind takes back the tick that integration moved a body by. What it did about
// the ground stays: a body that it put there is carried, and starts on it.
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

// writeBack stores what the contacts made of a body.
func (w *World) writeBack(body *contactBody) {
	b, row := &w.bodies, int(body.row)
	if body.invMass == 0 {
		return
	}
	at, v := w.motion.Enclose(body.params, body.start.Add(body.delta), w.bodies.Limit(row, body.v))
	if at == b.Position(row) && v == b.Velocity(row) {
		return
	}
	if !b.isAwake(row) { // hit: the step had not meant to move it
		w.recordMove(row, false)
		w.volumes.markDisplaced(b.slot[row])
	}
	b.SetPosition(row, at)
	b.SetVelocity(row, v)
	w.dirty.Set(b.slot[row])
	w.confine(row)
}

// join makes one group of two. A still kinematic body is ground to others, and
// joins nobody.
func (c *contacts) join(a, b int32) {
	if c.bodies[a].params.InvMass == 0 || c.bodies[b].params.InvMass == 0 {
		return
	}
	c.group[c.root(a)] = c.root(b)
}

// root returns the body that stands for the whole group, and shortens the way
// to it.
func (c *contacts) root(i int32) int32 {
	for c.group[i] != i {
		c.group[i] = c.group[c.group[i]]
		i = c.group[i]
	}
	return i
}
