package client

import (
	"fmt"

	"github.com/worldd/worldd/bulk"
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
	if err := r.checkRecords(message); err != nil {
		return err
	}
	for record := range message.Records() {
		r.applied++
		r.applyRecord(record, message.Tick)
	}
	clear(r.entering)
	return r.release()
}

func protocolError(format string, args ...any) error {
	return &wire.Error{Code: wire.BadMessage, Detail: fmt.Sprintf(format, args...)}
}

// applyRecord applies a record that checkRecords has seen.
func (r *Replica) applyRecord(record wire.Record, tick uint32) {
	h := record.Handle
	c := r.cells.at(h.Index())
	if h.Generation() < c.generation {
		return // about a tenant that is known to be gone (H1)
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
		r.destroy(c, h, record.Reason)
	}
}

// destroy closes the cell for h and for every generation before it. A handle
// that was never heard of dies all the same, and stays dead: a reference to it
// may still arrive.
func (r *Replica) destroy(c *cell, h bulk.Handle, why wire.Reason) {
	if c.state == wire.Stale && h.Generation() == c.generation {
		return // a later reference to the dead has the server say it again
	}
	r.replace(c, h)
	c.generation, c.state = h.Generation(), wire.Stale
	r.tellDestroyed(h, why)
}

// replace takes a live tenant out of its slot before something is said of h. If
// h is another one, the tenant is dead: its Destroy should have come first on
// this ordered lane, but the newer generation tells as much.
func (r *Replica) replace(c *cell, h bulk.Handle) {
	if c.state != wire.Live {
		return
	}
	previous := c.entity.handle
	r.drop(c)
	c.state = wire.Stale // before anybody is told, who may ask
	if previous != h {
		r.tellDestroyed(previous, wire.ReasonDestroyed)
	}
}

func (r *Replica) tellDestroyed(h bulk.Handle, why wire.Reason) {
	r.stats.Destroys++
	if f := r.observer.Destroy; f != nil {
		f(h, why)
	}
}

func (r *Replica) enter(c *cell, record wire.Record, tick uint32) {
	h, entering := record.Handle, r.entering[r.entered]
	r.entered++
	e := c.entity
	if c.state != wire.Live || e.handle != h {
		r.replace(c, h)
		e = &Entity{place: uint32(len(r.entities))}
		r.entities = append(r.entities, e)
		r.entityBytes += bytesOfEntity
	}
	r.entityBytes += 4*len(entering.list) - e.states.bytes()
	entering.list[0] = tick
	*e = Entity{ // who enters anew stays where it is: the game may have kept it
		handle: h, kind: uint16(record.Kind), entered: r.applied, mask: entering.mask,
		load: uint16(r.codec.Schema().Load(entering.mask)), place: e.place,
		states: history{list: entering.list, tick: tick, room: 1, count: 1, owned: entering.owned},
	}
	c.generation, c.state, c.entity = h.Generation(), wire.Live, e
	r.stats.Enters++
	if f := r.observer.Enter; f != nil {
		f(e)
	}
}

// drop takes the live entity out of the replica.
func (r *Replica) drop(c *cell) {
	r.entityBytes -= bytesOfEntity + c.entity.states.bytes()
	last := len(r.entities) - 1
	moved := r.entities[last]
	r.entities[c.entity.place] = moved
	moved.place = c.entity.place
	r.entities[last] = nil
	r.entities = r.entities[:last]
	c.entity = nil
}
