package client

import (
	"math"

	"github.com/worldd/worldd/internal/rowcodec"
	"github.com/worldd/worldd/replication/schema"
	"github.com/worldd/worldd/replication/wire"
)

// greeting is the content of a session's Hellos.
type greeting struct {
	sent   wire.Hello // on this connection
	schema uint64     // that the next Hello names; 0 asks for the text
	room   string     // that the next Hello names
}

// sendHello queues a Hello that joins, or resumes the previous session. A resuming Hello
// has epoch 0, which joins any world, so that a new session, if that is all there is,
// takes no second handshake. A session whose computed bodies kept differing is not resumed.
func (s *Session) sendHello() {
	c := s.config
	h := wire.Hello{Protocol: wire.Version, Schema: s.greeting.schema, Tables: c.Tables.Version(), Epoch: c.Epoch, Token: c.Token, Name: c.Name, Room: s.greeting.room}
	if c.Simulate && !s.resyncs.gaveUp() {
		h.Abilities = wire.Simulates
	}
	if w := s.welcome; w != nil {
		h.Epoch = 0
		if len(w.Secret) > 0 && !s.keepsDiverging() {
			h.Session, h.Secret, h.Structure = w.Session, w.Secret, s.replica.applied
		}
	}
	s.greeting.sent = h
	s.sendMessage(wire.TypeHello, h.Append(nil))
}

// layoutOf returns the layout of the schema that a Welcome names, and that it brings if
// this connection's Hello asked for it. newest is the layout of the Welcome before.
func (g *greeting) layoutOf(m *wire.Welcome, newest *layout, c *SessionConfig) (*layout, error) {
	switch asked := g.sent.Schema == 0; {
	case asked && m.SchemaText == "":
		return nil, protocolError("no schema text, which Hello asked for")
	case !asked && m.SchemaText != "":
		return nil, protocolError("a schema text of %d bytes, which Hello did not ask for", len(m.SchemaText))
	case !asked && m.Schema != g.sent.Schema:
		return nil, protocolError("schema %016x, Hello said %016x", m.Schema, g.sent.Schema)
	case !asked:
		return newest, nil
	}
	l, err := readLayout(m.SchemaText, m.Schema, c.Schema, c.Tables)
	if err == nil && newest != nil && newest.hash == l.hash {
		l = newest // keep the replica's layout if the session resumes
	}
	return l, err
}

// arrivalOf returns what the first Welcome of a connection begins. was is the Welcome before it, nil
// if there is none, and applied the number of structure records applied. A session continues in
// another room if the connection broke before the client received the Welcome of that room. The
// error says that m resumes what this connection's Hello did not ask for.
func (g *greeting) arrivalOf(m, was *wire.Welcome, applied uint32) (arrival, error) {
	if m.Resumed == 0 {
		switch {
		case was != nil && len(g.sent.Secret) > 0 && was.Session == m.Session && m.Structure > applied:
			return arrivedInRoom, nil
		case m.Structure != 0:
			return 0, protocolError("a Welcome after structure record %d, want 0", m.Structure)
		}
		return arrivedAnew, nil
	}
	switch {
	case was == nil || len(was.Secret) == 0 || was.Session != m.Session || was.Epoch != m.Epoch:
		return 0, protocolError("session %d resumes, which was not requested", m.Session)
	case was.GenerationFloor != m.GenerationFloor || was.GenerationCeiling != m.GenerationCeiling || was.MaxSlots != m.MaxSlots || was.TickHz != m.TickHz || was.Schema != m.Schema || was.Simulate != m.Simulate:
		return 0, protocolError("session %d resumes in another world", m.Session)
	case m.Structure != applied:
		return 0, protocolError("a Welcome after structure record %d, want %d", m.Structure, applied)
	}
	return arrivedAgain, nil
}

// noteRefused makes the next Hello ask for the schema if the server has refused the schema of this
// one.
func (g *greeting) noteRefused(code wire.Code) {
	if code == wire.SchemaMismatch && g.sent.Schema != 0 {
		g.schema = 0
	}
}

// asksAgain reports whether the next Hello asks for another schema or room than the one that the
// server refused: the server may have another schema since it sent its own, and the room where the
// session was may be gone.
func (g *greeting) asksAgain(why error, configured string) bool {
	switch wire.CodeOf(why) {
	case wire.SchemaMismatch:
		return g.sent.Schema != 0 && g.schema == 0
	case wire.NoRoom, wire.RoomClosed:
		return g.room != configured
	}
	return false
}

// noteLost makes the next Hello name the room of the config if why says that the room where the
// session was is gone or closed.
func (g *greeting) noteLost(why error, configured string) {
	if code := wire.CodeOf(why); code == wire.NoRoom || code == wire.RoomClosed {
		g.room = configured
	}
}

