package client

import (
	"math"
	"slices"

	"github.com/worldd/worldd/replication/schema"
	"github.com/worldd/worldd/replication/wire"
)

// plannedCell is the state of a slot's cell after the records checked so far.
type plannedCell struct {
	slot       uint32
	generation uint32
	stale      bool
	live       bool
	owned      bool
	mask       uint32 // of the live tenant
}

// maxPlanned bounds the planned cells; the longest message has fewer records.
const maxPlanned = math.MaxUint16

// enterRow is the decoded row of an Enter record.
type enterRow struct {
	list  []uint32 // for history
	mask  uint32
	owned bool
	texts []string
	body  wire.BodyState // if the Enter is exact
}

// checkRecords checks that all records of a message can be applied, and decodes the
// rows of its Enters into r.enters. It changes nothing visible: a message whose last
// record is an error must not have run callbacks for the first.
func (r *Replica) checkRecords(message wire.Structure) error {
	if message.Count > maxPlanned {
		return protocolError("%d records in one message", message.Count)
	}
	r.enters, r.nextEnter, r.plan, r.answers = r.enters[:0], 0, r.plan[:0], r.answers[:0]
	r.bytesLeft, r.planned = r.limits.bytes-r.Bytes(), len(r.entities)
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
	if record.Op == wire.OpEvent {
		return r.checkEvent(record.Number, false, record.Data)
	}
	if r.bodies == nil && (record.Op == wire.OpExtension || record.Exact.Form != wire.Ordinary) {
		return protocolError("%v, in a session that does not simulate", record)
	}
	if record.Op == wire.OpExtension { // nothing shows it before the next snapshot
		return r.applyExtension(record)
	}
	if record.Op == wire.OpAnswer {
		if err := r.checkAnswer(record); err != nil || h == 0 {
			return err
		}
	}
	if !r.issues(h) {
		return protocolError("%v of invalid handle %v", record.Op, h)
	}
	if err := r.charge(r.cells.growth(h.Index())); err != nil {
		return err
	}
	c := r.planOf(h.Index())
	if h.Generation() < c.generation {
		return nil
	}
	if record.Op == wire.OpAnswer {
		if h.Generation() == c.generation && !c.stale {
			return protocolError("answer that names %v, which has entered before", h)
		}
		return nil
	}
	if record.Op == wire.OpLeave {
		if h.Generation() == c.generation {
			r.planLive(c, false)
		}
		return nil
	}
	if record.Op == wire.OpText {
		return r.checkText(record, c)
	}
	if record.Op == wire.OpEnter {
		if c.stale && h.Generation() == c.generation {
			return protocolError("enter of %v, which was destroyed", h)
		}
		if err := r.readEnter(record); err != nil {
			return err
		}
		c.mask, c.owned = r.enters[len(r.enters)-1].mask, record.Owned
	}
	c.generation, c.stale = h.Generation(), record.Op == wire.OpDestroy
	r.planLive(c, record.Op == wire.OpEnter)
	if r.planned > r.limits.entities {
		return &LimitError{"MaxEntities", r.limits.entities}
	}
	return nil
}

// checkAnswer checks that an Answer is to a provisional handle that awaits it.
func (r *Replica) checkAnswer(record wire.Record) error {
	if !r.provisional.awaitsAnswer(record.Number) || slices.Contains(r.answers, record.Number) {
		return protocolError("answer to provisional handle %d, which is not awaited", record.Number)
	}
	r.answers = append(r.answers, record.Number)
	return nil
}

// planLive sets whether the tenant of c will be live.
func (r *Replica) planLive(c *plannedCell, live bool) {
	switch {
	case live && !c.live:
		r.planned++
	case !live && c.live:
		r.planned--
	}
	c.live = live
}

// planOf returns the planned cell of slot, valid until the next call. The cell holds
// its index; an index left from an earlier message leads to another slot, or beyond
// the end.
func (r *Replica) planOf(slot uint32) *plannedCell {
	c := r.cells.at(slot)
	i := int(c.plan)
	if i >= len(r.plan) || r.plan[i].slot != slot {
		i = len(r.plan)
		c.plan = uint16(i)
		r.plan = append(r.plan, plannedCell{slot: slot, generation: c.generation, stale: c.state == wire.Stale, live: c.state == wire.Live})
		if c.state == wire.Live {
			r.plan[i].mask, r.plan[i].owned = c.entity.mask, c.entity.states.owned
		}
	}
	return &r.plan[i]
}

func (r *Replica) readEnter(record wire.Record) error {
	e := enterRow{owned: record.Owned}
	row := schema.Row{Owned: e.owned}
	values := r.codec.Schema().Values()
	if err := r.charge(r.bytesOfNew() + stateBytes(values)); err != nil {
		return err
	}
	e.list, row.Values = newList(values)
	r.reader.Reset(record.Row)
	if err := r.codec.Schema().ReadFull(&r.reader, &row); err != nil {
		return err
	}
	if x := record.Exact; x.Form != wire.Ordinary {
		if uint32(x.Back) >= r.checkTick {
			return protocolError("an exact state of %d ticks before tick %d", x.Back, r.checkTick)
		}
		if err := r.charge(r.bodies.BytesOfNew()); err != nil {
			return err
		}
		var err error
		if e.body, err = r.bodies.ReadBody(&r.reader, x.Form, record.Kind, row.Mask, row.Values); err != nil {
			return err
		}
	}
	if err := wire.ExpectEnd(&r.reader); err != nil {
		return err
	}
	e.mask = row.Mask
	if err := r.readTexts(record, &e); err != nil {
		return err
	}
	r.enters = append(r.enters, e)
	return nil
}
