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
	kinds    []bool // kinds that the schema lacks: whether the client has received each
	sent     int    // number of programs that the client has; programs[i] is 1 + the number of log program i, or 0
	tick     uint32 // tick of the newest snapshot; 0: none
	since    uint32 // tick of the snapshot before the newest; after a restart, tick of the newest
	from     uint32 // tick from which on the client knows every effect in reach
	restart  bool   // the next snapshot sends all effects again
}

// sentEffect is the newest effect in a slot that the client received.
type sentEffect struct {
	id    bulk.Handle
	last  uint32 // last tick of its life, or 0
	first uint32 // first tick of the newest record
	known bool   // the effect has neither ended nor left
	left  bool   // the client receives no further records about it
}

const (
	// minSendMargin is the least distance beyond the leave radius, in metres, in which
	// effects are sent. At 20 snapshots a second a body travels less between two snapshots,
	// so the rate hardly matters.
	minSendMargin = 8
	// forgetGap is how much farther away the client forgets effects, in metres, so that those at the edge
	// do not come and go.
	forgetGap = 16
)

// isOutdated reports whether the client's newest snapshot is older than the log, which goes
// back maxBack ticks.
func (s *simulation) isOutdated(tick, maxBack uint32) bool {
	return s.tick != 0 && tick-s.tick > maxBack
}

// restartEffects makes the next snapshot send all effects again.
func (s *simulation) restartEffects() { s.restart = true }

// sendEffects writes records of the effects that began, changed, ended or left since the
// last snapshot.
func (s *simulation) sendEffects(w *workspace, out *outbox, in *interest) {
	r := w.replicator
	l, tick := &r.clean.effects, w.frame.tick
	since := s.tick
	if s.restart {
		s.forgetAll(w, out)
		since, s.restart, s.from = tick, false, tick
	}
	sendRadius := r.config.LeaveRadius + l.sendMargin(tick-since)
	everywhere := in.seesBeyondRadius(r)
	s.writeChangesAndEnds(w, out, since)
	for i := range l.past {
		if e := &l.past[i]; (!s.wasSent(e.id) || s.effects[e.id.Index()].left) && e.end > since+1 && e.first < e.end &&
			(everywhere || l.reachesCircle(e, in.center, sendRadius, since, tick)) {
			s.writePast(w, out, e, since)
		}
	}
	for i := range l.live {
		e := &l.live[i]
		if !e.sendable {
			continue
		}
		known := s.knowsEffect(e.id)
		switch {
		case !known && (everywhere || l.reachesCircle(e, in.center, sendRadius, since, tick)):
			s.writeEffect(w, out, e, since)
		case known && !everywhere && !l.reachesCircle(e, in.center, sendRadius+forgetGap, since, tick):
			s.forgetEffect(w, out, e.id)
		}
	}
	s.tick, s.since = tick, since
}

// knowsEffect reports whether the client knows effect id as acting.
func (s *simulation) knowsEffect(id bulk.Handle) bool {
	return s.wasSent(id) && s.effects[id.Index()].known
}

// wasSent reports whether id is the newest effect in its slot that the client received.
func (s *simulation) wasSent(id bulk.Handle) bool {
	return int(id.Index()) < len(s.effects) && s.effects[id.Index()].id == id
}

// ticksBack returns Back for a record that applies from the tick first on.
func (w *workspace) ticksBack(first uint32) uint32 {
	return min(w.frame.tick+1-first, w.replicator.clean.effects.maxBack+1)
}

// writeChangesAndEnds writes the changes and early ends of the effects that the client
// knows.
func (s *simulation) writeChangesAndEnds(w *workspace, out *outbox, since uint32) {
	l := &w.replicator.clean.effects
	changes := l.changesSince(since)
	for i := range changes {
		if c := &changes[i]; s.knowsEffect(c.id) {
			s.writeChange(w, out, c)
		}
	}
	for i := range l.past {
		e := &l.past[i]
		if !s.knowsEffect(e.id) {
			continue
		}
		sent := &s.effects[e.id.Index()]
		if e.endedEarly() {
			sent.first = max(sent.first, e.end)
			s.writeEnd(w, out, wire.EffectEnded{Effect: e.id, Back: w.ticksBack(sent.first)})
		}
		sent.known = false
	}
}

// writeEnd writes the end of an effect.
func (s *simulation) writeEnd(w *workspace, out *outbox, record wire.EffectEnded) {
	w.extension = record.Append(w.extension[:0])
	out.writeExtension(w)
}

// writeChange writes a change of an effect that the client knows.
func (s *simulation) writeChange(w *workspace, out *outbox, c *effectChange) {
	sent := &s.effects[c.id.Index()]
	sent.first = max(sent.first, c.after.since)
	change := wire.EffectChanged{Effect: c.id, Back: w.ticksBack(sent.first), HasPath: c.path, HasParams: c.params, Path: wirePath(&c.after.path), Params: c.after.params}
	w.extension = change.Append(w.extension[:0])
	out.writeExtension(w)
}

