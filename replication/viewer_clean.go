package replication

import (
	"math/bits"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/replication/schema"
	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/world"
)

// simulation is the state of a viewer whose client simulates.
type simulation struct {
	effects  []toldEffect // by slot of the world's effects
	programs [wire.MaxPrograms]uint8
	kinds    []bool // added kinds that the client knows, from the first that the schema lacks on
	sent     int    // programs that the client has: programs[i] is one more than the number of the i-th
	tick     uint32 // of the newest snapshot; 0: none
	since    uint32 // of the one before, or of the newest if effects were told again
	from     uint32 // first tick from which on the client knows every effect in reach
	restart  bool   // effects are told again, and all members enter again
	missing  bool   // members wait to enter again
}

// toldEffect is the newest effect on a slot that the client received.
type toldEffect struct {
	id    bulk.Handle
	last  uint32 // last tick of its life, or 0
	first uint32 // first tick of the newest record
	known bool   // it has not ended or left
}

const (
	// tellMargin and leaveMargin grow the leave radius, in metres: effects that come within
	// the first are told, and those beyond the second left. The first covers what a body and
	// an effect may go between two snapshots.
	tellMargin  = 8
	leaveMargin = 24
)

// Simulate makes the viewer's client compute clean bodies. It is called before the first
// snapshot. It returns false, and changes nothing, if there are none: no kind of the world is
// exact, or the schema lacks the component schema.BodyComponent, the kinds or the motion.
func (v *Viewer) Simulate() bool {
	r := v.replicator
	if r.clean == nil || v.simulation != nil {
		return v.simulation != nil
	}
	r.clean.addKinds(r.world, r.frame.schema)
	if !r.clean.anyExact() {
		return false
	}
	if r.clean.viewers == 0 {
		r.beginClean()
	}
	r.clean.viewers++
	v.simulation = &simulation{restart: true}
	return true
}

// Simulates reports whether the viewer's client computes clean bodies.
func (v *Viewer) Simulates() bool { return v.simulation != nil }

// tellEffects writes records of what became of the effects since the last snapshot.
func (v *Viewer) tellEffects() {
	s, l, tick := v.simulation, &v.replicator.clean.effects, v.replicator.frame.tick
	since := s.tick
	if s.restart {
		v.leaveEffects()
		since, s.restart, s.from = tick, false, tick
	}
	radius := v.replicator.config.LeaveRadius
	everywhere := !v.onlyPositionsMatter() || v.owned.slots.size > 0
	v.endEffects(since)
	for i := range l.past {
		if e := &l.past[i]; !s.told(e.id) && e.end > since+1 && e.first < e.end &&
			(everywhere || e.within(l.stepper, v.center, radius+tellMargin, since, tick)) {
			v.tellPast(e, since)
		}
	}
	for i := range l.live {
		e := &l.live[i]
		if !e.told {
			continue
		}
		known := s.knows(e.id)
		switch {
		case !known && (everywhere || e.within(l.stepper, v.center, radius+tellMargin, since, tick)):
			v.tellEffect(e, since)
		case known && !everywhere && !e.within(l.stepper, v.center, radius+leaveMargin, since, tick):
			v.leaveEffect(e.id)
		}
	}
	s.tick, s.since = tick, since
}

func (s *simulation) knows(id bulk.Handle) bool {
	return int(id.Index()) < len(s.effects) && s.effects[id.Index()].id == id && s.effects[id.Index()].known
}

// told reports whether id is the newest effect on its slot that the client received.
func (s *simulation) told(id bulk.Handle) bool {
	return int(id.Index()) < len(s.effects) && s.effects[id.Index()].id == id
}

// back returns the ticks of a record from the tick first on.
func (v *Viewer) back(first uint32) uint8 {
	return uint8(min(v.replicator.frame.tick+1-first, wire.MaxBack+1))
}

// endEffects writes what became of the effects that the client knows: changes, and ends
// before their time.
func (v *Viewer) endEffects(since uint32) {
	s, l := v.simulation, &v.replicator.clean.effects
	for i := range l.changes {
		if c := &l.changes[i]; c.seen > since && s.knows(c.id) {
			v.changeEffect(c)
		}
	}
	for i := range l.past {
		e := &l.past[i]
		if !s.knows(e.id) {
			continue
		}
		if told := &s.effects[e.id.Index()]; e.last == 0 || e.end != e.last+1 {
			told.first = max(told.first, e.end)
			v.work.extension = wire.EffectEnded{Effect: e.id, Back: v.back(told.first)}.Append(v.work.extension[:0])
			v.extend()
		}
		s.effects[e.id.Index()].known = false
	}
}

