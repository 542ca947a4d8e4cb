package world

// sleepRested counts the ticks for which awake bodies have rested, and puts bodies to
// sleep that have rested for RestTicks. Touching bodies fall asleep as a group.
func (w *World) sleepRested() {
	b, c := &w.bodies, &w.contacts
	for from, to := b.awakeRange(0, b.len()); from < to; from, to = b.awakeRange(to, b.len()) {
		for row := from; row < to; row++ {
			if w.mover != nil && !b.willBeAwake(row) {
				continue // put to sleep by the Mover
			}
			if w.motion.CountRest(&b.Bodies, row) && (len(c.bodies) == 0 || c.local[row] == 0) {
				w.putToSleep(row)
			}
		}
	}
	if len(c.bodies) != 0 {
		w.sleepRestedGroups()
	}
}

func (w *World) putToSleep(row int) {
	b := &w.bodies
	if b.Velocity(row) != (Vec3{}) {
		w.dirty.Set(b.slot[row])
	}
	b.sleep(row)
}

// sleepRestedGroups puts groups of touching bodies to sleep if all of a group have
// rested long enough. Contacts between rested bodies connect a group; a contact with
// an awake body that has not rested keeps it awake. Sleeping bodies count as ground.
func (w *World) sleepRestedGroups() {
	b, c := &w.bodies, &w.contacts
	c.group, c.stayAwake = c.group[:0], c.stayAwake[:0]
	for i := range c.bodies {
		c.group = append(c.group, int32(i))
		c.stayAwake = append(c.stayAwake, false)
	}
	rested := func(i int32) bool { return b.Rest[c.bodies[i].row] >= w.motion.RestTicks }
	for _, pair := range c.list {
		switch {
		case !b.willBeAwake(int(c.bodies[pair.b].row)):
		case rested(pair.a) && rested(pair.b):
			c.join(pair.a, pair.b)
		default:
			c.stayAwake[pair.a], c.stayAwake[pair.b] = true, true
		}
	}
	for i := range c.bodies {
		if root := c.root(int32(i)); c.stayAwake[i] {
			c.stayAwake[root] = true
		}
	}
	for i := range c.bodies {
		row := int(c.bodies[i].row)
		c.local[row] = 0
		if b.isAwake(row) && rested(int32(i)) && !c.stayAwake[c.root(int32(i))] {
			w.putToSleep(row)
		}
	}
}

// wakeGroup wakes a body and, if it is solid, all sleepers connected to it by touch.
// Otherwise bodies resting on one that leaves would hang in the air.
func (w *World) wakeGroup(row int) {
	b := &w.bodies
	b.wake(row)
	if w.kinds[b.Kind[row]].solid < 0 {
		return
	}
	list := append(w.wakeList[:0], int32(row))
	for i := 0; i < len(list); i++ {
		end := len(list)
		list = w.appendTouching(int(list[i]), list)
		for _, other := range list[end:] {
			if !b.willBeAwake(int(other)) && w.motion.Kinds[b.Kind[other]].InvMass != 0 {
				b.wake(int(other))
				list[end] = other
				end++
			}
		}
		list = list[:end]
	}
	w.wakeList = list
}

// wake wakes a sleeping body with its group, or restarts an awake body's rest timer.
func (w *World) wake(row int) {
	if w.bodies.willBeAwake(row) {
		w.bodies.wake(row)
	} else {
		w.wakeGroup(row)
	}
}
