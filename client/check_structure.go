package client

import (
	"math"
	"slices"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/internal/bitio"
	"github.com/worldd/worldd/internal/rowschema"
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
	list  []uint32 // copied into the entity's history
	mask  uint32
	owned bool
	texts []string
	body  wire.BodyState // if the Enter is exact
}

// structureCheck checks the records of a Structure message before the first is applied: if the
// last record is an error, the first must not have run callbacks.
type structureCheck struct {
	entities    *entities
	events      *eventQueue
	provisional *provisionals
	memory      *memory
	maxEntities int
	reader      bitio.Reader
	tick        uint32        // of the message
	plan        []plannedCell // states of slots after the records checked so far
	planned     int           // entities in view after the records checked so far
	enters      []enterRow    // rows of the Enter records, in order
	answers     []uint32      // provisional indexes of the Answers checked so far
}

// checkMessage checks that all records of a message can be applied at tick, and returns the
// rows of its Enters, valid until clear. It changes nothing visible. memory.left must be up to
// date.
func (k *structureCheck) checkMessage(message wire.Structure, tick uint32) ([]enterRow, error) {
	if message.Count > maxPlanned {
		return nil, protocolError("%d records in one message", message.Count)
	}
	k.tick, k.planned = tick, len(k.entities.all)
	k.enters, k.plan, k.answers = k.enters[:0], k.plan[:0], k.answers[:0]
	for record, err := range message.Records() {
		if err != nil {
			return nil, err
		}
		if err := k.checkRecord(record); err != nil {
			return nil, err
		}
	}
	return k.enters, nil
}

// bytes returns the memory of the scratch buffers.
func (k *structureCheck) bytes() int { return capacity(k.enters) + capacity(k.plan) }

func (k *structureCheck) checkRecord(record wire.Record) error {
	h := record.Handle
	if record.Op == wire.OpEvent {
		return k.events.checkEvent(record.Number, false, record.Data)
	}
	if k.entities.bodies == nil && (record.Op == wire.OpExtension || record.Exact.Form != wire.Ordinary) {
		return protocolError("%v, in a session that does not simulate", record)
	}
	if record.Op == wire.OpExtension {
		return k.applyExtension(record)
	}
	if record.Op == wire.OpAnswer {
		if err := k.checkAnswer(record); err != nil || h == 0 {
			return err
		}
	}
	if !k.entities.issued.canIssue(h) {
		return protocolError("%v of invalid handle %v", record.Op, h)
	}
	if err := k.memory.chargeBytes(k.entities.cells.growthFor(h.Index())); err != nil {
		return err
	}
	c := k.planOf(h.Index())
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
			k.setLive(c, false)
		}
		return nil
	}
	if record.Op == wire.OpText {
		return k.checkText(record, c)
	}
	if record.Op == wire.OpEnter {
		if c.stale && h.Generation() == c.generation {
			return protocolError("enter of %v, which was destroyed", h)
		}
		if err := k.readEnter(record); err != nil {
			return err
		}
		c.mask, c.owned = k.enters[len(k.enters)-1].mask, record.Owned
	}
	c.generation, c.stale = h.Generation(), record.Op == wire.OpDestroy
	k.setLive(c, record.Op == wire.OpEnter)
	if k.planned > k.maxEntities {
		return limitError("MaxEntities", k.maxEntities)
	}
	return nil
}

// checkAnswer checks that an Answer is to a provisional handle that awaits it.
func (k *structureCheck) checkAnswer(record wire.Record) error {
	if !k.provisional.awaitsAnswer(record.Number) || slices.Contains(k.answers, record.Number) {
		return protocolError("answer to provisional handle %d, which is not awaited", record.Number)
	}
	k.answers = append(k.answers, record.Number)
	return nil
}

// setLive sets whether the tenant of c will be live.
func (k *structureCheck) setLive(c *plannedCell, live bool) {
	switch {
	case live && !c.live:
		k.planned++
	case !live && c.live:
		k.planned--
	}
	c.live = live
}

