package world

import "slices"

// requestSleepOfRested counts the ticks for which awake bodies have rested, and requests
// sleep for those that have rested for RestTicks and are still. Touching bodies fall asleep as
// a group.
func (w *World) requestSleepOfRested() {
	b, c := &w.bodies, &w.contacts
	w.rested = slices.Grow(w.rested[:0], b.awake)
	for from, to := b.awakeRange(0, b.len()); from < to; from, to = b.awakeRange(to, b.len()) {
		for row := from; row < to; row++ {
			if w.mover != nil && !b.willBeAwake(row) {
				continue // put to sleep by the Mover
			}
			if w.motion.CountRest(&b.Bodies, row) && (len(c.bodies) == 0 || c.local[row] == 0) {
				w.rested = append(w.rested, int32(row))
			}
		}
	}
	w.disturbHidden(w.rested)
	for _, row := range w.findStill(w.rested) {
		w.requestSleep(int(row))
	}
	if len(c.bodies) != 0 {
		w.requestSleepOfRestedGroups()
	}
}

// findStill keeps the rows that this tick would leave where they are, and restarts the
// timers of the others. With a Mover it keeps all rows not in reach of changing effects:
// only the Mover knows whether something holds its bodies.
func (w *World) findStill(rows []int32) (still []int32) {
	b, forces := &w.bodies.Bodies, &w.effects.forces
	if w.mover != nil {
		return w.motion.FindUnchanging(forces, b, rows)
	}
	return w.motion.FindStill(&w.workers.chunks[0].batch, forces, b, rows)
}

// disturbHidden disturbs the rested bodies that hidden effects act on: clients do not know
// that these effects keep the bodies awake (C9).
func (w *World) disturbHidden(rows []int32) {
	b := &w.bodies
	for i := range w.effects.hidden {
		for _, row := range rows {
			if w.effects.hidden[i].ActsOn(&w.motion.Kinds[b.Kind[row]], b.Position(int(row))) {
				w.disturbRow(int(row))
			}
		}
	}
}

// requestSleepOfRestedGroups requests sleep for groups of touching bodies if all of a group
// have rested long enough and are still. Contacts between rested bodies connect a group; a
// contact with an awake body that has not rested keeps the group awake. Sleeping bodies
// count as ground.
func (w *World) requestSleepOfRestedGroups() {
	b, c := &w.bodies, &w.contacts
	c.group, c.states = c.group[:0], c.states[:0]
	for i := range c.bodies {
		c.group = append(c.group, int32(i))
		c.states = append(c.states, groupRests)
	}
	rested := func(i int32) bool { return b.Rest[c.bodies[i].row] >= w.motion.RestTicks }
	for _, pair := range c.list {
		switch {
		case !b.willBeAwake(int(c.bodies[pair.b].row)):
		case rested(pair.a) && rested(pair.b):
			c.join(pair.a, pair.b)
		default:
			c.states[pair.a], c.states[pair.b] = groupStaysAwake, groupStaysAwake
		}
	}
	for i := range c.bodies {
		root := c.root(int32(i))
		c.states[root] = max(c.states[root], c.states[i])
	}
	for i := range c.bodies {
		state := &c.states[c.root(int32(i))]
		if *state == groupRests && b.isAwake(int(c.bodies[i].row)) && rested(int32(i)) && !w.isStill(&c.bodies[i]) {
			*state = groupRestarts
		}
	}
	for i := range c.bodies {
		row := int(c.bodies[i].row)
		c.local[row] = 0
		if !b.isAwake(row) || !rested(int32(i)) {
			continue
		}
		switch c.states[c.root(int32(i))] {
		case groupRests:
			w.requestSleep(row)
		case groupRestarts:
			b.Rest[row] = 0
		}
	}
}

// isStill reports whether forces leave a body in contact where it is: the ground or a bound
// holds it, or contacts undid at least half of its acceleration by forces. They undo it
// imprecisely.
func (w *World) isStill(body *contactBody) bool {
	b, forces := &w.bodies, &w.effects.forces
	if forces.ChangeAt(body.params, b.Position(int(body.row))) {
		return false
	}
	push := w.motion.Push(&w.workers.chunks[0].batch, forces, &b.Bodies, body.row)
	if push.V == (Vec3{}) {
		if push.Way.Len() <= touch {
			return true
		}
		push.V = push.Way.Scale(1 / w.motion.TickSeconds) // the body would land within the tick
	}
	reaction := b.Velocity(int(body.row)).Sub(body.free)
	return reaction.Dot(push.V) <= -push.V.Dot(push.V)/2
}
