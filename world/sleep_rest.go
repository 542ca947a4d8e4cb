package world

// settle counts the ticks for which awake bodies have rested, and puts those to
// sleep that have rested long enough: a group of bodies that touch each other all
// at once, or not at all.
func (w *World) sleepRested() {
	b, c := &w.bodies, &w.contacts
	for from, to := b.awakeRange(0, b.len()); from < to; from, to = b.awakeRange(to, b.len()) {
		for row := from; row < to; row++ {
			if w.mover != nil && !b.willBeAwake(row) {
				continue // the Mover has put it to sleep
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

// settleGroups puts to sleep the groups of touching bodies that have all rested
// long enough. A group is what contacts of rested bodies connect; a contact with
// an awake body that has not rested keeps it awake. Bodies that sleep already
// count as ground.
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

// rouse wakes a body, and if it is solid, all sleepers that touch it, and theirs:
// a group wakes together. Whatever rested on a body that leaves would hang in the
// air otherwise.
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

// wake wakes a sleeper with its group, and makes others count their rest anew.
func (w *World) wake(row int) {
	if w.bodies.willBeAwake(row) {
		w.bodies.wake(row)
	} else {
		w.wakeGroup(row)
	}
}
