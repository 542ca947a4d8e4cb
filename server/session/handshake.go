package session

import (
	"errors"
	"fmt"

	"github.com/worldd/worldd/replication"
	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/world"
)

// handleHello answers a Hello with Welcome (to a resumed or a new session) or with Refused.
func (p *Peer) handleHello(h wire.Hello) {
	c := p.core
	if refusal, want := c.checkHello(h); refusal != nil {
		p.refuseHello(refusal, want)
		return
	}
	if s := c.findResumable(h); s != nil && !c.Draining() {
		if s.peer != nil && p.id < s.peer.id {
			p.refuseHello(&wire.Error{Code: wire.Replaced}, "") // the client has since opened a newer connection
			return
		}
		if s.resumeOver(p, h) {
			return
		}
	}
	if moved := c.redirections.find(&h); moved != nil {
		p.refuseHello(moved, "")
		return
	}
	if refusal := p.mayBegin(); refusal != nil {
		p.refuseHello(refusal, "")
		return
	}
	p.beginSession(h)
}

// beginSession answers a Hello with a new session. If the user has another one that has not ended yet, the Hello waits.
func (p *Peer) beginSession(h wire.Hello) {
	c := p.core
	granted, refusal := c.checkAdmission(p)
	if refusal != nil {
		p.refuseHello(refusal, "")
		return
	}
	if !c.config.Router.reserveUser(granted.User, c) {
		p.inbox.setHello(&h)
		c.hellosLeft++ // the tick has as many for others
		return
	}
	defer c.config.Router.releaseUser(granted.User)
	if refusal := c.roster.admitUser(granted.User, p.address, c.requests.placesFor(granted.User, p.place)); refusal != nil {
		p.refuseHello(refusal, "")
		return
	}
	if p.closed { // a Leave hook, called to make room, has drained the server
		return
	}
	s := newSession(c, identity{id: p.id, address: p.address, name: h.Name, user: granted.User, value: granted.Value, abilities: h.Abilities}, c.world.Tick(), endTickOf(c.world, granted.Lasts))
	s.peer = p
	if refusal := s.callGameJoin(replication.Numbers{}); refusal != nil {
		p.refuseHello(refusal, "")
		return
	}
	if p.closed { // Join has drained the server
		s.callGameLeave()
		return
	}
	s.registerSession()
	c.requests.countEntered(s.user, p.place)
	p.place = nil
	c.stats.Joined++
	s.rotateSecret()
	c.config.Router.endOthers(s)
	s.sendWelcome(h.Schema, 0, 0)
}

// callGameJoin makes the viewer and calls Hooks.Join. The viewer's numbers continue from
// numbers.
func (s *Session) callGameJoin(numbers replication.Numbers) *wire.Error {
	s.openViewer(numbers, s.abilities) // before Join, which may set filters and owners
	why := s.callJoin()
	if why != nil {
		s.closeViewer()
	}
	return why
}

// callJoin calls Hooks.Join, or returns the reason for refusing the session.
func (s *Session) callJoin() *wire.Error {
	join := s.core.config.Hooks.Join
	if join == nil {
		return nil
	}
	var entity world.Entity
	err := error(errHookPanicked) // unless join returns
	s.callHook(HookJoin, func(s *Session) { entity, err = join(s) })
	if err != nil {
		return joinRefusal(err)
	}
	s.setEntity(entity)
	return nil
}

// registerSession adds a session that Join has admitted. A later Hello in this tick may
// already resume it.
func (s *Session) registerSession() {
	s.viewer.SetFocus(s.entity)
	s.enterState(stateAway)
	if s.peer != nil {
		s.enterState(stateActive)
		s.peer.session = s
	}
	s.core.roster.addSession(s)
}

