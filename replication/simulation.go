package replication

import (
	"math/bits"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/internal/rowschema"
	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/world"
)

// simulation is the state of a viewer whose client simulates.
type simulation struct {
	effects  []sentEffect // by slot of the world's effects
	programs [wire.MaxPrograms]uint8
	kinds    []bool // added kinds that the client knows, from the first that the schema lacks on
	sent     int    // programs that the client has: programs[i] is one more than the number of the i-th
	tick     uint32 // of the newest snapshot; 0: none
	since    uint32 // of the snapshot before the newest; of the newest if effects were sent again
	from     uint32 // first tick from which on the client knows every effect in reach
	restart  bool   // effects are sent again, and all members enter again
}

// sentEffect is the newest effect on a slot that the client received.
type sentEffect struct {
	id    bulk.Handle
	last  uint32 // last tick of its life, or 0
	first uint32 // first tick of the newest record
	known bool   // it has not ended or left
	left  bool   // the client receives no more about it
}

const (
	// sendMargin and forgetMargin grow the leave radius, in metres: effects that come within
	// the first are sent, and the client forgets those beyond the second. The first covers what a
	// body and an effect may go between two snapshots.
	sendMargin   = 8
	forgetMargin = 24
)

// isOutdated reports whether at a tick the client's effects are too old for a log that goes back
// maxBack ticks.
func (s *simulation) isOutdated(tick, maxBack uint32) bool {
	return s.tick != 0 && tick-s.tick > maxBack
}

// restartEffects makes the next snapshot send all effects again.
func (s *simulation) restartEffects() { s.restart = true }

// effectWriter writes the records of effects to one client.
type effectWriter struct {
	*simulation
	w   *workspace
	out *outbox
	log *effectLog
}

// sendEffects writes records of what became of the effects since the last snapshot.
func (s *simulation) sendEffects(w *workspace, out *outbox, r *Replicator, in *interest) {
	l, tick := &r.clean.effects, w.frame.tick
	writer := effectWriter{s, w, out, l}
	since := s.tick
	if s.restart {
		writer.forgetAll()
		since, s.restart, s.from = tick, false, tick
	}
	radius := r.config.LeaveRadius
	everywhere := !in.onlyPositionsMatter(&r.config) || in.owned.slots.size > 0
	writer.writeChangesAndEnds(since)
	for i := range l.past {
		if e := &l.past[i]; (!s.wasSent(e.id) || s.effects[e.id.Index()].left) && e.end > since+1 && e.first < e.end &&
			(everywhere || l.reachesCircle(e, in.center, radius+sendMargin, since, tick)) {
			writer.writePast(e, since)
		}
	}
	for i := range l.live {
		e := &l.live[i]
		if !e.sendable {
			continue
		}
		known := s.knowsEffect(e.id)
		switch {
		case !known && (everywhere || l.reachesCircle(e, in.center, radius+sendMargin, since, tick)):
			writer.writeEffect(e, since)
		case known && !everywhere && !l.reachesCircle(e, in.center, radius+forgetMargin, since, tick):
			writer.forgetEffect(e.id)
		}
	}
	s.tick, s.since = tick, since
}

// knowsEffect reports whether the client knows id, which acts.
func (s *simulation) knowsEffect(id bulk.Handle) bool {
	return s.wasSent(id) && s.effects[id.Index()].known
}

// wasSent reports whether id is the newest effect on its slot that the client received.
func (s *simulation) wasSent(id bulk.Handle) bool {
	return int(id.Index()) < len(s.effects) && s.effects[id.Index()].id == id
}

// ticksBack returns the ticks of a record from the tick first on.
func (x *effectWriter) ticksBack(first uint32) uint32 {
	return min(x.w.frame.tick+1-first, x.log.maxBack+1)
}