// planOf returns the planned cell of slot, valid until the next call. The cell holds its index
// in plan. A stale index of an earlier message is recognised: the planned cell is another
// slot's, or the index is beyond the end.
func (k *structureCheck) planOf(slot uint32) *plannedCell {
	c := k.entities.cells.cellAt(slot)
	i := int(c.plan)
	if i >= len(k.plan) || k.plan[i].slot != slot {
		i = len(k.plan)
		k.entities.cells.setPlan(slot, i)
		k.plan = append(k.plan, plannedCell{slot: slot, generation: c.generation, stale: c.state == wire.Stale, live: c.state == wire.Live})
		if c.state == wire.Live {
			k.plan[i].mask, k.plan[i].owned = c.entity.mask, c.entity.states.owned
		}
	}
	return &k.plan[i]
}

func (k *structureCheck) readEnter(record wire.Record) error {
	e := enterRow{owned: record.Owned}
	row := rowschema.Row{Owned: e.owned}
	values := k.entities.layout.values
	if err := k.memory.chargeBytes(k.entities.bytesOfNew() + stateBytes(values)); err != nil {
		return err
	}
	e.list, row.Values = newList(values)
	k.reader.Reset(record.Row)
	if err := k.entities.layout.rows.ReadFull(&k.reader, &row); err != nil {
		return err
	}
	if x := record.Exact; x.Form != wire.Ordinary {
		if err := x.CheckBack(k.tick, k.entities.bodies.MaxBack()); err != nil {
			return err
		}
		if err := k.memory.chargeBytes(k.entities.bodies.BytesOfNew()); err != nil {
			return err
		}
		var err error
		if e.body, err = k.entities.bodies.ReadBody(&k.reader, x.Form, record.Kind, row.Mask, row.Values); err != nil {
			return err
		}
	}
	if err := wire.ExpectEnd(&k.reader); err != nil {
		return err
	}
	e.mask = row.Mask
	if err := k.readTexts(record, &e); err != nil {
		return err
	}
	k.enters = append(k.enters, e)
	return nil
}

// readTexts reads the texts of an Enter whose row has been read.
func (k *structureCheck) readTexts(record wire.Record, e *enterRow) error {
	if e.mask&k.entities.layout.textMask == 0 && len(record.Data) == 0 {
		return nil
	}
	fields := len(k.entities.layout.textFields)
	if err := k.memory.chargeBytes(fields*bytesOfString + 16*fields + len(record.Data)); err != nil {
		return err
	}
	e.texts = make([]string, fields)
	return k.entities.layout.rows.ReadTexts(record.Data, e.mask, e.owned, e.texts)
}

// checkText checks a Text whose generation is not lower than c's.
func (k *structureCheck) checkText(record wire.Record, c *plannedCell) error {
	if int64(record.Number) >= int64(len(k.entities.layout.textFields)) {
		return protocolError("%v of text field %d, and the schema has %d", record.Op, record.Number, len(k.entities.layout.textFields))
	}
	f := &k.entities.layout.textFields[record.Number]
	if err := rowschema.CheckText(f, string(record.Data)); err != nil {
		return err
	}
	if !c.live || record.Handle.Generation() != c.generation {
		return nil
	}
	if c.mask>>f.Component&1 == 0 || f.Owner && !c.owned {
		return protocolError("%v of %s of %v, which does not have it or does not show it to this client", record.Op, f.Path, record.Handle)
	}
	return k.memory.chargeBytes(heapBytes(len(record.Data)))
}

// applyExtension applies an Extension record during the check: its effect is invisible before
// the next snapshot.
func (k *structureCheck) applyExtension(record wire.Record) error {
	before := k.entities.bodies.Bytes()
	if err := k.entities.bodies.ApplyExtension(record, k.tick); err != nil {
		return err
	}
	return k.memory.chargeBytes(k.entities.bodies.Bytes() - before)
}

// willBeInView reports whether h will be in view after the records checked so far.
func (k *structureCheck) willBeInView(h bulk.Handle) bool {
	if h.Index() >= k.entities.issued.maxSlots || k.entities.cells.findCell(h.Index()) == nil {
		return false
	}
	c := k.planOf(h.Index())
	return c.live && c.generation == h.Generation()
}
