package client

import (
	"fmt"
	"math"
	"slices"

	"github.com/worldd/worldd/internal/rowcodec"
	"github.com/worldd/worldd/replication/schema"
	"github.com/worldd/worldd/replication/wire"
)

// welcomeKind is the effect of a Welcome on a session.
type welcomeKind uint8

const (
	sessionBegins  welcomeKind = iota
	sessionResumes             // over another connection
	sessionMoves               // to another room: with a further Welcome of a connection, or while the connection was broken
)

// receiveWelcome checks a Welcome in full before it applies it.
func (s *Session) receiveWelcome(body []byte) error {
	m, err := wire.Parse[wire.Welcome](body)
	switch {
	case err != nil:
		return err
	case m.MaxSlots > wire.MaxSlots:
		return protocolError("world of %d slots, at most %d", m.MaxSlots, wire.MaxSlots)
	case m.Simulate != 0 && s.greeting.sent.Abilities&wire.Simulates == 0:
		return protocolError("simulate %d, which the client did not ask for", m.Simulate)
	}
	read := s.readFirst
	if s.connection.isJoined() {
		read = s.readMove
	}
	l, err := read(&m)
	if err != nil {
		return err
	}
	kind, err := s.kindOf(&m)
	if err != nil {
		return err
	}
	return s.applyWelcome(&m, l, kind)
}

// readFirst checks that the first Welcome of a connection is from the server that the client expects. It
// returns the layout of the schema that m names, and that it brings if Hello asked for it.
func (s *Session) readFirst(m *wire.Welcome) (*layout, error) {
	tables, named := s.config.Tables.Version(), s.greeting.sent.Schema
	switch {
	case m.Protocol != wire.Version:
		return nil, &wire.Error{Code: wire.ProtocolVersion, Detail: fmt.Sprintf("server speaks version %d, client %d", m.Protocol, wire.Version)}
	case m.Tables != tables:
		return nil, &wire.Error{Code: wire.TablesMismatch, Detail: fmt.Sprintf("server has tables %08x, client %08x", m.Tables, tables)}
	case s.welcome == nil && s.config.Epoch != 0 && m.Epoch != s.config.Epoch:
		return nil, &wire.Error{Code: wire.EpochMismatch, Detail: fmt.Sprintf("server runs epoch %016x, client expects %016x", m.Epoch, s.config.Epoch)}
	case named == 0 && m.SchemaText == "":
		return nil, protocolError("no schema text, which Hello asked for")
	case named != 0 && m.SchemaText != "":
		return nil, protocolError("a schema text of %d bytes, which Hello did not ask for", len(m.SchemaText))
	case named != 0 && m.Schema != named:
		return nil, protocolError("schema %016x, Hello said %016x", m.Schema, named)
	case named != 0:
		return s.layout, nil
	}
	l, err := readLayout(m.SchemaText, m.Schema, s.config.Schema, s.config.Tables)
	if err == nil && s.layout != nil && s.layout.hash == l.hash {
		l = s.layout // keep the replica's layout if the session resumes
	}
	return l, err
}

// readMove checks a further Welcome of a connection: PROTOCOL.md, section 4.2. It returns the layout of
// the schema that m names, and that it brings if it is another one.
func (s *Session) readMove(m *wire.Welcome) (*layout, error) {
	was := s.welcome
	switch {
	case m.Protocol != wire.Version || m.Tables != was.Tables:
		return nil, protocolError("a move to protocol %d and tables %08x", m.Protocol, m.Tables)
	case m.Session != was.Session || m.Resumed != 0 || m.Commands != 0:
		return nil, protocolError("a move of session %d, resumed %d, after %d commands", m.Session, m.Resumed, m.Commands)
	case m.Epoch == was.Epoch:
		return nil, protocolError("a move within the world of epoch %016x", m.Epoch)
	case m.Structure != s.replica.applied+1:
		return nil, protocolError("a move with structure record %d, want %d", m.Structure, s.replica.applied+1)
	case (m.SchemaText == "") != (m.Schema == s.layout.hash):
		return nil, protocolError("a move to schema %016x from %016x, with a schema text of %d bytes", m.Schema, s.layout.hash, len(m.SchemaText))
	}
	s.budget.Spend(roomTime + schemaTime*len(m.SchemaText))
	if m.SchemaText == "" {
		return s.layout, nil
	}
	return readLayout(m.SchemaText, m.Schema, s.config.Schema, s.config.Tables)
}

