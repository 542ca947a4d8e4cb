package server

import (
	"fmt"

	"github.com/worldd/worldd/replication/wire"
)

// greet answers a Hello: Welcome, or Refused with the reason.
func (s *Session) greet(h wire.Hello) {
	c := s.core
	if refusal := c.mismatch(h); refusal != nil {
		s.fail(refusal)
		return
	}
	if refusal := c.admits(); refusal != nil {
		s.fail(refusal)
		return
	}
	s.name = h.Name
	if join := c.config.Game.Join; join != nil {
		entity, err := join(s)
		if err != nil {
			s.fail(&wire.Error{Code: wire.ServerFull, Detail: err.Error()})
			return
		}
		s.entity = entity
	}
	s.viewer = c.replicator.AddViewer(s.entity)
	s.state = stateActive
	s.silence = 0
	c.stats.Joined++
	s.sendMessage(wire.TypeWelcome, c.welcome(s).Append(nil))
	if s.entity != 0 {
		s.viewer.Teach(s.entity)
		s.sendMessage(wire.TypeControl, wire.Control{Entity: s.entity}.Append(nil))
	}
}

// mismatch says what about the Hello does not fit this server.
func (c *Core) mismatch(h wire.Hello) *wire.Error {
	switch {
	case h.Protocol != wire.Version:
		return &wire.Error{Code: wire.ProtocolVersion, Detail: fmt.Sprintf("client speaks version %d, server %d", h.Protocol, wire.Version)}
	case h.Schema != c.config.Schema.Hash():
		return &wire.Error{Code: wire.SchemaMismatch, Detail: fmt.Sprintf("client has schema %016x, server %016x", h.Schema, c.config.Schema.Hash())}
	case h.Epoch != 0 && h.Epoch != c.config.Epoch:
		return &wire.Error{Code: wire.EpochMismatch, Detail: fmt.Sprintf("client expects epoch %016x, this is %016x", h.Epoch, c.config.Epoch)}
	}
	return nil
}

func (c *Core) welcome(s *Session) wire.Welcome {
	return wire.Welcome{
		Protocol: wire.Version, Schema: c.config.Schema.Hash(), Epoch: c.config.Epoch,
		GenerationFloor: max(c.config.GenerationFloor, 1),
		TickHz:          uint16(c.world.TickHz()), SnapshotHz: uint16(c.replicator.Config().SnapshotHz),
		MaxSlots: uint32(c.world.Config().MaxEntities), Session: s.id, Tick: uint32(c.world.Tick()),
	}
}
