package client

import (
	"math"

	"github.com/worldd/worldd/replication/schema"
	"github.com/worldd/worldd/replication/wire"
)

// foreseen is what the records of a message, as far as they were checked, make of the
// cell of a slot.
type foreseen struct {
	slot       uint32
	generation uint32
	stale      bool
	live       bool
}

// maxForeseen is how many cells may be foreseen, which is more than the records of the
// longest message.
const maxForeseen = math.MaxUint16

// entering is what an Enter record says of the state of its entity.
type entering struct {
	list  []uint32 // of a history
	mask  uint32
	owned bool
}

// checkRecords finds out whether all records of a message can be applied, and reads
// the rows of those that will enter into r.entering. Nothing else is changed that
// anybody sees: a message whose last record is a breach must not have told the game of
// the first.
func (r *Replica) checkRecords(message wire.Structure) error {
	if message.Count > maxForeseen {
		return protocolError("%d records in one message", message.Count)
	}
	r.entering, r.entered, r.foreseen = r.entering[:0], 0, r.foreseen[:0]
	r.room, r.living = r.limits.bytes-r.Bytes(), len(r.entities)
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
	if err := r.charge(r.cells.growth(h.Index())); err != nil {
		return err
	}
	c := r.foresee(h.Index())
	if h.Generation() < c.generation {
		return nil
	}
	if record.Op == wire.OpLeave {
		if h.Generation() == c.generation {
			r.foreseeLive(c, false)
		}
		return nil
	}
	if record.Op == wire.OpEnter {
		if c.stale && h.Generation() == c.generation {
			return protocolError("enter of %v, which was destroyed", h)
		}
		if err := r.readEntering(record); err != nil {
			return err
		}
	}
	c.generation, c.stale = h.Generation(), record.Op == wire.OpDestroy
	r.foreseeLive(c, record.Op == wire.OpEnter)
	if r.living > r.limits.entities {
		return &LimitError{"MaxEntities", r.limits.entities}
	}
	return nil
}

// foreseeLive notes whether the tenant of a slot will be live.
func (r *Replica) foreseeLive(c *foreseen, live bool) {
	if c.live != live {
		if c.live = live; live {
			r.living++
		} else {
			r.living--
		}
	}
}

// foresee is what a slot's cell will be when the records that were checked have been
// applied, until it is asked again. The cell knows where that is noted; what it knows
// of earlier messages leads to another slot, or nowhere.
func (r *Replica) foresee(slot uint32) *foreseen {
	c := r.cells.at(slot)
	at := int(c.foreseen)
	if at >= len(r.foreseen) || r.foreseen[at].slot != slot {
		at = len(r.foreseen)
		c.foreseen = uint16(at)
		r.foreseen = append(r.foreseen, foreseen{slot, c.generation, c.state == wire.Stale, c.state == wire.Live})
	}
	return &r.foreseen[at]
}

// readEntering reads the row of an Enter.
func (r *Replica) readEntering(record wire.Record) error {
	e := entering{owned: record.Reason == wire.ReasonOwned}
	row := schema.Row{Owned: e.owned}
	words := r.codec.Schema().Words()
	if err := r.charge(bytesOfEntity + stateBytes(words)); err != nil {
		return err
	}
	e.list, row.Words = listOf(words)
	r.reader.Reset(record.Row)
	if err := r.codec.Schema().ReadFull(&r.reader, &row); err != nil {
		return err
	}
	if err := wire.ExpectEnd(&r.reader); err != nil {
		return err
	}
	e.mask = row.Mask
	r.entering = append(r.entering, e)
	return nil
}
