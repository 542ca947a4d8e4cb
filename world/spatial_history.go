package world

// history remembers where bodies were at the end of recent ticks. Most bodies
// sleep, so it remembers who moves: ahead of a body's first move in a tick, a
// record of where it was, which is good for all ticks back to the record before.
// The records of one body are a chain, newest first, through a ring of lists by
// tick.
type history struct {
	ticks  uint64           // how far back; 0: nothing is kept
	since  uint64           // first tick that is known
	now    uint64           // the tick of the step under way, or of the next
	rings  [][]pastPosition // by tick of the move
	newest []recordID       // by slot
}

// pastPlace says where a body was at the end of the tick before the one in which it
// was made.
type pastPosition struct {
	before recordID
	at     Vec3
	absent bool // it was not there yet
}

// recordID is the tick of a record and its place in that tick's list; 0 is none.
type recordID uint64

const recordIndexBits = 24 // as many as MaxEntities at most

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

// note keeps where a body is before it moves; the first word in a tick counts.
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

// noteMove is called ahead of every move that is not a step's own, and of a
// body's beginning.
func (w *World) recordMove(row int, absent bool) {
	w.bodies.markWritten(uint32(row))
	if w.history.ticks != 0 {
		w.history.record(w.bodies.slot[row], w.bodies.Position(row), absent)
	}
}

// noteAwake is noteMove for all rows that the step moves.
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

// turn begins the next tick, and forgets the oldest.
func (h *history) advance() {
	h.now++
	if h.ticks > 0 {
		list := h.ring(h.now)
		*list = (*list)[:0]
	}
}

// PositionAt returns where a body was at the end of a tick: for a shot that a
// client aimed at what it saw. It looks back at most Config.HistoryTicks, and not
// beyond a Restore. False if the tick is out of reach, or unless the entity is
// live, has a body, and had it then.
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
