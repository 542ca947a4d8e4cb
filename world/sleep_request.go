package world

// Wake requests that a body be awake after the next flush; the last call of Wake and
// Sleep wins. It returns false unless the entity is live and has a body.
func (w *World) Wake(e Entity) bool {
	row, ok := w.row(e)
	if ok {
		w.disturbRow(row)
		w.requestWake(row)
		for _, r := range w.recording() {
			r.handleOp(opWake, e)
		}
	}
	return ok
}

// Sleep stops a body and requests that it be asleep after the next flush; the last call
// of Wake and Sleep wins. Anything that touches the body later wakes it. It returns
// false unless the entity is live and has a body.
func (w *World) Sleep(e Entity) bool {
	row, ok := w.row(e)
	if !ok {
		return false
	}
	w.disturbRow(row)
	w.requestSleep(row)
	for _, r := range w.recording() {
		r.handleOp(opSleep, e)
	}
	return true
}

// Awake reports whether the next step will move the entity's body, pending requests
// included.
func (w *World) Awake(e Entity) bool {
	row, ok := w.row(e)
	return ok && w.bodies.willBeAwake(row)
}

// requestSleep puts a row to sleep like Sleep, without recording the call.
func (w *World) requestSleep(row int) {
	b := &w.bodies
	if b.Velocity(row) != (Vec3{}) {
		w.dirty.Set(b.slot[row])
	}
	b.requestSleep(row)
}

// requestGroupWake requests that a body be awake and, if it is solid, all sleepers
// connected to it by touch: bodies that rested on it would otherwise hang in the air. The
// sleepers are disturbed (C5), the body itself is not.
func (w *World) requestGroupWake(row int) {
	b := &w.bodies
	b.requestWake(row)
	if w.kinds[b.Kind[row]].solid < 0 {
		return
	}
	list := append(w.wakeList[:0], int32(row))
	for i := 0; i < len(list); i++ {
		end := len(list)
		list = w.appendTouching(int(list[i]), list)
		for _, other := range list[end:] {
			if !b.willBeAwake(int(other)) && w.motion.Kinds[b.Kind[other]].InvMass != 0 {
				w.disturbRow(int(other))
				b.requestWake(int(other))
				list[end] = other
				end++
			}
		}
		list = list[:end]
	}
	w.wakeList = list
}

// requestWake requests that a sleeping body be awake with its group, or restarts an awake
// body's rest timer.
func (w *World) requestWake(row int) {
	if w.bodies.willBeAwake(row) {
		w.bodies.requestWake(row)
	} else {
		w.requestGroupWake(row)
	}
}