// writePast writes an effect that has ended and that the client did not know.
func (s *simulation) writePast(w *workspace, out *outbox, e *loggedEffect, since uint32) {
	s.writeEffect(w, out, e, since)
	sent := &s.effects[e.id.Index()]
	if e.endedEarly() {
		s.writeEnd(w, out, wire.EffectEnded{Effect: e.id, Back: w.ticksBack(max(sent.first, e.end))})
	}
	sent.known = false
}

// writeEffect writes an effect and its changes from the tick since on. The tick since is
// included: the client computes which bodies wake when the effect moves from since to the
// next tick.
func (s *simulation) writeEffect(w *workspace, out *outbox, e *loggedEffect, since uint32) {
	l := &w.replicator.clean.effects
	form := l.formAt(e, since)
	number := s.writeProgram(w, out, e.program)
	slot := int(e.id.Index())
	if n := slot + 1 - len(s.effects); n > 0 {
		s.effects = append(s.effects, make([]sentEffect, n)...)
	}
	sent := &s.effects[slot]
	first := max(e.first, form.since, since)
	if sent.id == e.id {
		first = max(first, sent.first) // the client forgot the effect
	}
	if first > e.first {
		s.from = max(s.from, first)
	}
	added := wire.EffectAdded{
		Effect: e.id, Program: number, Mode: e.mode, Layers: e.layers, Back: w.ticksBack(first), Age: first - e.born,
		Path: wirePath(&form.path), Params: form.params,
	}
	if e.last != 0 {
		added.Life = e.last - first + 1
	}
	w.extension = added.Append(w.extension[:0])
	out.writeExtension(w)
	*sent = sentEffect{id: e.id, last: e.last, first: first, known: true}
	changes := l.changesSince(since)
	for i := range changes {
		if c := &changes[i]; c.id == e.id {
			s.writeChange(w, out, c)
		}
	}
}

// writeProgram writes a program unless the client has it, and returns its number.
func (s *simulation) writeProgram(w *workspace, out *outbox, index uint16) uint8 {
	if s.programs[index] == 0 && s.sent < wire.MaxPrograms-1 {
		s.sent++
		s.programs[index] = uint8(s.sent)
		w.extension = wire.Program{Number: uint8(s.sent - 1), Code: w.replicator.clean.effects.programs[index].code}.Append(w.extension[:0])
		out.writeExtension(w)
	}
	return s.programs[index] - 1
}

// forgetEffect tells the client to forget an effect: it receives no further records about
// it.
func (s *simulation) forgetEffect(w *workspace, out *outbox, id bulk.Handle) {
	sent := &s.effects[id.Index()]
	sent.first, sent.known, sent.left = max(sent.first, w.frame.tick), false, true
	s.writeEnd(w, out, wire.EffectEnded{Effect: id, Back: w.ticksBack(sent.first), Left: true})
}

// forgetAll tells the client to forget every effect that it knows as acting.
func (s *simulation) forgetAll(w *workspace, out *outbox) {
	for i := range s.effects {
		e := &s.effects[i]
		if e.known && (e.last == 0 || e.last >= w.frame.tick) {
			s.forgetEffect(w, out, e.id)
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
	i := int(kind) - len(w.frame.schema.Kinds())
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

// enterExact returns the row and the form of the exact state for the Enter of a slot. The
// state is the spawned state if it is on the grid and the client can compute the body from
// there, and the present state otherwise. It leaves the state in parts.
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
	// One snapshot in auditEvery has an audit, so each body is audited once in
	// auditEvery*wire.AuditTurns snapshots: every 6.4 s at 20 a second. Audits in all
	// snapshots would take 60 bytes a second more, and four times the CPU time on both
	// sides.
	auditEvery = 4
)

// isAudited reports whether snapshot seq has an audit. Within auditEvery*wire.AuditTurns
// snapshots, each turn has one.
func isAudited(seq uint32) bool { return (seq+seq/wire.AuditTurns)%auditEvery == 0 }

// finishHeader adds the fields for clients that simulate to a State header. continued tells
// whether the datagram before has the same tick, complete whether this one completes the
// snapshot.
func (s *simulation) finishHeader(w *workspace, h *wire.StateHeader, m *members, continued, complete bool) {
	h.Continued, h.Complete = continued, complete
	if complete && isAudited(h.Seq) {
		r := w.replicator
		h.Audit, h.Audited = r.clean.auditMembers(r.world, m, h.Seq)
	}
}

// auditMembers returns the audit of snapshot seq over exact members (P4). covers is false if
// the audit covers no member.
func (c *clean) auditMembers(w *world.World, m *members, seq uint32) (sum uint32, covers bool) {
	const turns = uint64(1)<<0 | uint64(1)<<wire.AuditTurns
	mine := turns << (seq % wire.AuditTurns)
	for i := range m.words {
		word := &m.words[i]
		for rest := word.mask & mine; rest != 0; rest &= rest - 1 {
			slot := word.number<<6 | uint32(bits.TrailingZeros64(rest))
			h := m.handles[m.indexes[word.rowAt(slot)]]
			if s := c.slotOf(slot, h); s != nil && s.exact {
				state, _ := w.Slots().Exact(slot)
				body := bodyState(&state)
				sum, covers = wire.Audit(sum, h, &body), true
			}
		}
	}
	return sum, covers
}

// Simulates reports whether the viewer's client computes clean bodies.
func (s *simulation) Simulates() bool { return s != nil }
