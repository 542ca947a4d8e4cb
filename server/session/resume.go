package session

import (
	"cmp"
	"crypto/subtle"
	"io"

	"github.com/worldd/worldd/replication/wire"
)

// secret is what a client shows to go on with its session; empty: nothing does.
type secret []byte

// shown says whether a client has shown this secret, in a time that says nothing
// of where the two differ.
func (s secret) shown(other []byte) bool {
	return len(s) > 0 && subtle.ConstantTimeCompare(s, other) == 1
}

// renew makes the secret of the next Welcome. The one that was shown stays good
// until the client proves that it has this one, since a Welcome may be lost with
// its connection.
func (s *Session) renew(shown secret) {
	s.former = shown
	s.secret = nil
	if s.core.graceTicks > 0 {
		next := make(secret, wire.SecretBytes)
		if _, err := io.ReadFull(s.core.config.Random, next); err == nil {
			s.secret = next // else it ends with its connection
		}
	}
}

// heard notes that a datagram came: the client has the newest Welcome.
func (s *Session) heard() {
	s.silence, s.answered = 0, true
	s.former = nil
}

// lose is the end of a session's connection that nobody wanted. A client that has
// been here may come again within the time of grace; till then it keeps its
// entity, and what it knows, and is sent nothing.
func (s *Session) lose(why *wire.Error) {
	if !s.answered || len(s.secret) == 0 || s.core.Draining() {
		s.fail(why)
		return
	}
	s.sendMessage(wire.TypeGoodbye, wire.Goodbye{Code: why.Code, Text: why.Detail}.Append(nil)) // it may only seem to be broken
	if s.over {
		return
	}
	s.peer.close(why)
	s.peer, s.silence = nil, 0
	s.core.stats.Lost++
	s.notify(HookAway, s.core.config.Game.Away)
}

// wait is the tick of a session that is away.
func (s *Session) wait() {
	s.silence++
	switch {
	case s.kicked != nil:
		s.end(s.kicked)
	case s.expired():
		s.end(&wire.Error{Code: wire.SessionExpired})
	case s.silence > s.core.graceTicks:
		s.end(&wire.Error{Code: wire.Timeout, Detail: "did not come back"})
	}
}

// sought is the session that a Hello asks to go on with, if it is there and its
// secret is shown. Whoever guesses is not told what was wrong: it joins anew.
func (c *Core) sought(h wire.Hello) *Session {
	if len(h.Secret) == 0 {
		return nil
	}
	s := c.Session(h.Session)
	if s == nil {
		return nil
	}
	current, former := s.secret.shown(h.Secret), s.former.shown(h.Secret)
	if s.over || !current && !former {
		return nil
	}
	return s
}

// resume goes on with a session over another connection. It returns false if the
// client has missed more than what is kept: then it is to begin anew.
func (s *Session) resume(p *Peer, h wire.Hello) bool {
	missed, ok := s.viewer.Resume(h.Structure)
	if !ok {
		s.fail(&wire.Error{Code: wire.TooSlow, Detail: "it had missed more than what is kept"})
		return false
	}
	was := s.peer
	if was != nil {
		was.replaced() // it has not noticed yet
	} else {
		s.core.turns.last(s, s.core.world.Tick()) // having been away gives it no precedence
	}
	s.peer, s.from, p.session, s.silence = p, p.address, s, 0
	s.progress.again()
	s.core.stats.Resumed++
	s.renew(h.Secret)
	s.welcome(1)
	if !s.over {
		s.sendStream(missed) // ahead of any Result, which stands on it
	}
	if was == nil && !s.over {
		s.notify(HookBack, s.core.config.Game.Back)
	}
	return true
}

// makeRoom reports whether there is room for one more session, from the given address.
// If need be it ends sessions that are away: connected clients take precedence over
// clients that may never reconnect. It ends none if that would not be enough, after a
// limit was lowered.
func (c *Core) makeRoom(places int, address string) bool {
	if c.Active() >= places {
		return false
	}
	for c.Active()+c.Away() >= places { // Leave may end others, too: it may stop the server
		c.leastDeserving(address).end(&wire.Error{Code: wire.ServerFull})
	}
	return true
}

// leastDeserving returns the session that gives its place to a newcomer from address,
// or nil if none is away. Sessions from the newcomer's own address come first: an address
// that leaves sessions behind takes no place from others. Then come those from the
// address with the most sessions away; within an address, the one away longest.
func (c *Core) leastDeserving(address string) (last *Session) {
	away := map[string]int{}
	for _, s := range c.sessions {
		if !s.over && s.peer == nil {
			away[s.from]++
		}
	}
	away[address] += len(c.sessions)
	for _, s := range c.sessions {
		if s.over || s.peer != nil {
			continue
		}
		if last == nil || cmp.Or(cmp.Compare(away[s.from], away[last.from]), cmp.Compare(s.silence, last.silence)) > 0 {
			last = s
		}
	}
	return last
}
