package session

import (
	"crypto/subtle"
	"io"
	"slices"

	"github.com/worldd/worldd/replication/wire"
)

// secret authorises a client to resume its session. An empty secret matches nothing.
type secret []byte

// equals compares in constant time.
func (s secret) equals(other []byte) bool {
	return len(s) > 0 && subtle.ConstantTimeCompare(s, other) == 1
}

// maxFormer bounds the secrets of earlier Welcomes that stay valid while the client answers
// none: the first, and the newest ones.
const maxFormer = 16

// secrets are those that resume a session.
type secrets struct {
	newest secret   // of the newest Welcome
	former []secret // of the Welcomes before it, until the client confirms the newest
}

// matchAny reports whether shown is one of them.
func (s secrets) matchAny(shown []byte) bool {
	ok := s.newest.equals(shown)
	for _, f := range s.former {
		ok = f.equals(shown) || ok
	}
	return ok
}

// allSecrets returns the secrets, the newest last, in memory of its own.
func (s secrets) allSecrets() []secret { return append(slices.Clip(s.former), s.newest) }

// rotateSecret creates the secret of the next Welcome. Those in valid stay valid until the
// client confirms the new one, since a Welcome may be lost with its connection.
func (s *Session) rotateSecret(valid ...secret) {
	if n := len(valid) - maxFormer; n > 0 {
		valid = slices.Delete(valid, 1, 1+n) // the client certainly has the first
	}
	s.secrets = secrets{former: valid}
	if s.core.graceTicks > 0 {
		next := make(secret, wire.SecretBytes)
		if _, err := io.ReadFull(s.core.config.Random, next); err == nil {
			s.secrets.newest = next // without a secret, the session ends with its connection
		}
	}
	s.core.config.Router.recordPlacement(s)
}

// confirmSecret records a datagram of this room: the client has the newest Welcome.
func (s *Session) confirmSecret() {
	if s.secrets.former != nil {
		s.secrets.former = nil
		s.core.config.Router.recordPlacement(s)
	}
}

// loseConnection handles a connection that broke. The session is away until its client
// reconnects within the grace period: it keeps its entity and replication state and is sent
// nothing.
func (s *Session) loseConnection(why *wire.Error) {
	if len(s.secrets.newest) == 0 || s.core.Draining() {
		s.endWithGoodbye(why)
		return
	}
	s.sendMessage(wire.Goodbye{Code: why.Code, Text: why.Detail}) // the connection may still work
	if s.isOver() {
		return
	}
	s.peer.closeConn(why)
	s.state, s.peer, s.silentTicks = stateAway, nil, 0
	s.core.stats.Lost++
	s.callHook(HookAway, s.core.config.Hooks.Away)
}

// tickAway processes one tick of a session that is away.
func (s *Session) tickAway() {
	s.silentTicks++
	switch {
	case s.kicked != nil:
		s.endSilently(s.kicked)
	case s.hasExpired():
		s.endSilently(&wire.Error{Code: wire.SessionExpired})
	case s.silentTicks > s.core.graceTicks:
		s.endSilently(&wire.Error{Code: wire.Timeout, Detail: "did not reconnect"})
	}
}

// findResumable returns the session that h asks to resume, or nil if it does not exist, or the
// secret or the abilities differ. The client does not learn which: its Hello begins a new
// session.
func (c *Core) findResumable(h wire.Hello) *Session {
	if len(h.Secret) == 0 {
		return nil
	}
	s := c.Session(h.Session)
	if s == nil || s.isOver() || s.abilities != h.Abilities || !s.secrets.matchAny(h.Secret) {
		return nil
	}
	return s
}

// resumeOver continues the session over p. It returns false, and ends the session, if the client
// has missed more structure than is kept.
func (s *Session) resumeOver(p *Peer, h wire.Hello) bool {
	resumed, from := uint8(1), h.Structure
	if from < s.travel.fence { // it has not had the Welcome to this room, and begins with it
		resumed, from = 0, s.travel.fence
	}
	missed, ok := s.viewer.Resume(from)
	if !ok {
		s.endWithGoodbye(&wire.Error{Code: wire.TooSlow, Detail: "the client missed more structure than is kept"})
		return false
	}
	was := s.peer
	if was != nil {
		was.closeReplaced() // the server has not noticed yet that it broke
	} else {
		s.core.schedule.moveToBack(s, s.core.world.Tick()) // time away gives no precedence
	}
	s.state, s.peer, s.address, p.session, s.silentTicks, s.travel.arrivals = stateActive, p, p.address, s, 0, 0
	s.progress.restartCounters()
	s.core.stats.Resumed++
	s.rotateSecret(secret(h.Secret))
	s.sendWelcome(h.Schema == 0, resumed, from)
	if !s.isOver() {
		s.sendStream(missed) // ahead of any Result, which may depend on it
	}
	if was == nil && !s.isOver() {
		s.callHook(HookBack, s.core.config.Hooks.Back)
	}
	return true
}

// makeRoom reports whether there is room for one more session from address. If needed, it
// ends sessions that are away: connected clients take precedence over clients that may
// never reconnect. It ends none if that would not suffice, after a limit was lowered.
func (c *Core) makeRoom(slots int, address string) bool {
	if c.Active() >= slots {
		return false
	}
	for c.Active()+c.Away() >= slots { // Leave may end others too, by draining the server
		c.evictionCandidate(address).endSilently(&wire.Error{Code: wire.ServerFull})
	}
	return true
}

// evictionCandidate returns the session to end for a newcomer from address, or nil if none is
// away.
func (c *Core) evictionCandidate(address string) *Session {
	var away []*Session
	for _, s := range c.sessions {
		if s.state == stateAway {
			away = append(away, s)
		}
	}
	i := EvictionCandidate(away, func(s *Session) string { return s.address }, func(s *Session) int { return s.silentTicks }, address)
	if i < 0 {
		return nil
	}
	return away[i]
}
