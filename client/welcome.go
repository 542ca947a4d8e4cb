package client

import (
	"math"

	"github.com/worldd/worldd/internal/rowcodec"
	"github.com/worldd/worldd/replication/schema"
	"github.com/worldd/worldd/replication/wire"
)

// receiveWelcome checks a Welcome in full, then applies it.
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
	applied := uint32(0)
	if s.replica != nil {
		applied = s.replica.applied
	}
	kind, l := sessionMoves, (*layout)(nil)
	if s.stream.isJoined() {
		s.budget.Spend(roomTime)
		if m.SchemaText != "" {
			s.budget.Spend(schemaTime * (len(m.SchemaText) + s.greeting.declaredBytes))
		}
		l, err = s.greeting.readMove(&m, s.welcome, applied, &s.config)
	} else if l, err = s.greeting.readFirst(&m, s.welcome, &s.config); err == nil {
		kind, err = s.greeting.kindOf(&m, s.welcome, applied)
	}
	if err != nil {
		return err
	}
	return s.applyWelcome(&m, l, kind)
}

// applyWelcome applies a checked Welcome, whose schema has layout l. Callbacks for the entities
// of the previous world or session run first. Meanwhile the connection is not joined, since the
// server would attribute what they send to the old room. If a callback closes the connection, the
// next one asks for the session that m has begun.
func (s *Session) applyWelcome(m *wire.Welcome, l *layout, kind welcomeKind) error {
	live := s.stream.isJoined()
	var overtook []heldDatagram // arrived before the Welcome
	if live {
		overtook = s.replica.heldSince(m.Structure)
	}
	s.stream.enterState(welcomed)
	if was := s.welcome; was != nil && was.Epoch != m.Epoch {
		s.forgetWorld()
	}
	change := s.ranges.enterWorld(m)
	s.greeting.adoptWelcome(m, l)
	s.commands.countFrom(m.Commands)
	m.SchemaText = "" // the layout has the text
	if kind == sessionResumes {
		s.resumeSession(m)
	} else if err := s.beginSession(m, l, overtook); err != nil {
		return err
	}
	s.commands.endAll() // of the previous room; a lost connection has none
	if s.stream.state != welcomed {
		return nil
	}
	if live {
		s.stream.sendMessage(wire.Arrived{})
	}
	s.stream.enterState(joined)
	if s.hooks.welcomed != nil {
		s.hooks.welcomed(kind, change)
	}
	return s.replica.releaseHeld()
}

// resumeSession continues the session over another connection.
func (s *Session) resumeSession(m *wire.Welcome) {
	s.provisionals.resumeSession(m.Commands, m.Tick)
	s.uplink.forgetSent()
	s.time.resumeAt(m)
	s.replica.resumeAt(intervalOf(m))
	s.welcome = m
}

// beginSession makes the empty replica of a session that begins or moves. Stale handles stay Stale in the
// same run. overtook holds the datagrams of a move that overtook m.
func (s *Session) beginSession(m *wire.Welcome, l *layout, overtook []heldDatagram) error {
	s.provisionals.rejectAll()
	sameRun, before := s.welcome != nil && s.welcome.Epoch == m.Epoch, s.replica
	if before != nil {
		before.events.deliverRendered(math.MaxUint32)
		before.entities.leaveAll()
	}
	if s.replica != before { // a callback has ended the world
		return nil
	}
	r := s.newReplica(l, m)
	r.continueFrom(m.Structure, overtook)
	if m.Simulate == 1 {
		if err := r.simulateBodies(int(m.TickHz)); err != nil {
			return err
		}
	}
	if sameRun {
		r.entities.inheritStale(&before.entities)
	}
	s.welcome = m
	s.showReplica(r, m)
	return nil
}

// forgetWorld drops the replica of a world that is gone. Every handle is Stale, as in a world
// without slots.
func (s *Session) forgetWorld() {
	if s.replica != nil {
		s.replica.endWorld()
	}
	s.provisionals.forgetAll()
	l := s.greeting.layout
	if l == nil {
		l = newLayout(rowcodec.New(schema.New(), s.config.Tables), nil, nil)
	}
	s.welcome, s.config.Epoch = nil, 0
	none := &wire.Welcome{}
	s.showReplica(s.newReplica(l, none), none)
}

// newReplica returns an empty replica for the world of m, which keeps the counters.
func (s *Session) newReplica(l *layout, m *wire.Welcome) *Replica {
	o := replicaOptions{
		layout: l, issued: handleRange{m.GenerationFloor, m.GenerationCeiling, m.MaxSlots}, interval: intervalOf(m), plain: s.config.PlainRows, limits: s.config.replicaLimits(),
		observer: s.config.Observer, events: s.config.Events, provisional: &s.provisionals, budget: &s.budget,
	}
	if s.replica != nil {
		o.stats = s.replica.Stats()
		o.stats.Motion.Clean = 0
	}
	return newReplica(o)
}

// showReplica makes r the session's replica, of the world of m, and forgets what was known of time.
func (s *Session) showReplica(r *Replica, m *wire.Welcome) {
	s.replica, s.controlled = r, 0
	s.time.restartAt(m)
	s.uplink.forgetInputs()
	s.prediction.renew(s.time.clock.hz)
}

// intervalOf returns the ticks between two snapshots, 0 for an unknown world.
func intervalOf(m *wire.Welcome) uint32 { return uint32(m.TickHz / max(m.SnapshotHz, 1)) }