// Lost tells the session that its connection ended, and why. The replica stays as it
// is, and Resolve still answers; after wire.EpochMismatch the world is gone, and
// everything is Stale, and after wire.NoRoom and wire.RoomClosed the next Hello names
// the room of the config. Commands without an answer end in ErrUnanswered (C5). Nothing
// is sent before Reconnect.
func (s *Session) Lost(why error) {
	if s.prediction != nil && s.connection.isJoined() { // an attempt that fails has sent no inputs
		s.prediction.Pause()
	}
	s.connection = lost
	s.commands.endAll()
	s.greeting.noteLost(why, s.config.Room)
	if wire.CodeOf(why) == wire.EpochMismatch {
		s.forgetWorld()
	}
}

// forgetServer makes the next Hello begin a new session and ask for the schema: another
// server does not know this session, must not learn its secret, and may have a schema of its
// own. A refusal would cost the token.
func (s *Session) forgetServer() {
	s.greeting.schema, s.greeting.room = 0, s.config.Room
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
	s.out, s.err, s.connection = nil, nil, connecting
	s.sendHello()
}

// applyWelcome handles a checked Welcome: the session resumes, or a new one begins. l is the layout
// of its schema.
func (s *Session) applyWelcome(m *wire.Welcome, l *layout) error {
	applied := uint32(0)
	if s.replica != nil {
		applied = s.replica.applied
	}
	a, err := s.greeting.arrivalOf(m, s.welcome, applied)
	if err != nil {
		return err
	}
	if was := s.welcome; was != nil && was.Epoch != m.Epoch {
		s.forgetWorld()
	}
	s.adoptWelcome(m, l)
	if a == arrivedAgain {
		s.provisional.resumeSession(m.Commands, m.Tick)
		s.uplink.forgetSent()
		s.time.resumeAt(int(m.SnapshotHz))
		s.replica.timeline.interval = intervalOf(m)
	} else {
		s.provisional.rejectAll()
		if err := s.beginSession(m, l); err != nil {
			return err
		}
	}
	if s.connection == lost { // a callback closed the client
		return nil
	}
	s.finishWelcome(m, a)
	return nil
}

// adoptWelcome takes over what a Welcome says of the schema, the room and the commands received.
func (s *Session) adoptWelcome(m *wire.Welcome, l *layout) {
	s.layout, s.commands.number = l, m.Commands
	s.greeting.schema, s.greeting.room = l.hash, m.Room
	m.SchemaText = "" // the layout has it
}

// beginSession makes the replica of a new session, or of one in another room. Stale handles stay Stale in
// the same run.
func (s *Session) beginSession(m *wire.Welcome, l *layout) error {
	sameRun, before := s.welcome != nil && s.welcome.Epoch == m.Epoch, s.replica
	if before != nil {
		before.events.deliverRendered(math.MaxUint32)
		before.entities.leaveAll()
	}
	if err := s.renewForWelcome(m, l); err != nil {
		return err
	}
	if sameRun {
		s.replica.entities.inheritStale(&before.entities)
	}
	return nil
}

// renewForWelcome makes the empty replica of a Welcome that resumes nothing.
func (s *Session) renewForWelcome(m *wire.Welcome, l *layout) error {
	s.renewReplica(l, m)
	s.replica.applied, s.replica.fence = m.Structure, m.Structure
	if m.Simulate == 1 {
		return s.replica.simulateBodies(int(m.TickHz))
	}
	return nil
}

// finishWelcome makes an applied Welcome the newest one.
func (s *Session) finishWelcome(m *wire.Welcome, a arrival) {
	s.welcome, s.connection = m, joined
	if s.hooks.arrived != nil {
		s.hooks.arrived(a)
	}
}

// intervalOf returns the ticks between two snapshots, 0 for an unknown world.
func intervalOf(m *wire.Welcome) uint32 { return uint32(m.TickHz / max(m.SnapshotHz, 1)) }

// forgetWorld drops everything known of a world that is gone. Every handle is Stale, as in
// a world without slots.
func (s *Session) forgetWorld() {
	if s.replica != nil {
		s.replica.events.deliverRendered(math.MaxUint32)
		s.replica.entities.destroyAll()
	}
	s.provisional.forgetAll()
	l := s.layout
	if l == nil {
		l = newLayout(rowcodec.New(schema.New(), s.config.Tables), nil)
	}
	s.renewReplica(l, &wire.Welcome{})
	s.welcome, s.config.Epoch = nil, 0
}

// renewReplica makes an empty replica for the world of m, which keeps the counters, and an unset clock.
func (s *Session) renewReplica(l *layout, m *wire.Welcome) {
	o := replicaOptions{
		layout: l, issued: handleRange{m.GenerationFloor, m.GenerationCeiling, m.MaxSlots}, interval: intervalOf(m), limits: s.config.replicaLimits(),
		observer: s.config.Observer, events: s.config.Events, provisional: &s.provisional, budget: &s.budget,
	}
	if s.replica != nil {
		o.stats = s.replica.Stats()
		o.stats.Motion.Clean = 0
	}
	s.replica, s.controlled = newReplica(o), 0
	s.time.restartAt(int(m.TickHz), int(m.SnapshotHz))
	s.uplink.inputs = inputs{}
	if s.prediction != nil {
		s.prediction.Renew(s.time.clock.hz)
	}
}
