package world

import (
	"math"
	"slices"

	"github.com/worldd/worldd/bulk"
)

// Moment is a time between the ends of two ticks.
type Moment struct {
	Tick     uint64
	Fraction float32 // of the way to the end of the next tick: 0 to below 1
}

// history keeps the positions of bodies at the end of recent ticks. Most bodies sleep, so
// it records only moves: a record is a body's position before its first move in a tick, and
// valid for all ticks back to the body's previous record. A body's records form a linked
// list, newest first, through ring buffers by tick.
//
// To search the past, history bounds the distance that bodies moved in each tick, and a
// query also visits the grid cells within that distance (W15). Teleported bodies are listed
// instead.
type history struct {
	ticks  uint64           // number of ticks kept; 0: nothing is recorded
	since  uint64           // first known tick
	now    uint64           // tick of the current step, or of the next one
	rings  [][]pastPosition // by tick of the move
	newest []recordID       // by slot

	stride     float64     // metres; a body that moves farther in a tick is teleported
	rounding   float64     // bound on the rounding error of an interpolated position, metres
	moved      []float64   // by tick, as rings: square of the longest move, teleports excepted
	teleports  [][]uint32  // by tick, as rings: slots
	teleported []uint64    // by slot: tick of the newest teleport
	leapt      bulk.Bitset // slots in teleports
	displaced  bulk.Bitset // slots of bodies moved from outside whose move is not measured yet
}

// pastPosition is a body's position at the end of the tick before its record.
type pastPosition struct {
	before recordID
	at     Vec3
	body   uint32 // its slot, and absentBit if it did not exist yet
}

const absentBit = 1 << 31

func (p *pastPosition) slot() uint32 { return p.body &^ absentBit }
func (p *pastPosition) absent() bool { return p.body&absentBit != 0 }

// recordID is a record's tick and its index in that tick's list; 0 is none.
type recordID uint64

const recordIndexBits = 24 // enough for MaxEntities

func (id recordID) tick() uint64  { return uint64(id >> recordIndexBits) }
func (id recordID) index() uint64 { return uint64(id & (1<<recordIndexBits - 1)) }

// reset forgets everything before tick.
func (h *history) reset(cfg Config, tick uint64) {
	*h = history{ticks: uint64(cfg.HistoryTicks), since: tick, now: tick + 1}
	if h.ticks == 0 {
		return
	}
	n := h.ticks + 1
	h.rings, h.moved, h.teleports = make([][]pastPosition, n), make([]float64, n), make([][]uint32, n)
	h.stride = strideAt(cfg.TickHz)
	e := cfg.HalfExtent
	h.rounding = 1e-3 + 3e-7*float64(max(e.X, e.Y, e.Z))
}

func (h *history) ring(tick uint64) *[]pastPosition { return &h.rings[h.index(tick)] }
func (h *history) index(tick uint64) uint64         { return tick % uint64(len(h.rings)) }

func (h *history) record(id recordID) *pastPosition { return &(*h.ring(id.tick()))[id.index()] }

// add stores a body's position before it moves. Only the first call of a tick counts.
func (h *history) add(slot uint32, at Vec3, absent bool) {
	for uint64(len(h.newest)) <= uint64(slot) {
		h.newest, h.teleported = append(h.newest, 0), append(h.teleported, 0)
	}
	before, body := h.newest[slot], slot
	if absent {
		before, body = 0, slot|absentBit
	} else if before.tick() == h.now {
		return
	}
	list := h.ring(h.now)
	h.newest[slot] = recordID(h.now<<recordIndexBits | uint64(len(*list)))
	*list = append(*list, pastPosition{before, at, body})
}

// recordMove must be called before every move outside integration, and for every new
// body.
func (w *World) recordMove(row int, absent bool) {
	w.bodies.markWritten(uint32(row))
	if w.history.ticks != 0 {
		w.history.add(w.bodies.slot[row], w.bodies.Position(row), absent)
		if !absent {
			w.history.displaced.Set(w.bodies.slot[row])
		}
	}
}

// recordAwake calls recordMove for all rows that the step integrates.
func (w *World) recordAwake() {
	b, h := &w.bodies, &w.history
	if h.ticks == 0 {
		return
	}
	ring := h.ring(h.now)
	*ring = slices.Grow(*ring, b.awake) // at once: a million records grow by a hundred megabytes of copies
	for from, to := b.awakeRange(0, b.len()); from < to; from, to = b.awakeRange(to, b.len()) {
		for row := from; row < to; row++ {
			h.add(b.slot[row], b.Position(row), false)
		}
	}
}

