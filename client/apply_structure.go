package client

import (
	"fmt"
	"math"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/client/internal/bodies"
	"github.com/worldd/worldd/replication/wire"
)

// applyStructure is Applier.ApplyStructure.
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
	r.checkTick = r.structureTick + message.Ticks
	if err := r.checkRecords(message); err != nil {
		return err
	}
	r.budget.Spend(recordTime * message.Count)
	r.structureTick += message.Ticks
	for record := range message.Records() {
		r.reportTexts(record)
		r.applied++
		r.applyRecord(record, r.structureTick)
	}
	r.reportTexts(wire.Record{})
	clear(r.enters)
	return r.release()
}

func protocolError(format string, args ...any) error {
	return &wire.Error{Code: wire.BadMessage, Detail: fmt.Sprintf(format, args...)}
}

// applyRecord applies a record that checkRecords accepted.
func (r *Replica) applyRecord(record wire.Record, tick uint32) {
	if record.Op == wire.OpEvent {
		r.receiveEvent(record.Number, tick, record.Data)
		return
	}
	if record.Op == wire.OpAnswer {
		r.provisional.setAnswer(record.Number, record.Handle)
		return
	}
	if record.Op == wire.OpExtension {
		return // checkRecord has applied it
	}
	h := record.Handle
	c := r.cells.at(h.Index())
	if h.Generation() < c.generation {
		return // about an earlier tenant, known to be gone (H1)
	}
	switch record.Op {
	case wire.OpEnter:
		r.enter(c, record, tick)
	case wire.OpLeave:
		if h.Generation() == c.generation && c.state == wire.Live {
			r.drop(c)
			c.state = wire.Hidden
			r.stats.Leaves++
			if f := r.observer.Leave; f != nil {
				f(h, record.Reason)
			}
		}
	case wire.OpDestroy:
		r.destroy(c, h, record.Cause)
	case wire.OpText:
		r.setText(c, record)
	}
}

// destroy makes h and every earlier generation of its slot Stale, even if h was never
// heard of: a reference to it may still arrive.
func (r *Replica) destroy(c *cell, h bulk.Handle, cause uint8) {
	if c.state == wire.Stale && h.Generation() == c.generation {
		return // the server repeats a Destroy after a later reference to h (R5)
	}
	r.replace(c, h)
	c.generation, c.state = h.Generation(), wire.Stale
	r.reportDestroyed(h, cause)
}

// replace takes the live tenant, if any, out of its slot for h. A tenant other than h
// is dead: its Destroy should precede on this ordered stream, but the newer generation
// proves it.
func (r *Replica) replace(c *cell, h bulk.Handle) {
	if c.state != wire.Live {
		return
	}
	previous := c.entity.handle
	r.drop(c)
	c.state = wire.Stale // before the callback, which may ask
	if previous != h {
		r.reportDestroyed(previous, 0)
	}
}

func (r *Replica) reportDestroyed(h bulk.Handle, cause uint8) {
	r.stats.Destroys++
	if f := r.observer.Destroy; f != nil {
		f(h, cause)
	}
}

// enter applies an Enter: h is new, or re-enters.
func (r *Replica) enter(c *cell, record wire.Record, tick uint32) {
	h, row := record.Handle, r.enters[r.nextEnter]
	r.nextEnter++
	e := c.entity
	if c.state != wire.Live || e.handle != h {
		r.replace(c, h)
		e = r.newEntity()
		e.index = uint32(len(r.entities))
		r.entities = append(r.entities, e)
		if r.bodies != nil {
			r.bodies.AddEntity()
		}
		r.entityBytes += r.bytesOfNew()
	}
	r.entityBytes += 4*len(row.list) - e.states.bytes()
	tick -= uint32(record.Exact.Back)
	row.list[0] = tick
	*e = Entity{ // in place: the game may hold the pointer since the first Enter
		handle: h, kind: uint16(record.Kind), entered: r.applied, mask: row.mask,
		load: uint16(r.codec.Schema().Load(row.mask)), index: e.index,
		states: history{tick: tick, room: 1, count: 1, owned: row.owned}, layout: r.layout,
	}
	e.states.setList(row.list)
	if r.bodies != nil {
		r.bodies.Receive(bodies.Received{Handle: e.handle, Kind: uint32(e.kind), Index: e.index, Tick: tick, Form: record.Exact.Form, Body: &row.body, Enter: true})
	}
	r.setTexts(e, row.texts)
	c.generation, c.state, c.entity = h.Generation(), wire.Live, e
	r.stats.Enters++
	if f := r.observer.Enter; f != nil {
		f(e)
	}
}

// drop removes the live entity of c.
func (r *Replica) drop(c *cell) {
	r.entityBytes -= r.bytesOfNew() + c.entity.states.bytes()
	r.dropTexts(c.entity)
	if r.bodies != nil {
		r.bodies.RemoveEntity(c.entity.index)
	}
	last := len(r.entities) - 1
	moved := r.entities[last]
	r.entities[c.entity.index] = moved
	moved.index = c.entity.index
	r.entities[last] = nil
	r.entities = r.entities[:last]
	c.entity = nil
}
