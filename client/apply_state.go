package client

import (
	"bytes"
	"cmp"
	"math"
	"slices"

	"github.com/worldd/worldd/client/internal/bodies"
	"github.com/worldd/worldd/replication/wire"
)

// maxHeld bounds the datagrams that wait for structure: nearly a second's worth at 20 snapshots
// a second. One more drops the oldest unacknowledged, and the server sends its rows again.
const maxHeld = 16

// Outcome is the result of applying a State datagram.
type Outcome uint8

const (
	Applied    Outcome = iota // applied whole; will be acknowledged
	Held                      // arrived before its structure, and waits for it
	Duplicate                 // already applied, too old, or of an earlier room
	Unreadable                // needs entities or baselines no longer known; the server sends its rows again
	Faulty                    // its fold (wire.Fold) does not match the handles of its rows
)

// heldDatagram is a datagram that waits for its structure.
type heldDatagram struct {
	structure uint32
	seq       uint32
	bytes     []byte
}

// applyState applies a State datagram whole or not at all. The error is for bytes that are no
// State datagram.
func (r *Replica) applyState(datagram []byte) (wire.StateHeader, Outcome, error) {
	r.budget.Spend(datagramTime)
	h, err := wire.ParseStateHeader(datagram, &r.rows.reader)
	if err != nil {
		return h, Unreadable, err
	}
	outcome, err := r.applyRows(h, datagram)
	return h, outcome, err
}

// applyRows applies a datagram after r.rows has read its header h.
func (r *Replica) applyRows(h wire.StateHeader, datagram []byte) (Outcome, error) {
	if r.timeline.acks.hasSeen(h.Seq) || h.Structure < r.fence {
		r.stats.Duplicates++
		return Duplicate, nil
	}
	if h.Structure > r.applied {
		r.holdDatagram(h, datagram)
		return Held, nil
	}
	if r.entities.bodies == nil && (h.Complete || h.Continued || h.Audited || h.Exact) {
		return Unreadable, protocolError("%v, in a session that does not simulate", h)
	}
	r.budget.Spend(rowTime * h.Rows)
	rows := &r.rows
	if err := rows.readHeaders(h); err != nil {
		return Unreadable, err
	}
	fold, load, readable := rows.findEntities(h)
	if readable && fold != h.Fold {
		r.stats.Faults++
		return Faulty, nil
	}
	if readable && load > wire.MaxLoad {
		return Unreadable, protocolError("rows of load %d, at most %d is allowed", load, wire.MaxLoad)
	}
	if err := rows.checkExact(readable); err != nil {
		return Unreadable, err
	}
	if !readable || !rows.findBaselines(h) {
		r.stats.Unreadable++
		return Unreadable, nil
	}
	if err := r.events.checkEvents(h); err != nil {
		return Unreadable, err
	}
	if err := rows.decodeRows(); err != nil {
		return Unreadable, err
	}
	r.memory.beginMessage(r.bytes())
	if err := rows.checkGrowth(); err != nil {
		return Unreadable, err
	}
	r.events.receiveEvents(h)
	if !r.ended {
		r.publishDatagram(h)
	}
	return Applied, nil
}

// publishDatagram applies the decoded rows and records the datagram for acknowledgement.
func (r *Replica) publishDatagram(h wire.StateHeader) {
	t := &r.timeline
	if t.addApplied(h) {
		r.stats.Frames++
	}
	for i := range r.rows.rows {
		r.publishRow(&r.rows.rows[i], h.Tick, r.rows.rowValues(i))
	}
	t.acknowledgeDatagram(h)
	r.stats.Snapshots++
	if b := r.entities.bodies; b != nil {
		b.ApplySnapshot(&h)
	}
	r.provisional.noteSnapshot(t.input, t.tick)
	r.reportUpdates()
}

// publishRow applies the values of a decoded row, from a datagram of the given tick.
func (r *Replica) publishRow(d *decodedRow, tick uint32, values []uint32) {
	e, t := d.entity, &r.timeline
	if b := d.baseline; b.Gap != 0 {
		e.states.noteBaseline(tick - b.Age - b.Gap)
	}
	tick -= d.exact.Back
	before := e.states.bytes()
	state := e.states.addState(tick, t.blendFrom(tick, e), d.teleport, values, t.span)
	r.entities.addBytes(e.states.bytes() - before)
	if state < 0 || tick <= e.states.tick {
		r.stats.RowsLate++
		return
	}
	e.states.setCurrent(state)
	r.stats.Rows++
	d.newest = true
	if b := r.entities.bodies; b != nil {
		b.Receive(bodies.Received{Handle: e.handle, Kind: uint32(e.kind), Index: e.index, Tick: tick, Form: d.exact.Form, Body: &d.body, Teleport: d.teleport})
	}
}

// reportUpdates runs Observer.Update after all rows are applied: a callback may read
// other entities.
func (r *Replica) reportUpdates() {
	f := r.entities.observer.Update
	if f == nil {
		return
	}
	for i := range r.rows.rows {
		if d := &r.rows.rows[i]; d.newest && !r.ended {
			f(d.entity)
		}
	}
}

// holdDatagram keeps a datagram until its structure arrives.
func (r *Replica) holdDatagram(h wire.StateHeader, datagram []byte) {
	for i := range r.held {
		if r.held[i].seq == h.Seq {
			r.stats.Duplicates++
			return
		}
	}
	r.held = append(r.held, heldDatagram{h.Structure, h.Seq, bytes.Clone(datagram)})
	slices.SortFunc(r.held, func(a, b heldDatagram) int { return cmp.Compare(a.seq, b.seq) })
	r.stats.Held++
	if len(r.held) > maxHeld {
		r.held = slices.Delete(r.held, 0, 1)
		r.stats.Overflowed++
	}
}

// heldSince returns the held datagrams that wait for record structure or later ones.
func (r *Replica) heldSince(structure uint32) []heldDatagram {
	return slices.DeleteFunc(slices.Clone(r.held), func(d heldDatagram) bool { return d.structure < structure })
}

// continueFrom makes r, which is empty, the replica of a session that has applied records up to
// structure. held waits for later ones.
func (r *Replica) continueFrom(structure uint32, held []heldDatagram) {
	r.applied, r.fence, r.held = structure, structure, held
}

// resumeAt continues over another connection, whose snapshots are interval ticks apart.
func (r *Replica) resumeAt(interval uint32) { r.timeline.setInterval(interval) }

// keepStates makes the replica keep states of the last ticks for Component.At.
func (r *Replica) keepStates(ticks uint32) { r.timeline.keepStates(ticks) }

// showUntil notes the tick of the newest render, and delivers the events that waited for it.
func (r *Replica) showUntil(tick uint32) {
	r.timeline.showUntil(tick)
	r.events.deliverRendered(tick)
}

// endWorld destroys all entities, after the events that wait for renders: the world is gone.
func (r *Replica) endWorld() {
	r.ended = true
	r.events.deliverRendered(math.MaxUint32)
	r.entities.destroyAll()
}

// releaseHeld applies the held datagrams whose structure has arrived, oldest first. An
// error ends the session, as if the datagram had arrived now.
func (r *Replica) releaseHeld() error {
	var due []heldDatagram
	r.held = slices.DeleteFunc(r.held, func(d heldDatagram) bool {
		if d.structure > r.applied {
			return false
		}
		due = append(due, d)
		return true
	})
	for _, d := range due {
		if r.ended {
			return nil
		}
		if _, _, err := r.applyState(d.bytes); err != nil {
			return err
		}
	}
	return nil
}