// measureMoves measures the moves of this step so far. Each moved body has a record.
func (w *World) measureMoves() {
	h := &w.history
	if h.ticks == 0 {
		return
	}
	list := *h.ring(h.now)
	for i := range list {
		w.measureMove(&list[i])
	}
	h.displaced.Reset()
}

// measureDisplaced measures the moves since measureMoves, by systems.
func (w *World) measureDisplaced() {
	h := &w.history
	for slot, ok := h.displaced.Next(0); ok; slot, ok = h.displaced.Next(slot + 1) {
		w.measureMove(h.record(h.newest[slot]))
	}
	h.displaced.Reset()
}

func (w *World) measureMove(r *pastPosition) {
	h, i, slot := &w.history, w.history.index(w.history.now), r.slot()
	if r.absent() {
		return
	}
	switch square := squareOfMove(r.at, w.bodies.Position(int(w.rowOf[slot]))); {
	case square <= h.moved[i]:
	case square <= h.stride*h.stride:
		h.moved[i] = square
	case h.teleported[slot] != h.now:
		h.teleported[slot] = h.now
		h.teleports[i] = append(h.teleports[i], slot)
		h.leapt.Set(slot)
	}
}

func squareOfMove(from, to Vec3) float64 {
	x, y, z := float64(to.X)-float64(from.X), float64(to.Y)-float64(from.Y), float64(to.Z)-float64(from.Z)
	return float64(x*x) + float64(y*y) + float64(z*z)
}

// advance begins the next tick and drops the oldest tick.
func (h *history) advance() {
	h.now++
	if h.ticks == 0 {
		return
	}
	list, i := h.ring(h.now), h.index(h.now)
	*list = (*list)[:0]
	for _, slot := range h.teleports[i] {
		if h.teleported[slot]+uint64(len(h.rings)) == h.now {
			h.leapt.Clear(slot)
		}
	}
	h.teleports[i], h.moved[i] = h.teleports[i][:0], 0
}

// reachSince bounds the distance between a body's position now and at any moment after
// the end of tick, if isListed is false.
func (h *history) reachSince(tick uint64) float64 {
	reach := h.rounding
	for t := tick + 1; t <= h.now; t++ {
		reach += math.Sqrt(h.moved[h.index(t)])
	}
	return reach
}

// isListed reports whether the body of a slot may have moved farther than reachSince: it
// was teleported or displaced.
func (h *history) isListed(slot uint32, tick uint64) bool {
	return uint64(slot) < uint64(len(h.teleported)) && h.teleported[slot] > tick || h.displaced.Has(slot)
}

// nextListed returns the lowest slot at or above from for which isListed is true.
func (h *history) nextListed(from uint32, tick uint64) (uint32, bool) {
	for {
		slot, ok := h.displaced.Next(from)
		if leapt, also := h.leapt.Next(from); also && (!ok || leapt < slot) {
			slot, ok = leapt, true
		}
		if !ok || h.isListed(slot, tick) {
			return slot, ok
		}
		from = slot + 1
	}
}

// OldestTick returns the oldest tick whose positions the world knows: Config.HistoryTicks
// back, but none before it was created or restored. The systems of a step see the value
// from before the step, so that moments which the game stored between steps stay known.
func (w *World) OldestTick() uint64 {
	h := &w.history
	if h.ticks == 0 {
		return w.tick
	}
	return max(h.since, h.now-1-min(h.ticks, h.now-1))
}

// knows reports whether positions at a moment are known.
func (w *World) knows(at Moment) bool {
	return at.Tick >= w.OldestTick() && at.Fraction >= 0 && at.Fraction < 1 &&
		(at.Tick < w.tick || at.Tick == w.tick && at.Fraction == 0)
}

// PositionAt returns a body's position at a moment, for shots aimed at the positions that a
// client displayed. Between two ticks, the position is interpolated linearly and rounded
// once, to float32. A body that was teleported (it moved faster than MaxSpeed) stays where
// it was until the end of the tick. PositionAt returns false if the moment is before
// OldestTick, in the future or malformed, or if the entity is not live or had no body at
// that moment.
func (w *World) PositionAt(e Entity, at Moment) (Vec3, bool) {
	row, ok := w.row(e)
	if !ok || !w.knows(at) {
		return Vec3{}, false
	}
	return w.positionAt(row, at)
}

