package client

import (
	"math"
	"slices"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/internal/rowcodec"
	"github.com/worldd/worldd/replication/schema"
	"github.com/worldd/worldd/replication/wire"
)

// hello returns a Hello that joins, or resumes the previous session. A resuming Hello
// has epoch 0, which joins any world, so that a new session, if that is all there is,
// takes no second handshake. The schema is 0, which asks for its text, until a server has
// sent one. A session whose computed bodies kept differing is not resumed.
func (s *Session) hello() wire.Hello {
	c := s.config
	s.named = 0
	if s.layout != nil && !s.outdated {
		s.named = s.layout.hash
	}
	h := wire.Hello{Protocol: wire.Version, Schema: s.named, Tables: c.Tables.Version(), Epoch: c.Epoch, Token: c.Token, Name: c.Name, Room: s.room}
	s.able, s.resumes = s.simulates(), false
	if s.able {
		h.Abilities = wire.Simulates
	}
	if w := s.welcome; w != nil {
		h.Epoch = 0
		if len(w.Secret) > 0 && !s.divergent() {
			h.Session, h.Secret, h.Structure = w.Session, w.Secret, s.replica.applied
			s.resumes = true
		}
	}
	return h
}

// Lost tells the session that its connection ended, and why. The replica stays as it
// is, and Resolve still answers; after wire.EpochMismatch the world is gone, and
// everything is Stale. Commands without an answer end in ErrUnanswered (C5). Nothing
// is sent before Reconnect.
func (s *Session) Lost(why error) {
	if s.prediction != nil && s.joined { // an attempt that fails has sent no inputs
		s.prediction.Pause()
	}
	s.joined = false
	s.endCommands()
	if wire.CodeOf(why) == wire.EpochMismatch {
		s.forget()
	}
}

// endCommands ends the commands without an answer.
func (s *Session) endCommands() {
	lost := s.unanswered
	s.unanswered = nil
	for _, f := range lost {
		s.stats.Unanswered++
		s.finish(f, Result{ID: f.result.ID, Target: f.result.Target, Err: ErrUnanswered})
	}
}

// forgetServer makes the next Hello begin a new session and ask for the schema: another
// server does not know this session, must not learn its secret, and may have a schema of its
// own. A refusal would cost the token.
func (s *Session) forgetServer() {
	s.outdated, s.room = true, s.config.Room
	if s.welcome != nil {
		w := *s.welcome
		w.Secret = nil
		s.welcome = &w
	}
}

// Reconnect starts over on another connection, after Lost: TakeStream returns a new
// Hello. Welcome.Resumed says whether the session resumes or a new one begins. In a new
// session of the same run, Stale handles stay Stale, and all others are Pending until
// it shows them. If the Welcome has another epoch, all entities are destroyed first, as
// after wire.EpochMismatch.
func (s *Session) Reconnect() {
	s.frames = wire.FrameReader{}
	s.out, s.err, s.goodbye = nil, nil, false
	s.send(wire.TypeHello, s.hello().Append(nil))
}

// join handles a checked Welcome: the session resumes, or a new one begins. l is the layout
// of its schema.
func (s *Session) join(m *wire.Welcome, l *layout) error {
	if m.Resumed == 1 {
		switch was := s.welcome; {
		case was == nil || len(was.Secret) == 0 || was.Session != m.Session || was.Epoch != m.Epoch:
			return protocolError("session %d resumes, which was not requested", m.Session)
		case was.GenerationFloor != m.GenerationFloor || was.GenerationCeiling != m.GenerationCeiling || was.MaxSlots != m.MaxSlots || was.Schema != m.Schema || was.Simulate != m.Simulate:
			return protocolError("session %d resumes in another world", m.Session)
		}
	}
	moved := m.Resumed == 0 && s.startsInRoom(m)
	if at := s.structureOf(m); m.Structure != at && !moved {
		return protocolError("a Welcome after structure record %d, want %d", m.Structure, at)
	}
	s.entered, s.room = moved, m.Room
	if was := s.welcome; was != nil && was.Epoch != m.Epoch {
		s.forget()
	}
	s.layout, s.outdated = l, false
	m.SchemaText = "" // the layout has it
	s.commands = m.Commands
	if m.Resumed == 1 {
		s.wishes.resumed(m.Commands, m.Tick)
		s.inputs.reconnected()
		s.renderer.resumed = true
	} else {
		s.wishes.renew()
	}
	if m.Resumed == 0 {
		sameRun, before := s.welcome != nil && s.welcome.Epoch == m.Epoch, s.replica
		if before != nil {
			before.deliverRendered(math.MaxUint32)
			before.leaveAll()
		}
		if err := s.renewFor(m, l); err != nil {
			return err
		}
		if sameRun {
			s.replica.inheritStale(before)
		}
		s.replica.applied, s.replica.fence = m.Structure, m.Structure
	}
	s.welcomed(m)
	return nil
}