// writeChangesAndEnds writes what became of the effects that the client knows: changes, and ends
// before their time.
func (x *effectWriter) writeChangesAndEnds(since uint32) {
	changes := x.log.changesSince(since)
	for i := range changes {
		if c := &changes[i]; x.knowsEffect(c.id) {
			x.writeChange(c)
		}
	}
	for i := range x.log.past {
		e := &x.log.past[i]
		if !x.knowsEffect(e.id) {
			continue
		}
		sent := &x.effects[e.id.Index()]
		if e.endedEarly() {
			sent.first = max(sent.first, e.end)
			x.writeEnd(wire.EffectEnded{Effect: e.id, Back: x.ticksBack(sent.first)})
		}
		sent.known = false
	}
}

// writeEnd writes the end of an effect.
func (x *effectWriter) writeEnd(record wire.EffectEnded) {
	x.w.extension = record.Append(x.w.extension[:0])
	x.out.writeExtension(x.w)
}

// writeChange writes a change of an effect that the client knows.
func (x *effectWriter) writeChange(c *effectChange) {
	sent := &x.effects[c.id.Index()]
	sent.first = max(sent.first, c.after.since)
	change := wire.EffectChanged{Effect: c.id, Back: x.ticksBack(sent.first), HasPath: c.path, HasParams: c.params, Path: wirePath(&c.after.path), Params: c.after.params}
	x.w.extension = change.Append(x.w.extension[:0])
	x.out.writeExtension(x.w)
}

// writePast writes an effect that the client did not know and that has ended.
func (x *effectWriter) writePast(e *loggedEffect, since uint32) {
	x.writeEffect(e, since)
	sent := &x.effects[e.id.Index()]
	if e.endedEarly() {
		x.writeEnd(wire.EffectEnded{Effect: e.id, Back: x.ticksBack(max(sent.first, e.end))})
	}
	sent.known = false
}

// writeEffect writes an effect from the tick since on, with its changes. From since: the client computes
// how the effect moves from there to the next tick, and what that wakes.
func (x *effectWriter) writeEffect(e *loggedEffect, since uint32) {
	form := x.log.formAt(e, since)
	number := x.writeProgram(e.program)
	slot := int(e.id.Index())
	if n := slot + 1 - len(x.effects); n > 0 {
		x.effects = append(x.effects, make([]sentEffect, n)...)
	}
	sent := &x.effects[slot]
	first := max(e.first, form.since, since)
	if sent.id == e.id {
		first = max(first, sent.first) // the client forgot it
	}
	if first > e.first {
		x.from = max(x.from, first)
	}
	added := wire.EffectAdded{
		Effect: e.id, Program: number, Mode: e.mode, Layers: e.layers, Back: x.ticksBack(first), Age: first - e.born,
		Path: wirePath(&form.path), Params: form.params,
	}
	if e.last != 0 {
		added.Life = e.last - first + 1
	}
	x.w.extension = added.Append(x.w.extension[:0])
	x.out.writeExtension(x.w)
	*sent = sentEffect{id: e.id, last: e.last, first: first, known: true}
	changes := x.log.changesSince(since)
	for i := range changes {
		if c := &changes[i]; c.id == e.id {
			x.writeChange(c)
		}
	}
}

// writeProgram writes a program unless the client has it, and returns its number.
func (x *effectWriter) writeProgram(index uint16) uint8 {
	if x.programs[index] == 0 && x.sent < wire.MaxPrograms-1 {
		x.sent++
		x.programs[index] = uint8(x.sent)
		x.w.extension = wire.Program{Number: uint8(x.sent - 1), Code: x.log.programs[index].code}.Append(x.w.extension[:0])
		x.out.writeExtension(x.w)
	}
	return x.programs[index] - 1
}

// forgetEffect tells the client that it receives no more about an effect.
func (x *effectWriter) forgetEffect(id bulk.Handle) {
	sent := &x.effects[id.Index()]
	sent.first, sent.known, sent.left = max(sent.first, x.w.frame.tick), false, true
	x.writeEnd(wire.EffectEnded{Effect: id, Back: x.ticksBack(sent.first), Left: true})
}

// forgetAll tells the client to forget every effect that still acts as far as it knows.
func (x *effectWriter) forgetAll() {
	for i := range x.effects {
		e := &x.effects[i]
		if e.known && (e.last == 0 || e.last >= x.w.frame.tick) {
			x.forgetEffect(e.id)
		}
		e.known = false
	}
}

