package world

// history keeps the positions of bodies at the end of recent ticks. Since most bodies
// sleep, it records only moves: before a body's first move in a tick, its position so
// far, which is valid for all ticks back to the previous record. A body's records form
// a linked list, newest first, through ring buffers by tick.
type history struct {
	ticks  uint64           // how far back; 0: nothing is recorded
	since  uint64           // first known tick
	now    uint64           // tick of the current step, or of the next one
	rings  [][]pastPosition // by tick of the move
	newest []recordID       // by slot
}

// pastPosition is a body's position at the end of the tick before its record.
type pastPosition struct {
	before recordID
	at     Vec3
	absent bool // the body did not exist yet
}

// recordID is a record's tick and its index in that tick's list; 0 is none.
type recordID uint64

const recordIndexBits = 24 // enough for MaxEntities

func (id recordID) tick() uint64  { return uint64(id >> recordIndexBits) }
func (id recordID) index() uint64 { return uint64(id & (1<<recordIndexBits - 1)) }

// reset forgets everything before tick.
func (h *history) reset(ticks int, tick uint64) {
	*h = history{ticks: uint64(ticks), since: tick, now: tick + 1}
	if ticks > 0 {
		h.rings = make([][]pastPosition, ticks+1)
	}
}

func (h *history) ring(tick uint64) *[]pastPosition { return &h.rings[tick%uint64(len(h.rings))] }

// record stores a body's position before it moves. Only the first call of a tick counts.
func (h *history) record(slot uint32, at Vec3, absent bool) {
	for uint64(len(h.newest)) <= uint64(slot) {
		h.newest = append(h.newest, 0)
	}
	before := h.newest[slot]
	if absent {
		before = 0
	} else if before.tick() == h.now {
		return
	}
	list := h.ring(h.now)
	h.newest[slot] = recordID(h.now<<recordIndexBits | uint64(len(*list)))
	*list = append(*list, pastPosition{before, at, absent})
}

// recordMove must be called before every move outside integration, and for every new
// body.
func (w *World) recordMove(row int, absent bool) {
	w.bodies.markWritten(uint32(row))
	if w.history.ticks != 0 {
		w.history.record(w.bodies.slot[row], w.bodies.Position(row), absent)
	}
}

// recordAwake is recordMove for all rows that the step integrates.
func (w *World) recordAwake() {
	b, h := &w.bodies, &w.history
	if h.ticks == 0 {
		return
	}
	for from, to := b.awakeRange(0, b.len()); from < to; from, to = b.awakeRange(to, b.len()) {
		for row := from; row < to; row++ {
			h.record(b.slot[row], b.Position(row), false)
		}
	}
}

// advance begins the next tick and drops the oldest.
func (h *history) advance() {
	h.now++
	if h.ticks > 0 {
		list := h.ring(h.now)
		*list = (*list)[:0]
	}
}

// PositionAt returns a body's position at the end of a tick, for shots aimed at what a
// client saw. It looks back at most Config.HistoryTicks, and never past a Restore. It
// returns false if the tick is out of range, the entity is not live, or it had no body
// at that tick.
func (w *World) PositionAt(e Entity, tick uint64) (Vec3, bool) {
	row, ok := w.row(e)
	h := &w.history
	if !ok || tick > w.tick || tick < h.since || w.tick-tick > h.ticks {
		return Vec3{}, false
	}
	at := w.bodies.Position(row)
	if uint64(e.Index()) >= uint64(len(h.newest)) {
		return at, true
	}
	for id := h.newest[e.Index()]; id.tick() > tick; {
		r := (*h.ring(id.tick()))[id.index()]
		if r.absent {
			return Vec3{}, false
		}
		at, id = r.at, r.before
	}
	return at, true
}