// changeEffect writes a change of an effect that the client knows.
func (v *Viewer) changeEffect(c *effectChange) {
	told := &v.simulation.effects[c.id.Index()]
	told.first = max(told.first, c.after.since)
	change := wire.EffectChanged{Effect: c.id, Back: v.back(told.first), HasPath: c.path, HasParams: c.params, Path: wirePath(&c.after.path), Params: c.after.params}
	v.work.extension = change.Append(v.work.extension[:0])
	v.extend()
}

// tellPast tells of an effect that the client did not know and that has ended.
func (v *Viewer) tellPast(e *loggedEffect, since uint32) {
	v.tellEffect(e, since)
	first := v.simulation.effects[e.id.Index()].first
	if e.last == 0 || e.end != e.last+1 {
		v.work.extension = wire.EffectEnded{Effect: e.id, Back: v.back(max(first, e.end))}.Append(v.work.extension[:0])
		v.extend()
	}
	v.simulation.effects[e.id.Index()].known = false
}

// tellEffect tells the client of an effect from the tick since on, with its changes. From
// since: the client computes how the effect moves from there to the next tick, and what that
// wakes.
func (v *Viewer) tellEffect(e *loggedEffect, since uint32) {
	s, l := v.simulation, &v.replicator.clean.effects
	form := l.formAt(e, since)
	number := v.tellProgram(e.program)
	slot := int(e.id.Index())
	if n := slot + 1 - len(s.effects); n > 0 {
		s.effects = append(s.effects, make([]toldEffect, n)...)
	}
	told := &s.effects[slot]
	first := max(e.first, form.since, since)
	if told.id == e.id {
		first = max(first, told.first) // it left
	}
	if first > e.first {
		s.from = max(s.from, first)
	}
	added := wire.EffectAdded{
		Effect: e.id, Program: number, Mode: e.mode, Layers: e.layers, Back: v.back(first), Age: first - e.born,
		Path: wirePath(&form.path), Params: form.params,
	}
	if e.last != 0 {
		added.Life = e.last - first + 1
	}
	v.work.extension = added.Append(v.work.extension[:0])
	v.extend()
	*told = toldEffect{id: e.id, last: e.last, first: first, known: true}
	for i := range l.changes {
		if c := &l.changes[i]; c.id == e.id && c.seen > since {
			v.changeEffect(c)
		}
	}
}

// tellProgram sends a program unless the client has it, and returns its number.
func (v *Viewer) tellProgram(index uint16) uint8 {
	s := v.simulation
	if s.programs[index] == 0 && s.sent < wire.MaxPrograms-1 {
		s.sent++
		s.programs[index] = uint8(s.sent)
		v.work.extension = wire.Program{Number: uint8(s.sent - 1), Code: v.replicator.clean.effects.programs[index].code}.Append(v.work.extension[:0])
		v.extend()
	}
	return s.programs[index] - 1
}

// leaveEffect writes that the client receives no more about an effect.
func (v *Viewer) leaveEffect(id bulk.Handle) {
	told := &v.simulation.effects[id.Index()]
	told.first, told.known = max(told.first, v.replicator.frame.tick), false
	v.work.extension = wire.EffectEnded{Effect: id, Back: v.back(told.first), Left: true}.Append(v.work.extension[:0])
	v.extend()
}

// leaveEffects leaves all effects that still act as far as the client knows.
func (v *Viewer) leaveEffects() {
	for i := range v.simulation.effects {
		e := &v.simulation.effects[i]
		if e.known && (e.last == 0 || e.last >= v.replicator.frame.tick) {
			v.leaveEffect(e.id)
		}
		e.known = false
	}
}

// extend writes the extension in the workspace.
func (v *Viewer) extend() {
	if v.structure.full() {
		v.structure.close(v.replicator.frame.tick)
	}
	x := v.work.extension
	n := v.structure.append(wire.Record{Op: wire.OpExtension, Number: uint32(x[0] >> 3), Data: x[1:]})
	v.work.stats.EffectBytes += uint64(n)
}