// sendKind writes the motion constants of an entering entity's kind, if the schema lacks the kind
// and the client has not received it yet.
func (s *simulation) sendKind(w *workspace, out *outbox, c *clean, kind world.KindID) {
	if int(kind) >= len(c.kinds) || !c.kinds[kind].added || !c.kinds[kind].exact {
		return
	}
	i := int(kind) - w.frame.schema.Kinds()
	if n := i + 1 - len(s.kinds); n > 0 {
		s.kinds = append(s.kinds, make([]bool, n)...)
	}
	if s.kinds[i] {
		return
	}
	s.kinds[i] = true
	k := &c.kinds[kind]
	w.extension = wire.KindAdded{Kind: uint32(kind), KindConstants: wire.KindConstants(*kindBody(&k.Kind))}.Append(w.extension[:0])
	out.writeExtension(w)
}

// enterExact returns how an Enter gives the exact state of a slot, and the row that it has:
// as it was spawned, if that is on the grid and the client computes it from there, or as it
// is now. It leaves the state in parts.
func (s *simulation) enterExact(r *Replicator, parts *exactParts, slot uint32, row rowschema.Row) (rowschema.Row, wire.Exact) {
	form, ok := parts.readSlot(slot)
	if !ok {
		return row, wire.Exact{}
	}
	state, tick, ok := r.world.Slots().SpawnState(slot)
	if !ok || tick < r.config.TickBase || form == wire.OnGrid || form == wire.OnGridAsleep {
		return row, wire.Exact{Form: form}
	}
	at := uint32(tick - r.config.TickBase)
	if at == 0 || r.clean.slots[slot].moved > at || at < s.from || at < s.since || at >= r.frame.tick || r.frame.tick-at > r.clean.effects.maxBack {
		return row, wire.Exact{Form: form}
	}
	spawned := parts.spawnedRow(row, &state)
	if parts.readRow(spawned.Values, &state) != wire.OnGrid {
		form, _ = parts.readSlot(slot)
		return row, wire.Exact{Form: form}
	}
	return spawned, wire.Exact{Form: wire.OnGrid, Back: r.frame.tick - at}
}

const (
	// auditBytes is the size of an audit in a State header.
	auditBytes = 4
	// auditEvery is how many snapshots have one audit: each body is audited once in
	// auditEvery*wire.AuditTurns snapshots, 6.4 s at 20 a second. An audit in each takes 60 more
	// bytes a second, and as much more time to fold states on both sides.
	auditEvery = 4
)

// isAudited reports whether snapshot seq has an audit. Within auditEvery*wire.AuditTurns
// snapshots, each turn has one.
func isAudited(seq uint32) bool { return (seq+seq/wire.AuditTurns)%auditEvery == 0 }

// headerBytes returns the maximum size of a State header without events; nil is for a client that
// does not simulate.
func (s *simulation) headerBytes() int {
	if s != nil {
		return wire.StateHeaderBytes + auditBytes
	}
	return wire.StateHeaderBytes
}

// auditExact returns the audit of snapshot seq over exact members (P4), and false if it would cover
// none.
func (m *members) auditExact(r *Replicator, seq uint32) (sum uint32, covers bool) {
	const turns = uint64(1)<<0 | uint64(1)<<wire.AuditTurns
	mine := turns << (seq % wire.AuditTurns)
	for i := range m.words {
		word := &m.words[i]
		for rest := word.mask & mine; rest != 0; rest &= rest - 1 {
			slot := word.number<<6 | uint32(bits.TrailingZeros64(rest))
			h := m.handles[m.indexes[word.rowAt(slot)]]
			if s := r.clean.slotOf(slot, h); s != nil && s.exact {
				state, _ := r.world.Slots().Exact(slot)
				body := bodyState(&state)
				sum, covers = wire.Audit(sum, h, &body), true
			}
		}
	}
	return sum, covers
}