// kindOf returns what m does to the session. The error says that m resumes what this connection's Hello
// did not ask for.
func (s *Session) kindOf(m *wire.Welcome) (welcomeKind, error) {
	if s.connection.isJoined() {
		return sessionMoves, nil
	}
	was, applied := s.welcome, uint32(0)
	if s.replica != nil {
		applied = s.replica.applied
	}
	if m.Resumed == 0 {
		switch {
		case was != nil && len(s.greeting.sent.Secret) > 0 && was.Session == m.Session && m.Structure > applied:
			return sessionMoves, nil // the connection broke before the Welcome of the move arrived
		case m.Structure != 0:
			return 0, protocolError("a Welcome after structure record %d, want 0", m.Structure)
		}
		return sessionBegins, nil
	}
	switch {
	case was == nil || len(was.Secret) == 0 || was.Session != m.Session || was.Epoch != m.Epoch:
		return 0, protocolError("session %d resumes, which was not requested", m.Session)
	case was.GenerationFloor != m.GenerationFloor || was.GenerationCeiling != m.GenerationCeiling || was.MaxSlots != m.MaxSlots || was.TickHz != m.TickHz || was.Schema != m.Schema || was.Simulate != m.Simulate:
		return 0, protocolError("session %d resumes in another world", m.Session)
	case m.Structure != applied:
		return 0, protocolError("a Welcome after structure record %d, want %d", m.Structure, applied)
	}
	return sessionResumes, nil
}

// applyWelcome handles a checked Welcome. l is the layout of its schema. Callbacks for the entities of
// the world or session before run first; the connection is not joined while they do, since the server
// would take what they send for the old room's. One that closes the client ends the function.
func (s *Session) applyWelcome(m *wire.Welcome, l *layout, kind welcomeKind) error {
	live := s.connection.isJoined()
	var overtook []heldDatagram // the Welcome
	if live {
		s.connection, overtook = moving, s.replica.heldSince(m.Structure)
	}
	if was := s.welcome; was != nil && was.Epoch != m.Epoch {
		s.forgetWorld()
	}
	s.adoptWelcome(m, l)
	if kind == sessionResumes {
		s.resumeSession(m)
	} else if err := s.beginSession(m, l); err != nil {
		return err
	}
	s.commands.endAll()       // of the room before; a lost connection has none
	if s.connection == lost { // a callback closed the client
		return nil
	}
	if live {
		s.sendMessage(wire.Arrived{})
		s.replica.held = overtook
	}
	s.welcome, s.connection = m, joined
	if s.hooks.welcomed != nil {
		s.hooks.welcomed(kind)
	}
	return s.replica.releaseHeld()
}

// heldSince returns the datagrams that wait for records from structure on.
func (r *Replica) heldSince(structure uint32) []heldDatagram {
	return slices.DeleteFunc(r.held, func(d heldDatagram) bool { return d.structure < structure })
}

// adoptWelcome takes over what a Welcome says of the schema, the room and the commands received.
func (s *Session) adoptWelcome(m *wire.Welcome, l *layout) {
	s.layout, s.commands.number = l, m.Commands
	s.greeting.schema, s.greeting.room = l.hash, m.Room
	m.SchemaText = "" // the layout has it
}

// resumeSession continues over another connection.
func (s *Session) resumeSession(m *wire.Welcome) {
	s.provisional.resumeSession(m.Commands, m.Tick)
	s.uplink.forgetSent()
	s.time.resumeAt(int(m.SnapshotHz))
	s.replica.timeline.interval = intervalOf(m)
}

// beginSession makes the empty replica of a session that begins or moves. Stale handles stay Stale in the
// same run.
func (s *Session) beginSession(m *wire.Welcome, l *layout) error {
	s.provisional.rejectAll()
	sameRun, before := s.welcome != nil && s.welcome.Epoch == m.Epoch, s.replica
	if before != nil {
		before.events.deliverRendered(math.MaxUint32)
		before.entities.leaveAll()
	}
	s.renewReplica(l, m)
	s.replica.applied, s.replica.fence = m.Structure, m.Structure
	if m.Simulate == 1 {
		if err := s.replica.simulateBodies(int(m.TickHz)); err != nil {
			return err
		}
	}
	if sameRun {
		s.replica.entities.inheritStale(&before.entities)
	}
	return nil
}

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

// intervalOf returns the ticks between two snapshots, 0 for an unknown world.
func intervalOf(m *wire.Welcome) uint32 { return uint32(m.TickHz / max(m.SnapshotHz, 1)) }
