package world

// requestSleepOfRested counts the ticks for which awake bodies have rested, and requests
// sleep for those that have rested for RestTicks. Touching bodies fall asleep as a group.
func (w *World) requestSleepOfRested() {
	b, c := &w.bodies, &w.contacts
	for from, to := b.awakeRange(0, b.len()); from < to; from, to = b.awakeRange(to, b.len()) {
		for row := from; row < to; row++ {
			if w.mover != nil && !b.willBeAwake(row) {
				continue // put to sleep by the Mover
			}
			if w.motion.CountRest(&b.Bodies, row) && (len(c.bodies) == 0 || c.local[row] == 0) {
				w.requestSleep(row)
			}
		}
	}
	if len(c.bodies) != 0 {
		w.requestSleepOfRestedGroups()
	}
}

// requestSleepOfRestedGroups requests sleep for groups of touching bodies if all of a group
// have rested long enough. Contacts between rested bodies connect a group; a contact with
// an awake body that has not rested keeps it awake. Sleeping bodies count as ground.
func (w *World) requestSleepOfRestedGroups() {
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
			w.requestSleep(row)
		}
	}
}
