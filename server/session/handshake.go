package session

import (
	"errors"
	"fmt"
	"slices"

	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/world"
)

// greet answers a Hello: Welcome, to a session of before or to a new one, or
// Refused with the reason.
func (p *Peer) greet(h wire.Hello) {
	c := p.core
	if refusal, want := c.mismatch(h); refusal != nil {
		p.refuse(refusal, want)
		return
	}
	if s := c.sought(h); s != nil && !c.Draining() {
		if s.peer != nil && p.id < s.peer.id {
			p.refuse(&wire.Error{Code: wire.Replaced}, "") // its client has given this connection up
			return
		}
		if s.resume(p, h) {
			return
		}
	}
	granted, refusal := c.admits(p)
	if refusal != nil {
		p.refuse(refusal, "")
		return
	}
	if p.closed { // somebody left to make room, and Leave has stopped the server, and so refused this connection
		return
	}
	s := newSession(p)
	s.name, s.user, s.ends = h.Name, granted.User, c.endTick(granted)
	s.viewer = c.replicator.AddViewer(0) // Join may say what it sees
	if join := c.config.Game.Join; join != nil {
		entity, err := s.callJoin(join)
		if err != nil {
			c.replicator.RemoveViewer(s.viewer)
			s.viewer = nil
			p.refuse(joinRefusal(err), "")
			return
		}
		s.entity = c.issued(entity)
	}
	if p.closed { // Join has stopped the server, and so refused this connection
		s.turnOut()
		return
	}
	s.joined = true
	s.viewer.SetFocus(s.entity)
	p.session = s
	// In its place at once: the next Hello of this tick may ask for another one.
	c.sessions = slices.Insert(c.sessions, c.place(s.id), s)
	c.stats.Joined++
	s.renew(nil)
	s.welcome(0)
}

// welcome begins the session's stream on a new connection.
func (s *Session) welcome(resumed uint8) {
	c := s.core
	s.sendMessage(wire.TypeWelcome, wire.Welcome{
		Protocol: wire.Version, Schema: c.config.Schema.Hash(), Tables: c.replicator.Codec().Tables().Version(), Epoch: c.config.Epoch,
		GenerationFloor: c.config.GenerationFloor,
		TickHz:          uint16(c.world.TickHz()), SnapshotHz: uint16(c.replicator.Config().SnapshotHz),
		MaxSlots: uint32(c.world.Config().MaxEntities), Session: s.id, Tick: c.replicator.Tick(),
		Resumed: resumed, Secret: s.secret,
	}.Append(nil))
	if s.entity != 0 || resumed == 1 { // who comes again may have missed that it is nothing now
		s.tellControl()
	}
}

// mismatch says what about the Hello does not fit this server, and what would.
func (c *Core) mismatch(h wire.Hello) (refusal *wire.Error, want string) {
	differ := func(code wire.Code, what string, digits int, client, server uint64) (*wire.Error, string) {
		return &wire.Error{Code: code, Detail: fmt.Sprintf("client has %s %0*x, server %0*x", what, digits, client, digits, server)}, fmt.Sprintf("%0*x", digits, server)
	}
	tables := uint64(c.replicator.Codec().Tables().Version())
	switch own := c.config.Schema.Hash(); {
	case h.Protocol != wire.Version:
		return differ(wire.ProtocolVersion, "version", 1, uint64(h.Protocol), wire.Version)
	case h.Schema != own: // an author can compare outlines, and no hashes
		const text = "server has components "
		return &wire.Error{Code: wire.SchemaMismatch, Detail: text + c.config.Schema.OutlineWithin(wire.MaxText-len(text))}, fmt.Sprintf("%016x", own)
	case uint64(h.Tables) != tables:
		return differ(wire.TablesMismatch, "tables", 8, uint64(h.Tables), tables)
	case h.Epoch != 0 && h.Epoch != c.config.Epoch:
		return differ(wire.EpochMismatch, "epoch", 16, h.Epoch, c.config.Epoch)
	}
	return nil, ""
}

// identify returns what the Hello's token grants, or why the token is refused.
func (p *Peer) identify() (Admission, *wire.Error) {
	p.inbox.mu.Lock()
	defer p.inbox.mu.Unlock()
	return p.inbox.granted, p.inbox.refusal
}

// joinRefusal is what a client receives for an error of Game.Join. A world that is full
// has room later; any other error without a code would be the same at the next attempt.
func joinRefusal(err error) *wire.Error {
	if errors.Is(err, world.ErrFull) {
		return refusalOf(err, wire.ServerFull)
	}
	return refusalOf(err, wire.JoinRefused)
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
