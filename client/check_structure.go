package client

import (
	"github.com/worldd/worldd/internal/fault"
	"github.com/worldd/worldd/replication/wire"
)

// foreseen is what the records of a message, as far as they were checked, make of a
// cell.
type foreseen struct {
	generation uint32
	stale      bool
}

// manyForeseen is how many cells may be foreseen for the map to be used again:
// clearing a map takes as long as it ever was large.
const manyForeseen = 256

// checkRecords finds out whether all records of a message can be applied, and reads
// the rows of those that will enter into r.entering. Nothing else is changed: a
// message whose last record is a breach must not have told the game of the first.
func (r *Replica) checkRecords(message wire.Structure) error {
	r.entering, r.entered = r.entering[:0], 0
	if r.foreseen == nil || len(r.foreseen) > manyForeseen {
		r.foreseen = map[uint32]foreseen{}
	}
	clear(r.foreseen)
	for record, err := range message.Records() {
		if err != nil {
			return err
		}
		if err := r.checkRecord(record); err != nil {
			return err
		}
	}
	return nil
}

func (r *Replica) checkRecord(record wire.Record) error {
	h := record.Handle
	if !h.Valid() || h.Index() >= r.maxSlots || h.Generation() < r.floor {
		return protocolError("%v of impossible handle %v", record.Op, h)
	}
	c := r.foresee(h.Index())
	if h.Generation() < c.generation && !fault.AcceptOldEnter || record.Op == wire.OpLeave {
		return nil
	}
	if record.Op == wire.OpEnter {
		if c.stale && h.Generation() == c.generation && !fault.AcceptSecondEnter {
			return protocolError("enter of %v, which was destroyed", h)
		}
		if err := r.readEntering(record); err != nil {
			return err
		}
	}
	r.foreseen[h.Index()] = foreseen{h.Generation(), record.Op == wire.OpDestroy}
	return nil
}

// foresee is what a slot's cell will be when the records that were checked have been
// applied.
func (r *Replica) foresee(slot uint32) foreseen {
	if f, ok := r.foreseen[slot]; ok {
		return f
	}
	c := r.cells.peek(slot)
	if c == nil {
		return foreseen{}
	}
	return foreseen{c.generation, c.state == wire.Stale}
}

// readEntering reads the row of an Enter.
func (r *Replica) readEntering(record wire.Record) error {
	row := wire.Row{Owned: record.Reason == wire.ReasonOwned && !fault.OwnNothing, Words: make([]uint32, r.codec.Schema().Words())}
	r.reader.Reset(record.Row)
	if err := r.codec.Schema().ReadFull(&r.reader, &row); err != nil {
		return err
	}
	if err := wire.ExpectEnd(&r.reader); err != nil {
		return err
	}
	r.entering = append(r.entering, row)
	return nil
}
