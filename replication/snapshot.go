package replication

import (
	"github.com/worldd/worldd/replication/wire"
)

// Update is the output of one snapshot. The slices are valid until the viewer's next snapshot or
// acknowledgement.
type Update struct {
	Stream    []byte   // framed structure messages
	Datagrams [][]byte // State datagrams in order, then copies of some; empty if nothing is new
}

// Snapshot brings the viewer to the newest frame within its budget.
func (v *Viewer) Snapshot() Update { return v.makeSnapshot(v.replicator.ownWorkspace()) }

func (v *Viewer) makeSnapshot(w *workspace) Update {
	r, o, s := v.replicator, &v.outbox, v.simulation
	w.packer.beginFrame(r.changes.captures())
	w.packer.beginSnapshot(s != nil)
	budget := r.config.BudgetBytesPerSecond / r.config.SnapshotHz
	o.refillTokens(budget)
	if s != nil && (v.resync || s.isOutdated(w.frame.tick, r.clean.effects.maxBack)) {
		s.restartEffects()
		v.resync = true
	}
	if v.resync {
		v.resync = false
		v.members.reenterAll()
		w.stats.countResync()
	}
	since := v.interest.lastCapture
	v.updateInterest(w)
	newcomers := len(w.requests)
	rowsWaiting := v.collectRows(w)
	o.sendTexts(w, r, &v.members, &v.interest, since)
	v.writeEnters(w, newcomers, rowsWaiting)
	if s != nil && v.members.missEnter(w.requests[newcomers:], w.frame.tick) {
		w.packer.withholdComplete()
	}
	v.sendNewborn(w)
	o.billRecords()
	v.stats.countDropped(&w.stats, o.events.beginSnapshot(w.frame.tick, r.maxEventTicks, v.datagrams.limitWithin(o.tokens)))
	v.sendRows(w)
	stream := o.structure.takeForSnapshot(w.frame.tick)
	v.stats.countStructure(&w.stats, stream)
	o.billRecords()
	v.repeatDatagrams(w, budget)
	r.auditViewer(v)
	return Update{Stream: stream, Datagrams: v.datagrams.list}
}

// collectRows collects the rows that the client is owed, and reports whether there are any. It also
// requests enters for members whose rows start over.
func (v *Viewer) collectRows(w *workspace) bool {
	v.delivery.advanceBaselines(&v.members)
	if v.simulation == nil {
		return v.members.collectWaiting(w, v.replicator, &v.interest)
	}
	v.simulation.sendEffects(w, &v.outbox, &v.interest)
	return v.members.collectOwed(w, v.replicator, &v.interest)
}

// sendRows fills datagrams with the waiting rows, up to the budget or the maximum number of
// datagrams. It makes at least one unless nothing is new: even an empty datagram carries
// the clock and acknowledges inputs.
func (v *Viewer) sendRows(w *workspace) {
	d, waiting := &v.datagrams, len(w.packer.waiting)
	d.beginSnapshot()
	if v.hasNothingNew(waiting) {
		w.stats.countOmitted()
		return
	}
	carries := rowsAndEvents
	unsure, overdue := v.delivery.recordsOverdue(&v.outbox.structure, w.frame.tick, v.replicator.world.TickHz())
	if overdue && v.simulation == nil { // a complete snapshot, which a simulating client needs, needs all records
		switch late := w.packer.markLate(&v.members, v.interest.focus, unsure); {
		case late > 0 && late == waiting: // no row can go ahead
		case late > 0 || len(v.outbox.events.events) > 0:
			v.sendAhead(w)
			return
		default:
			carries = rowsAhead
		}
	}
	if d.mayFitOne(waiting) {
		if made := w.packer.packTogether(v.outbox.rowRoom(&v.datagrams, w.frame.tick)); made != nil {
			v.sendDatagram(w, made, w.packer.waiting, w.packer.waitingRows, carries)
			return
		}
		d.noteOverflow(waiting)
	}
	v.sendInSeveral(w, carries)
}

// hasNothingNew reports whether a snapshot would be empty and tell the client nothing. The
// client must have acknowledged everything, and the newest snapshot must have been empty
// too: an empty snapshot ends the client's extrapolation. Simulating clients receive every
// snapshot, because they compute forward from each.
func (v *Viewer) hasNothingNew(waiting int) bool {
	r := v.replicator
	since, empty := v.delivery.emptySince()
	return empty && !v.StructureUnacked() && v.simulation == nil &&
		waiting == 0 && len(v.outbox.events.events) == 0 && !v.datagrams.hasInputNews() &&
		(r.frame.tick-since)*minIdleHz < uint32(r.world.TickHz())
}

// A lost packet of the stream delays all later records, and the datagrams that name them,
// until the transport repeats it. While records seem overdue, rows that depend on no
// missing record go ahead, in a datagram that names an older record.

