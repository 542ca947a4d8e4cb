package client

import (
	"fmt"
	"math"

	"github.com/worldd/worldd/replication/wire"
)

// applyStructure applies the body of a Structure message whole or not at all, then the
// datagrams that waited for it. An error is the server's fault and final: the stream is
// reliable, so nothing after the error could be right.
func (r *Replica) applyStructure(body []byte) error {
	message, err := wire.ParseStructure(body)
	if err != nil {
		return err
	}
	if message.First != r.applied+1 {
		return protocolError("structure record %d follows %d", message.First, r.applied)
	}
	if message.Ticks > math.MaxUint32-r.structureTick {
		return protocolError("structure of a tick beyond 2^32")
	}
	tick := r.structureTick + message.Ticks
	r.memory.beginMessage(r.bytes())
	rows, err := r.check.checkMessage(message, tick)
	if err != nil {
		return err
	}
	r.budget.Spend(recordTime * message.Count)
	r.structureTick = tick
	next := rows
	for record := range message.Records() {
		r.entities.reportTexts(record)
		if r.ended { // by a callback
			return nil
		}
		r.applied++
		next = r.applyRecord(record, next)
	}
	r.entities.reportTexts(wire.Record{})
	clear(rows)
	return r.releaseHeld()
}

func protocolError(format string, args ...any) error {
	return &wire.Error{Code: wire.BadMessage, Detail: fmt.Sprintf(format, args...)}
}

// applyRecord applies a checked record. rows are the rows of the message's remaining Enters;
// applyRecord returns them without those that it used.
func (r *Replica) applyRecord(record wire.Record, rows []enterRow) []enterRow {
	switch record.Op {
	case wire.OpEvent:
		r.events.receiveEvent(record.Number, r.structureTick, record.Data)
		return rows
	case wire.OpAnswer:
		r.provisional.setAnswer(record.Number, record.Handle)
		return rows
	case wire.OpExtension:
		return rows // structureCheck has applied it
	}
	h := record.Handle
	c := r.entities.cells.cellAt(h.Index())
	if h.Generation() < c.generation {
		return rows // about an earlier tenant, which is known to be dead (H1)
	}
	switch record.Op {
	case wire.OpEnter:
		r.entities.enterEntity(c, record, r.structureTick, r.applied, &rows[0])
		return rows[1:]
	case wire.OpLeave:
		if h.Generation() == c.generation && c.state == wire.Live {
			r.entities.leaveView(c, record.Reason)
		}
	case wire.OpDestroy:
		r.entities.destroyHandle(c, h, record.Cause)
	case wire.OpText:
		r.entities.setText(c, record)
	}
	return rows
}
