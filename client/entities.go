package client

import (
	"slices"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/client/internal/bodies"
	"github.com/worldd/worldd/replication/wire"
)

// entities holds the entities in view, and a record of every handle that the server sent.
type entities struct {
	layout   *layout
	bodies   *bodies.Bodies // nil unless the session simulates
	issued   handleRange
	observer Observer
	stats    *ReplicaStats
	cells    cells
	all      []*Entity // in view, unordered
	size     int       // memory of entities and their states
	retexted *Entity   // entity whose texts the newest records have changed
}

// handleRange bounds the handles that the server's world can issue.
type handleRange struct {
	floor    uint32 // lower generations are of an earlier run (H5) or another room
	ceiling  uint32 // so are higher generations
	maxSlots uint32
}

// canIssue reports whether the server's world can issue h.
func (r handleRange) canIssue(h bulk.Handle) bool {
	return h.Valid() && h.Generation() >= r.floor && h.Generation() <= r.ceiling && h.Index() < r.maxSlots
}

// findEntity returns the verdict on a handle that is not provisional, and its entity if it is in view.
func (x *entities) findEntity(h bulk.Handle) (*Entity, wire.Verdict) {
	if !x.issued.canIssue(h) {
		return nil, wire.Stale
	}
	c := x.cells.findCell(h.Index())
	if c == nil {
		return nil, wire.Pending
	}
	v := c.verdictOn(h)
	if v != wire.Live {
		return nil, v
	}
	return c.entity, v
}

// bytes returns the memory of cells, entities and bodies.
func (x *entities) bytes() int {
	n := x.cells.bytes() + x.size + capacity(x.all)
	if x.bodies != nil {
		n += x.bodies.Bytes()
	}
	return n
}

// addBytes counts memory that an entity's states have allocated.
func (x *entities) addBytes(n int) { x.size += n }

// computeBodies makes the replica, which is empty, compute bodies.
func (x *entities) computeBodies(b *bodies.Bodies) { x.layout, x.bodies = x.layout.withBodies(b), b }

// destroyHandle makes h and every earlier generation of its slot Stale, even if no record named
// h before: a reference to it may still arrive.
func (x *entities) destroyHandle(c *cell, h bulk.Handle, cause uint8) {
	if c.state == wire.Stale && h.Generation() == c.generation {
		return // a repeated Destroy: the server sends one after a later reference to h (R5)
	}
	x.replaceTenant(c, h)
	c.generation, c.state = h.Generation(), wire.Stale
	x.reportDestroyed(h, cause)
}

// replaceTenant removes the live tenant, if any, from slot h.Index for h. A tenant other than h
// is dead: its Destroy should precede on this ordered stream, but the newer generation proves
// the death.
func (x *entities) replaceTenant(c *cell, h bulk.Handle) {
	if c.state != wire.Live {
		return
	}
	previous := c.entity.handle
	x.removeTenant(c)
	c.state = wire.Stale // before the callback, which may call Resolve
	if previous != h {
		x.reportDestroyed(previous, 0)
	}
}

func (x *entities) reportDestroyed(h bulk.Handle, cause uint8) {
	x.stats.Destroys++
	if f := x.observer.Destroy; f != nil {
		f(h, cause)
	}
}

// enterEntity applies an Enter, record number of the session, with its decoded row. It adds a
// new entity, or enters a known one again.
func (x *entities) enterEntity(c *cell, record wire.Record, tick, number uint32, row *enterRow) {
	h := record.Handle
	e := c.entity
	if c.state != wire.Live || e.handle != h {
		x.replaceTenant(c, h)
		e = x.newEntity()
		e.index = uint32(len(x.all))
		x.all = append(x.all, e)
		if x.bodies != nil {
			x.bodies.AddEntity()
		}
		x.size += x.bytesOfNew()
	}
	x.size += 4*len(row.list) - e.states.bytes()
	tick -= record.Exact.Back
	row.list[0] = tick
	*e = Entity{ // in place: the game may have kept the pointer since the first Enter
		handle: h, kind: uint16(record.Kind), entered: number, mask: row.mask,
		load: uint16(x.layout.rows.Load(row.mask)), index: e.index,
		states: history{tick: tick, room: 1, count: 1, owned: row.owned}, layout: x.layout,
	}
	e.states.setList(row.list)
	if x.bodies != nil {
		x.bodies.Receive(bodies.Received{Handle: e.handle, Kind: uint32(e.kind), Index: e.index, Tick: tick, Form: record.Exact.Form, Body: &row.body, Enter: true})
	}
	x.setTexts(e, row.texts)
	c.generation, c.state, c.entity = h.Generation(), wire.Live, e
	x.stats.Enters++
	if f := x.observer.Enter; f != nil {
		f(e)
	}
}

// removeTenant removes the live entity of c.
func (x *entities) removeTenant(c *cell) {
	x.size -= x.bytesOfNew() + c.entity.states.bytes()
	x.dropTexts(c.entity)
	if x.bodies != nil {
		x.bodies.RemoveEntity(c.entity.index)
	}
	last := len(x.all) - 1
	moved := x.all[last]
	x.all[c.entity.index] = moved
	moved.index = c.entity.index
	x.all[last] = nil
	x.all = x.all[:last]
	c.entity = nil
}

// leaveView takes the live entity of c out of view.
func (x *entities) leaveView(c *cell, why wire.Reason) {
	h := c.entity.handle
	x.removeTenant(c)
	c.state = wire.Hidden
	x.stats.Leaves++
	if f := x.observer.Leave; f != nil {
		f(h, why)
	}
}

// leaveAll takes all entities out of view, at the start of a new session.
func (x *entities) leaveAll() {
	for _, e := range slices.Clone(x.all) {
		if c := x.cells.cellAt(e.handle.Index()); c.entity == e { // else a callback has ended the world
			x.leaveView(c, wire.LeftInterest)
		}
	}
}

// inheritStale copies the Stale handles of an earlier session of the same run. Its live and
// hidden entities may have died since, so they are Pending again; earlier tenants of their
// slots stay Stale (C3).
func (x *entities) inheritStale(before *entities) {
	for slot, c := range before.cells.knownSlots() {
		g := c.generation
		if c.state != wire.Stale {
			g = max(g, 2) - 2 // the previous tenant: generations of tenants are odd
		}
		if g > 0 {
			x.cells.setStale(slot, g)
		}
	}
}

// destroyAll destroys every entity that may be alive.
func (x *entities) destroyAll() {
	x.retexted = nil
	for slot, c := range x.cells.knownSlots() {
		if c.state == wire.Live || c.state == wire.Hidden {
			x.destroyHandle(c, bulk.NewHandle(slot, c.generation), 0)
		}
	}
}

// newEntity allocates an entity.
func (x *entities) newEntity() *Entity {
	if len(x.layout.textFields) > 0 {
		return &new(textEntity).Entity
	}
	return new(Entity)
}

// bytesOfNew returns the memory of an entity without states and texts.
func (x *entities) bytesOfNew() int {
	if len(x.layout.textFields) > 0 {
		return bytesOfTextEntity
	}
	return bytesOfEntity
}