// positionAt returns the position of row's body at a moment that the world knows.
func (w *World) positionAt(row int, at Moment) (Vec3, bool) {
	h, slot := &w.history, w.bodies.slot[row]
	to := w.bodies.Position(row)
	if uint64(slot) >= uint64(len(h.newest)) {
		return to, true
	}
	id := h.newest[slot]
	for id.tick() > at.Tick+1 {
		r := h.record(id)
		if r.absent() {
			return Vec3{}, false
		}
		to, id = r.at, r.before
	}
	if id.tick() != at.Tick+1 {
		return to, true
	}
	r := h.record(id)
	if r.absent() {
		return Vec3{}, false
	}
	if at.Fraction == 0 || squareOfMove(r.at, to) > h.stride*h.stride {
		return r.at, true
	}
	return between(r.at, to, float64(at.Fraction)), true
}

// between interpolates in double precision, so the result never leaves the segment.
func between(from, to Vec3, ratio float64) Vec3 {
	mix := func(a, b float32) float32 { return float32(float64(a) + float64((float64(b)-float64(a))*ratio)) }
	return Vec3{X: mix(from.X, to.X), Y: mix(from.Y, to.Y), Z: mix(from.Z, to.Z)}
}

// checkHistory audits W15.
func (w *World) checkHistory() error {
	h := &w.history
	if h.ticks == 0 {
		return nil
	}
	oldest := w.OldestTick()
	reach := make([]float64, w.tick-oldest+1) // by ticks since the oldest
	for i := range reach {
		reach[i] = h.reachSince(oldest + uint64(i))
	}
	for row := range w.bodies.len() {
		if err := w.checkPast(row, oldest, reach); err != nil {
			return err
		}
	}
	for slot := range h.displaced.All() {
		if uint64(slot) >= uint64(len(w.rowOf)) || w.rowOf[slot] == noRow {
			return breach(15, "slot %d was displaced and has no body", slot)
		}
	}
	for slot := range h.leapt.All() {
		if h.teleported[slot]+uint64(len(h.rings)) <= h.now {
			return breach(15, "slot %d was teleported at tick %d, and is still listed at %d", slot, h.teleported[slot], h.now)
		}
	}
	return nil
}

// checkPast audits W15 for a body. It checks each position in the newest tick that has it: there
// the reach is least, and a listed body is also listed in older ticks. In a tick that varies, it
// compares the position with positionAt.
func (w *World) checkPast(row int, oldest uint64, reach []float64) error {
	h, slot, now, id := &w.history, w.bodies.slot[row], w.bodies.Position(row), recordID(0)
	if uint64(slot) < uint64(len(h.newest)) {
		id = h.newest[slot]
	}
	if h.isListed(slot, oldest) && !h.leapt.Has(slot) && !h.displaced.Has(slot) {
		return breach(15, "%v was teleported at tick %d and is not listed", w.tenant(slot), h.teleported[slot])
	}
	sample := oldest + w.tick%uint64(len(reach))
	sampled, known := w.positionAt(row, Moment{Tick: sample})
	for at, tick := now, w.tick; ; {
		// The body was here from the end of tick id.tick(), in which it moved, to the end of tick.
		if id.tick() <= sample && sample <= tick && (!known || at != sampled) {
			return breach(15, "%v was at %v at tick %d, not at %v (%t)", w.tenant(slot), at, sample, sampled, known)
		}
		if id.tick() <= tick && !h.isListed(slot, tick) && math.Sqrt(squareOfMove(at, now)) > reach[tick-oldest] {
			return breach(15, "%v moved from %v at tick %d to %v, further than %v", w.tenant(slot), at, tick, now, reach[tick-oldest])
		}
		if id.tick() <= oldest {
			return nil
		}
		r := h.record(id)
		if r.absent() {
			if known && sample < id.tick() {
				return breach(15, "%v began in tick %d, and was at %v at tick %d", w.tenant(slot), id.tick(), sampled, sample)
			}
			return nil
		}
		at, tick, id = r.at, id.tick()-1, r.before
	}
}
