package session

import (
	"github.com/worldd/worldd/replication/wire"
)

// A session whose room has refused it returns to the room from which it came. Until the other room has decided, the
// viewer there stays, so that the client's replica continues: it learns of the refusal only by another avatar.

// stayAfterMove keeps the session in its room, before Leave.
func (s *Session) stayAfterMove(room string, why error) {
	s.travel.goTo(nil)
	s.reportRefusal(room, why)
}

// reportRefusal tells the game that a Move has failed.
func (s *Session) reportRefusal(room string, why error) {
	s.core.stats.MovesRefused++
	if f := s.core.config.Hooks.MoveRefused; f != nil {
		s.callHook(HookMoveRefused, func(s *Session) { f(s, room, why) })
	}
}

// refuseTraveller returns a session to the room from which it came, or ends it if that room has closed, or its
// client, the operator or the game has ended it.
func (c *Core) refuseTraveller(t *traveller, why *wire.Error) {
	t.place.Release()
	if t.asks || t.again && c.requests.hasClosed() { // the next run of that room decides
		t.waitAgain()
		return
	}
	ends := t.refused != nil || t.kicked != nil || why.Code == wire.OK || why.Code == wire.Banned || why.Code == wire.Moved
	if !ends {
		t.refused = why
		if c.config.Router.handOver(t, c, t.origin.core) {
			return
		}
	}
	c.turnAway(t, why)
}

// takeBack continues a session that another room has refused, or returns the reason for ending it. The limit of sessions
// does not apply: it was here before.
func (c *Core) takeBack(t *traveller) *wire.Error {
	s := t.origin
	switch {
	case t.kicked != nil:
		return t.kicked
	case c.Draining():
		return c.requests.endReason()
	case t.hasLeft():
		return &wire.Error{Code: wire.OK}
	case c.roster.banned[s.user]: // meanwhile
		return &wire.Error{Code: wire.Banned}
	}
	s.travel.goTo(nil)
	s.travel.returnFrom(t.moves)
	s.enterState(stateJoining)
	s.noted.forget()
	s.peer = t.peer
	if why := s.callJoin(); why != nil {
		return why
	}
	s.registerSession()
	c.passages.forgetDeparture(t.id, c.milestoneNow())
	c.config.Router.recordPlacement(s)
	if c.Draining() { // Join has drained the server
		s.endWithGoodbye(c.requests.endReason())
		return nil
	}
	if s.peer == nil {
		s.callHook(HookAway, c.config.Hooks.Away)
	}
	s.reportRefusal(t.to, t.refused)
	return nil
}

// hasLeft reports whether the client has left between the rooms.
func (t *traveller) hasLeft() bool {
	if t.peer == nil {
		return false
	}
	_, left := t.peer.inbox.hasEnded()
	return left
}

// endOrigin lets the room that the session has left forget it.
func (t *traveller) endOrigin() {
	t.origin.core.requests.addDeparted(t.origin)
}

// forgetDeparted closes the viewers of sessions that have entered other rooms, or have ended on the way.
func (c *Core) forgetDeparted(departed []*Session) {
	for _, s := range departed {
		if c.Session(s.id) != s && !c.passages.waitsFor(s) {
			s.closeViewer()
		}
	}
}