// sendWelcome sends Welcome and the controlled entity. known is the hash of a schema that the
// client has.
func (s *Session) sendWelcome(known uint64, resumed uint8, structure uint32) {
	c, text, simulate := s.core, "", uint8(0)
	if known != c.schemaHash {
		text = c.schemaText
	}
	if s.viewer.Simulates() {
		simulate = 1
	}
	s.sendMessage(wire.Welcome{
		Protocol: wire.Version, Schema: c.schemaHash, Tables: c.replicator.Config().Tables.Version(), Epoch: c.config.Epoch,
		GenerationFloor: c.world.Config().FirstGeneration, GenerationCeiling: c.world.Config().LastGeneration,
		TickHz: uint16(c.world.TickHz()), SnapshotHz: uint16(c.replicator.Config().SnapshotHz),
		MaxSlots: uint32(c.world.Config().MaxEntities), Session: s.id, Tick: c.replicator.Tick(),
		Resumed: resumed, Secret: s.secrets.newest, Room: c.config.Room, Simulate: simulate, Commands: s.handled, Structure: structure,
		Version: c.config.Versions.Game, SchemaText: text,
	})
	if s.entity != 0 || resumed == 1 { // a resuming client may have missed the change to 0
		s.sendControl()
	}
}

// refusalOfDifference returns the refusal of a client whose number differs from the
// server's.
func refusalOfDifference(code wire.Code, what string, digits int, client, server uint64) (refusal *wire.Error, want string) {
	return &wire.Error{Code: code, Detail: fmt.Sprintf("client has %s %0*x, server %0*x", what, digits, client, digits, server)}, fmt.Sprintf("%s %0*x", what, digits, server)
}

// mayBegin returns nil if p may begin a new session, or the reason to refuse it. A client that the Router led here by the
// session of its Hello, which could not be resumed, connects again: only RouterConfig.Join admits clients to a room.
func (p *Peer) mayBegin() *wire.Error {
	if !p.resumes || p.core.Draining() { // admitPeer says why it drains
		return nil
	}
	if _, refusal := p.tokenResult(); refusal != nil { // it would only be refused the next time
		return refusal
	}
	return &wire.Error{Code: wire.Timeout, Detail: "the session has ended: connect again"}
}

// checkHello returns nil if h is compatible with this server. Otherwise it returns the
// refusal, and the value that the server wants.
func (c *Core) checkHello(h wire.Hello) (refusal *wire.Error, want string) {
	tables := uint64(c.replicator.Config().Tables.Version())
	switch {
	case h.Protocol != wire.Version:
		return refusalOfDifference(wire.ProtocolVersion, "protocol", 1, uint64(h.Protocol), wire.Version)
	case uint64(h.Tables) != tables && !h.Abilities.Has(wire.PlainRows):
		return refusalOfDifference(wire.TablesMismatch, "tables", 8, uint64(h.Tables), tables)
	case h.Epoch != 0 && h.Epoch != c.config.Epoch:
		return refusalOfDifference(wire.EpochMismatch, "epoch", 16, h.Epoch, c.config.Epoch)
	}
	refusal, want = c.config.Versions.checkClient(&h)
	if refusal != nil {
		return refusal, want
	}
	if h.Room != "" && h.Room != c.config.Room && c.config.Router == nil {
		return &wire.Error{Code: wire.NoRoom, Detail: fmt.Sprintf("client asks for room %q, server has %q", h.Room, c.config.Room)}, ""
	}
	return nil, ""
}

// tokenResult returns the Admission of the Hello's token, or the reason to refuse the
// token.
func (p *Peer) tokenResult() (Admission, *wire.Error) {
	p.inbox.mu.Lock()
	defer p.inbox.mu.Unlock()
	return p.inbox.granted, p.inbox.refusal
}

// joinRefusal converts an error of Hooks.Join for the client. ServerFull makes the client
// retry: a full world may have room later. Any other error without a code would recur.
func joinRefusal(err error) *wire.Error {
	if errors.Is(err, world.ErrFull) {
		return refusalOf(err, wire.ServerFull)
	}
	return refusalOf(err, wire.JoinRefused)
}

// refusalOf returns err itself if it is a *wire.Error, or else the given code with its text.
func refusalOf(err error, code wire.Code) *wire.Error {
	var e *wire.Error
	if errors.As(err, &e) && e.Code != wire.OK {
		if e.Code == wire.Moved && e.Address == "" {
			return &wire.Error{Code: wire.Internal, Detail: "the game moves the client nowhere: use wire.MovedTo"}
		}
		return e
	}
	return &wire.Error{Code: code, Detail: err.Error()}
}