// enterRoom continues the session in another room. keep is called for its new replica.
func (s *Session) enterRoom(m *wire.Welcome, l *layout, keep func(*Replica)) error {
	s.forget()
	s.entered, s.room, s.layout, s.outdated, s.commands = true, m.Room, l, false, m.Commands
	m.SchemaText = "" // the layout has it
	if err := s.renewFor(m, l); err != nil {
		return err
	}
	s.replica.applied, s.replica.fence = m.Structure, m.Structure
	keep(s.replica)
	s.welcomed(m)
	return nil
}

// renewFor makes the empty replica of a Welcome that resumes nothing.
func (s *Session) renewFor(m *wire.Welcome, l *layout) error {
	s.renew(l, m)
	if m.Simulate == 1 {
		return s.replica.simulate(int(m.TickHz))
	}
	return nil
}

func (s *Session) welcomed(m *wire.Welcome) {
	s.welcome, s.joined = m, true
	if s.onWelcome != nil {
		s.onWelcome()
	}
}

// structureOf returns the structure number that a Welcome must have in the same room.
func (s *Session) structureOf(m *wire.Welcome) uint32 {
	if m.Resumed == 1 {
		return s.replica.applied
	}
	return 0
}

// forget drops everything known of a world that is gone. Every handle is Stale, as in
// a world without slots.
func (s *Session) forget() {
	if s.replica != nil {
		s.replica.deliverRendered(math.MaxUint32)
		s.replica.destroyAll()
	}
	s.wishes.forget()
	l := s.layout
	if l == nil {
		l = newLayout(rowcodec.New(schema.New(), s.config.Tables), nil)
	}
	s.renew(l, &wire.Welcome{})
	s.welcome, s.config.Epoch = nil, 0
}

// renew makes an empty replica for the world of m, which keeps the counters, and an unset clock.
func (s *Session) renew(l *layout, m *wire.Welcome) {
	next := newReplica(l, m.GenerationFloor, m.GenerationCeiling, m.MaxSlots, s.config.limits(), s.config.Observer)
	if m.SnapshotHz > 0 {
		next.interval = uint32(m.TickHz / m.SnapshotHz)
	}
	next.events, next.wishes, next.budget = s.config.Events, &s.wishes, &s.budget
	if s.replica != nil {
		next.stats = s.replica.Stats()
		next.stats.Motion.Clean = 0
	}
	s.replica, s.controlled = next, 0
	s.clock, s.renderer, s.inputs = clock{hz: int(m.TickHz)}, renderer{}, inputs{}
	if s.prediction != nil {
		s.prediction.Renew(s.clock.hz)
	}
}

// leaveAll takes all entities out of view, at the start of a new session.
func (r *Replica) leaveAll() {
	for _, e := range slices.Clone(r.entities) {
		c := r.cells.at(e.handle.Index())
		r.drop(c)
		c.state = wire.Hidden
		r.stats.Leaves++
		if f := r.observer.Leave; f != nil {
			f(e.handle, wire.LeftInterest)
		}
	}
}

// inheritStale copies the Stale handles of an earlier session of the same run. Live and
// hidden entities may have died since, so they are Pending again; earlier tenants of
// their slots stay Stale (C3).
func (r *Replica) inheritStale(before *Replica) {
	for slot, c := range before.cells.known() {
		g := c.generation
		if c.state != wire.Stale {
			g = max(g, 2) - 2 // the previous tenant: generations of tenants are odd
		}
		if g > 0 {
			*r.cells.at(slot) = cell{generation: g, state: wire.Stale}
		}
	}
}

// destroyAll destroys every entity that may live.
func (r *Replica) destroyAll() {
	for slot, c := range r.cells.known() {
		if c.state == wire.Live || c.state == wire.Hidden {
			r.destroy(c, bulk.NewHandle(slot, c.generation), 0)
		}
	}
}