// collectOwed is collectWaiting for a viewer that simulates: of an exact body, a row is
// owed if and only if the exact state that its client has acknowledged is older than the
// body's last disturbance (P2). Until then each snapshot has it: a complete one may lack none.
func (v *Viewer) collectOwed() bool {
	r, w, m := v.replicator, v.work, &v.members
	present, resend := r.frame.summaries, resendAfter*r.interval
	h := horizon{r.frame.tick, (wire.MaxStates - 1) * r.interval}
	w.waiting, w.waitingRows = w.waiting[:0], w.waitingRows[:0]
	m.anyActive = false
	for i := range m.words {
		word := &m.words[i]
		for rest := word.active; rest != 0; rest &= rest - 1 {
			slot := word.number<<6 | uint32(bits.TrailingZeros64(rest))
			rowIndex := m.indexes[word.rowAt(slot)]
			row, p, owned := &v.members.rows[rowIndex], &present[slot], codingKey(0)
			if p.hasOwnerRow && v.Owns(v.members.handles[rowIndex]) {
				p, owned = &r.frame.tenants[slot].ownerRow.summary, ownedKey
			}
			var version uint32
			must := false
			if s := r.clean.at(slot, v.members.handles[rowIndex]); s != nil {
				version, must = s.owed(p, owned != 0), s.must(row.ackedTick)
			} else {
				version = p.version
			}
			switch {
			case p.maskSince > row.enterTick:
				w.requests = append(w.requests, enterRequest{v.members.handles[rowIndex], row.enterTick, rowIndex})
			case version <= row.ackedTick:
				word.active &^= rest & -rest // dormant
				v.members.resetPriority(row, rowIndex)
			case !must && row.flags&inFlight != 0 && row.sentTick >= version && h.tick-row.sentTick <= resend:
			default:
				r.frame.refresh(r.world, slot)
				w.waiting = append(w.waiting, h.keyFor(slot, row, p)|owned)
				w.waitingRows = append(w.waitingRows, rowIndex)
			}
		}
		m.anyActive = m.anyActive || word.active != 0
	}
	return len(w.waiting) > 0
}

// addKind sends the motion constants of an entering entity's kind, if the schema lacks the kind
// and the client has not received it yet.
func (v *Viewer) addKind(kind world.KindID) {
	s, c := v.simulation, v.replicator.clean
	if int(kind) >= len(c.kinds) || !c.kinds[kind].added || !c.kinds[kind].exact {
		return
	}
	i := int(kind) - v.replicator.frame.schema.Kinds()
	if n := i + 1 - len(s.kinds); n > 0 {
		s.kinds = append(s.kinds, make([]bool, n)...)
	}
	if s.kinds[i] {
		return
	}
	s.kinds[i] = true
	k := &c.kinds[kind]
	v.work.extension = wire.KindAdded{
		Kind: uint32(kind), InvMass: k.InvMass, Coupling: k.Coupling, Radius: k.Radius,
		Friction: k.Friction, Restitution: k.Restitution, Layers: uint32(k.Layers),
	}.Append(v.work.extension[:0])
	v.extend()
}

// noteMissing records whether the client lacks the current Enter of an entity that it has:
// such an entity waits to be entered again, and the snapshot is not complete.
func (v *Viewer) noteMissing(newcomers int) {
	v.simulation.missing = false
	for _, w := range v.work.requests[newcomers:] {
		if v.members.rows[w.row].enterTick != v.replicator.frame.tick {
			v.simulation.missing = true
		}
	}
}