// sendAhead makes datagrams of the rows that are not late, and then of the late rows and
// the events, which may depend on any record.
func (v *Viewer) sendAhead(w *workspace) {
	if w.frame.rows.HasParents() {
		w.packer.markAnchored()
	}
	order := v.members.raisePriorities(&w.packer, v.replicator, &v.interest)
	w.packer.selection.holdLate()
	v.sendRanked(w, order, maxDatagrams-1, rowsAhead)
	w.packer.selection.releaseLate()
	if v.outbox.tokens <= minDatagramBytes {
		return
	}
	carries := rowsAndEvents
	if len(v.datagrams.list) > 1 {
		carries = rowsFirst
	}
	v.sendRanked(w, order, maxDatagrams, carries)
}

// sendInSeveral makes datagrams of the most urgent rows. If all rows seem to fit, it makes
// datagrams of all rows in slot order: headers are shorter for close slots, and priorities
// are not needed.
func (v *Viewer) sendInSeveral(w *workspace, carries contents) {
	p, d := &w.packer, &v.datagrams
	p.selection.beginSelection(len(p.waiting))
	if w.frame.rows.HasParents() {
		p.markAnchored()
	}
	fit := len(v.outbox.events.events) == 0 && d.mayFit(len(p.waiting), v.outbox.tokens)
	var order []uint32
	if fit {
		order = p.rankBySlot(v.interest.focus.Index())
	} else {
		order = v.members.raisePriorities(p, v.replicator, &v.interest)
	}
	if carries == rowsAndEvents {
		carries = rowsFirst
	}
	rest := v.sendRanked(w, order, maxDatagrams, carries)
	d.noteRest(len(rest), fit)
}

// sendRanked makes datagrams of rows in the given order, until the snapshot has `most`
// datagrams or the budget is exhausted. It makes at least one datagram, and returns the
// unsent rest of order.
func (v *Viewer) sendRanked(w *workspace, order []uint32, most int, carries contents) (rest []uint32) {
	p := &w.packer
	for first := true; first || (len(v.datagrams.list) < most && len(order) > 0 && v.outbox.tokens > minDatagramBytes); first = false {
		made := p.packMostUrgent(order, v.outbox.rowRoom(&v.datagrams, w.frame.tick))
		v.sendDatagram(w, &made, p.keys, p.rowIndexes, carries)
		for len(order) > 0 && p.selection.sent.has(order[0]) {
			order = order[1:]
		}
	}
	return order
}

// contents says what a datagram carries, and thereby which structure records it needs.
type contents uint8

const (
	rowsAhead     contents = iota // rows that go ahead: they need no record that the client may lack
	rowsAndEvents                 // rows and the events that fit; both may need the newest record
	rowsFirst                     // like rowsAndEvents, but events stay within their share: rows need the other bytes
)

// sendDatagram makes a datagram of packed rows and of events. A datagram that goes ahead
// has no events: knowledge.noteSent may write a record for a handle in an event, so events need the
// newest record (R4).
func (v *Viewer) sendDatagram(w *workspace, rows *packed, keys []codingKey, rowIndexes []uint32, carries contents) {
	d, o, f := &v.datagrams, &v.outbox, w.frame
	seq, lost := v.delivery.openDatagram(f.tick, rowIndexes, &v.members)
	v.stats.countLost(&w.stats, lost)
	v.members.markSent(rowIndexes, f.tick)
	v.knowledge.noteReferences(w, &v.members, o, keys)
	h := wire.StateHeader{Seq: seq, Tick: f.tick}
	if carries != rowsAhead {
		h.Events = v.takeEvents(w, rows.size(), carries)
	}
	h.Structure = o.structure.written
	if carries == rowsAhead {
		h.Structure = o.structure.whole
	}
	if v.simulation != nil {
		v.simulation.finishHeader(w, &h, &v.members, v.delivery.continuesTick(), rows.complete)
	}
	size := d.addDatagram(&h, rows)
	o.billBytes(size)
	v.delivery.closeDatagram(&h, size, o.structure.sent)
	v.stats.countDatagram(&w.stats, rows, size, len(f.schema.Components()))
}

// repeatDatagrams appends copies of the snapshot's datagrams that should be sent twice.
// budget is the budget of one snapshot.
func (v *Viewer) repeatDatagrams(w *workspace, budget int) {
	d, o := &v.datagrams, &v.outbox
	if v.replicator.config.SendOnce {
		return
	}
	v.delivery.judgeSamples(v.replicator.world.TickHz())
	if len(d.list) == 0 {
		return
	}
	spare := o.tokens - (burstSnapshots-1)*budget // tokens above this would expire with the next refill
	window := minWindowBytes - o.structure.outstandingBytes() - v.delivery.unackedBytes()
	for _, b := range d.addCopies(&v.delivery, spare, window) {
		o.billBytes(len(b))
		v.stats.countCopy(&w.stats, len(b))
	}
}
