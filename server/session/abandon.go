package session

import "github.com/worldd/worldd/replication/wire"

// EndLeaving ends the sessions that the game or the operator has ended since the last Tick, and those whose
// clients have left. The others may outlast the process: save the notes, Release, and Abandon.
func (c *Core) EndLeaving() {
	c.outputGate.beginFrame(c.world.Tick() + 1)
	c.applyRequests()
	for _, s := range c.sessions {
		if s.kicked != nil {
			s.endWithGoodbye(s.kicked)
		}
	}
	c.endDisconnected()
}

// Abandon ends all sessions and connections with why, after a panic has ended Tick, or after the last Tick of
// a server whose journal brings the sessions back (RestoreSessions). It touches neither the world nor
// the game, and discards output that Release has not let leave. Later connections are refused.
func (c *Core) Abandon(why *wire.Error) { c.abandon(why, why) }

// AbandonMoved is Abandon for a room that another server has with its sessions, which their clients find there by moved.
func (c *Core) AbandonMoved(moved *wire.Error) { c.abandon(&wire.Error{Code: wire.Draining}, moved) }

// abandon ends all sessions with goodbye, and all else with why.
func (c *Core) abandon(why, goodbye *wire.Error) {
	c.calls.refuse(why)
	opened, travellers := c.requests.close()
	peers := append(c.peers, opened...)
	c.discardHeld() // the frame that they belong to is lost
	for _, t := range travellers {
		c.refuseTraveller(t, why)
	}
	for _, s := range c.sessions {
		if s.isOver() {
			continue
		}
		if s.peer != nil {
			s.peer.sendMessage(wire.Goodbye{Code: goodbye.Code, Text: goodbye.Detail, Address: goodbye.Address, Token: goodbye.Token})
			s.peer.closeConn(goodbye)
		}
		s.endBecause(goodbye)
		c.stats.countClosed(goodbye.Code)
		c.config.Router.forgetSession(s)
	}
	for _, t := range c.passages.undurable() { // the next run of this room may have them, or else their former rooms
		c.config.Router.placeWaiting(t)
		t.leaveFailed(fateLost)
	}
	for _, p := range peers {
		if p.session == nil {
			p.refuseHello(why, "")
		}
	}
	c.roster.abandon()
}
