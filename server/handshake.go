package server

import (
	"errors"
	"fmt"

	"github.com/worldd/worldd/internal/fault"
	"github.com/worldd/worldd/replication/wire"
)

// greet answers a Hello: Welcome, or Refused with the reason.
func (s *Session) greet(h wire.Hello) {
	c := s.core
	if refusal, want := c.mismatch(h); refusal != nil {
		s.refuse(refusal, want)
		return
	}
	if refusal := c.admits(); refusal != nil {
		s.fail(refusal)
		return
	}
	if refusal := s.identify(); refusal != nil {
		s.fail(refusal)
		return
	}
	s.name = h.Name
	s.viewer = c.replicator.AddViewer(0) // Join may say what it sees
	if join := c.config.Game.Join; join != nil {
		entity, err := join(s)
		if err != nil {
			c.replicator.RemoveViewer(s.viewer)
			s.viewer = nil
			s.fail(refusalOf(err, wire.ServerFull))
			return
		}
		s.entity = entity
	}
	s.viewer.Follow(s.entity)
	s.state = stateActive
	s.silence = 0
	c.stats.Joined++
	s.sendMessage(wire.TypeWelcome, c.welcome(s).Append(nil))
	if s.entity != 0 && s.state == stateActive { // it is over if the Welcome was not taken
		s.viewer.Teach(s.entity)
		s.sendMessage(wire.TypeControl, wire.Control{Entity: s.entity}.Append(nil))
	}
}

// mismatch says what about the Hello does not fit this server, and what would.
func (c *Core) mismatch(h wire.Hello) (refusal *wire.Error, want string) {
	differ := func(code wire.Code, what string, client, server uint64) (*wire.Error, string) {
		return &wire.Error{Code: code, Detail: fmt.Sprintf("client has %s %x, server %x", what, client, server)}, fmt.Sprintf("%x", server)
	}
	tables := uint64(c.replicator.Codec().Tables().Version())
	switch own := c.config.Schema.Hash(); {
	case h.Protocol != wire.Version:
		return differ(wire.ProtocolVersion, "version", uint64(h.Protocol), wire.Version)
	case h.Schema != own:
		return differ(wire.SchemaMismatch, "schema", h.Schema, own)
	case uint64(h.Tables) != tables:
		return differ(wire.TablesMismatch, "tables", uint64(h.Tables), tables)
	case h.Epoch != 0 && h.Epoch != c.config.Epoch && !fault.AnyEpoch:
		return differ(wire.EpochMismatch, "epoch", h.Epoch, c.config.Epoch)
	}
	return nil, ""
}

// identify takes over whose token it was, or says why it was not taken.
func (s *Session) identify() *wire.Error {
	s.inbox.mu.Lock()
	defer s.inbox.mu.Unlock()
	s.user = s.inbox.user
	return s.inbox.refusal
}

// refusalOf is what a client is told of a game's error: its own code, or else
// the given one with its text.
func refusalOf(err error, code wire.Code) *wire.Error {
	var e *wire.Error
	if errors.As(err, &e) && e.Code != wire.OK {
		return e
	}
	return &wire.Error{Code: code, Detail: err.Error()}
}

func (c *Core) welcome(s *Session) wire.Welcome {
	return wire.Welcome{
		Protocol: wire.Version, Schema: c.config.Schema.Hash(), Tables: c.replicator.Codec().Tables().Version(), Epoch: c.config.Epoch,
		GenerationFloor: c.config.GenerationFloor,
		TickHz:          uint16(c.world.TickHz()), SnapshotHz: uint16(c.replicator.Config().SnapshotHz),
		MaxSlots: uint32(c.world.Config().MaxEntities), Session: s.id, Tick: uint32(c.world.Tick()),
	}
}