// enterExact returns how an Enter gives the exact state of a slot, and the row that it has:
// as it was spawned, if that is on the grid and the client computes it from there, or as it
// is now. It leaves the state in the workspace.
func (v *Viewer) enterExact(slot uint32, row schema.Row) (schema.Row, wire.Exact) {
	r, parts := v.replicator, &v.work.parts
	form, ok := parts.read(slot)
	if !ok {
		return row, wire.Exact{}
	}
	state, tick, ok := r.world.Slots().SpawnState(slot)
	if !ok || tick < r.config.TickBase || form == wire.OnGrid || form == wire.OnGridAsleep {
		return row, wire.Exact{Form: form}
	}
	s, at := v.simulation, uint32(tick-r.config.TickBase)
	if at == 0 || r.clean.slots[slot].moved > at || at < s.from || at < s.since || at >= r.frame.tick || r.frame.tick-at > wire.MaxBack {
		return row, wire.Exact{Form: form}
	}
	spawned := parts.spawnedRow(row, &state)
	if parts.readRow(spawned.Values, &state) != wire.OnGrid {
		form, _ = parts.read(slot)
		return row, wire.Exact{Form: form}
	}
	return spawned, wire.Exact{Form: wire.OnGrid, Back: uint8(r.frame.tick - at)}
}

// complete reports whether nothing that the client is owed is left out of the snapshot
// whose rows are these, or were selected.
func (v *Viewer) complete(selected *selection) bool {
	if v.simulation.missing {
		return false
	}
	if selected == nil {
		return true
	}
	w := v.work
	for i, rowIndex := range w.waitingRows {
		if selected.selected.has(uint32(i)) || selected.sent.has(uint32(i)) {
			continue
		}
		if v.mustComplete(w.waiting[i], rowIndex) {
			return false
		}
	}
	return true
}

// mustComplete reports whether a complete snapshot has this waiting row.
func (v *Viewer) mustComplete(k codingKey, rowIndex uint32) bool {
	if v.simulation == nil {
		return false
	}
	s := v.replicator.clean.at(k.slot(), v.members.handles[rowIndex])
	return s != nil && s.must(v.members.rows[rowIndex].ackedTick)
}

// auditOf returns the audit of snapshot seq (P4), and false if it would cover no entity.
func (v *Viewer) auditOf(seq uint32) (sum uint32, covers bool) {
	r := v.replicator
	const turns = uint64(1)<<0 | uint64(1)<<wire.AuditTurns
	mine := turns << (seq % wire.AuditTurns)
	for i := range v.members.words {
		word := &v.members.words[i]
		for rest := word.mask & mine; rest != 0; rest &= rest - 1 {
			slot := word.number<<6 | uint32(bits.TrailingZeros64(rest))
			h := v.members.handles[v.members.indexes[word.rowAt(slot)]]
			if s := r.clean.at(slot, h); s != nil && s.exact {
				state, _ := r.world.Slots().Exact(slot)
				body := bodyState(&state)
				sum, covers = wire.Audit(sum, h, &body), true
			}
		}
	}
	return sum, covers
}

// beginSimulated prepares for a snapshot: what the client lacks if its effects are unknown
// or too old for the log.
func (v *Viewer) beginSimulated() {
	s := v.simulation
	w := v.work
	w.parts.begin(v.replicator, w.capture)
	w.encoder.parts, w.encoder.cache = &w.parts, &w.rowCache
	if w.cleanPayloads[0].keys == nil {
		w.cleanPayloads.reserve()
	}
	if v.resync || s.tick != 0 && v.replicator.frame.tick-s.tick > wire.MaxBack {
		s.restart, v.resync = true, true
	}
}

const (
	// auditBytes is the size of an audit in a State header.
	auditBytes = 4
	// auditEvery is how many snapshots have one audit: each body is audited once in
	// auditEvery*wire.AuditTurns snapshots, 6.4 s at 20 a second. An audit in each takes 60 more
	// bytes a second, and as much more time to fold states on both sides.
	auditEvery = 4
)

// audited reports whether snapshot seq has an audit. Within auditEvery*wire.AuditTurns
// snapshots, each turn has one.
func audited(seq uint32) bool { return (seq+seq/wire.AuditTurns)%auditEvery == 0 }

// headerBytes returns the maximum size of a State header without events.
func (v *Viewer) headerBytes() int {
	if v.simulation != nil {
		return wire.StateHeaderBytes + auditBytes
	}
	return wire.StateHeaderBytes
}

// finishHeader adds to a State header what clients that simulate need.
func (v *Viewer) finishHeader(h *wire.StateHeader, complete bool) {
	h.Complete = complete
	h.Continued = h.Seq > 1 && v.sent.at(1).tick == h.Tick
	if complete && audited(h.Seq) {
		h.Audit, h.Audited = v.auditOf(h.Seq)
	}
}
