package replication

import (
	"slices"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/replication/wire"
)

// outbox holds the structure, events and texts that wait to be sent to one client, and the
// client's byte budget.
type outbox struct {
	structure structure
	events    eventQueue
	newborn   []newbornEvent
	textQueue []bulk.Handle // members with an unsent text, longest waiting first
	tokens    int           // bytes that may be sent now; negative after a burst of structure
}

// writeRecord writes a record and returns its size in bytes. It closes the open message
// when full, so that no message exceeds the size limit, however many entities die or leave
// in one tick.
func (o *outbox) writeRecord(w *workspace, r wire.Record) int {
	if o.structure.isFull() {
		o.structure.closeMessage(w.frame.tick)
	}
	n := o.structure.appendRecord(r)
	w.stats.countRecord(r.Op, n)
	return n
}

// writeReport writes a record that reports a call of the game after tick.
func (o *outbox) writeReport(w *workspace, tick uint32, r wire.Record) {
	o.structure.reportCall(tick)
	o.writeRecord(w, r)
}

// writeAnswer writes that the client's provisional handle index stands for h, or for
// nothing if h is 0.
func (o *outbox) writeAnswer(r *Replicator, index uint32, h bulk.Handle) {
	o.writeReport(r.ownWorkspace(), r.Tick(), wire.Record{Op: wire.OpAnswer, Number: index, Handle: h})
}

// writeExtension writes the extension record in w.extension.
func (o *outbox) writeExtension(w *workspace) {
	x := w.extension
	o.writeRecord(w, wire.Record{Op: wire.OpExtension, Number: uint32(x[0] >> 3), Data: x[1:]})
}

// addNewborn keeps an event for the Enter of an entity that is in no frame yet.
func (o *outbox) addNewborn(h bulk.Handle, e *Event) {
	o.newborn = append(o.newborn, newbornEvent{h, e})
}

// dropUnreliable drops all unreliable events and returns how many.
func (o *outbox) dropUnreliable() (dropped int) {
	before := len(o.newborn)
	o.newborn = slices.DeleteFunc(o.newborn, func(n newbornEvent) bool { return n.event.unreliable })
	return before - len(o.newborn) + o.events.dropAll()
}

// clearNewborn drops the events that waited for an Enter.
func (o *outbox) clearNewborn() {
	clear(o.newborn)
	o.newborn = o.newborn[:0]
}

// refillTokens adds the budget of one snapshot.
func (o *outbox) refillTokens(perSnapshot int) {
	o.tokens = min(o.tokens+perSnapshot, burstSnapshots*perSnapshot)
}

// billBytes charges bytes of a datagram.
func (o *outbox) billBytes(n int) { o.tokens -= n }

// billRecords charges the records written since the last call.
func (o *outbox) billRecords() { o.tokens -= o.structure.takeUnbilled() }

// rowRoom returns the maximum size of the rows of the next datagram.
func (o *outbox) rowRoom(d *datagrams, tick uint32) int {
	return d.roomWithin(o.tokens) - o.events.reservedBytes(tick)
}

// acceptsEvent reports whether a reliable event of n bytes is within its limits. budget is
// in bytes per second.
func (o *outbox) acceptsEvent(n, budget int) bool {
	return o.structure.outstandingBytes()+n <= maxEventBacklogBytes && o.structure.unbilled-o.tokens+n <= budget
}

// sendTexts writes the newest values of the members' changed text fields, longest waiting
// first, within a share of the budget. since is the capture of the last snapshot.
func (o *outbox) sendTexts(w *workspace, r *Replicator, m *members, in *interest, since uint64) {
	f := w.frame
	if f.textFields.mask == 0 {
		return
	}
	o.textQueue = m.queueTexts(o.textQueue, r.changes.retextedSince(since))
	if len(o.textQueue) == 0 {
		return
	}
	allowance := o.tokens / textShare
	kept := o.textQueue[:0]
	for _, h := range o.textQueue {
		rowIndex, member := m.indexOf(h)
		if !member {
			continue
		}
		row, owned := &m.textRows[rowIndex], in.owns(h)
		switch {
		case !f.owesText(h, row, m.rows[rowIndex].enterTick, owned):
			m.leaveTextQueue(rowIndex)
		case f.tick < row.due || allowance <= 0 || o.structure.outstandingBytes() >= maxOutstandingBytes:
			kept = append(kept, h)
		default:
			n := o.writeTexts(w, h, row, owned)
			allowance -= n
			m.noteTextsWritten(rowIndex, f.tick, r.textPause(n))
		}
	}
	o.textQueue = kept
	o.billRecords()
}

// writeTexts writes the changed text fields of member h and returns their size in bytes.
// owned tells whether the client receives owner-only fields.
func (o *outbox) writeTexts(w *workspace, h bulk.Handle, row *textRow, owned bool) (n int) {
	t := w.frame.tenants[h.Index()].texts
	for i, tick := range t.changed {
		if tick > row.sent && w.frame.textFields.isSentTo(i, owned) {
			n += o.writeRecord(w, wire.Record{Op: wire.OpText, Handle: h, Number: uint32(i), Data: w.bytesOf(t.values[i])})
		}
	}
	return n
}

// StructureUnacked reports whether some structure record is not acknowledged.
func (o *outbox) StructureUnacked() bool {
	return o.structure.applied != o.structure.written
}
