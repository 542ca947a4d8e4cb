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

// maxFormer bounds the secrets of earlier Welcomes that stay valid until the client
// confirms the newest one. If there are more, the oldest and the most recent remain valid.
const maxFormer = 16

// secrets are the secrets that resume a session.
type secrets struct {
	newest secret   // secret of the newest Welcome
	former []secret // secrets of earlier Welcomes, until the client confirms the newest
	// crashed holds the secrets of Welcomes before a crash, until the client confirms a later one. A
	// client that presents one lacks the Welcome of the restored session.
	crashed []secret
}

// restoredSecrets returns the secrets of a session that a crash interrupted. all ends with the newest.
func restoredSecrets(all []secret) secrets {
	if len(all) == 0 {
		return secrets{}
	}
	last := len(all) - 1
	return secrets{newest: all[last], former: all[:last:last], crashed: all}
}

// precedeCrash reports whether shown is the secret of a Welcome before a crash.
func (s secrets) precedeCrash(shown []byte) bool {
	return slices.ContainsFunc(s.crashed, func(x secret) bool { return x.equals(shown) })
}

// matchAny reports whether shown is one of the secrets.
func (s secrets) matchAny(shown []byte) bool {
	ok := s.newest.equals(shown)
	for _, f := range s.former {
		ok = f.equals(shown) || ok
	}
	return ok
}

// confirmNewest invalidates the former secrets, and reports whether there were any. The client
// has the newest Welcome: it sent a datagram for this room.
func (s *secrets) confirmNewest() bool {
	if s.former == nil {
		return false
	}
	s.former, s.crashed = nil, nil
	return true
}

// allSecrets returns a new slice of the secrets, newest last.
func (s secrets) allSecrets() []secret { return append(slices.Clip(s.former), s.newest) }

// limitFormer returns the secrets of valid that stay valid beside a new one: all, or the first
// and the most recent.
func limitFormer(valid []secret) []secret {
	if n := len(valid) - maxFormer; n > 0 {
		return slices.Delete(valid, 1, 1+n) // the client certainly has the first
	}
	return valid
}

// newSecret returns a secret, or nil without grace. Without a secret, a session ends with its
// connection.
func newSecret(random io.Reader, graceTicks int) secret {
	if graceTicks == 0 {
		return nil
	}
	next := make(secret, wire.SecretBytes)
	if _, err := io.ReadFull(random, next); err != nil {
		return nil
	}
	return next
}

// rotateSecret creates the secret of the next Welcome. The secrets in valid stay valid
// until the client confirms the new one, because a Welcome may be lost with its connection.
func (s *Session) rotateSecret(valid ...secret) {
	s.secrets = secrets{newSecret(s.core.config.Random, s.core.graceTicks), limitFormer(valid), s.secrets.crashed}
	s.core.config.Router.recordPlacement(s)
}

// loseConnection handles a broken connection. The session is away until its client
// reconnects within the grace period: it keeps its entity and replication state, and
// receives nothing.
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
	s.enterState(stateAway)
	s.peer, s.silentTicks = nil, 0
	s.core.stats.Lost++
	s.callHook(HookAway, s.core.config.Hooks.Away)
}

// tickAway processes one tick of a session that is away.
func (s *Session) tickAway() {
	s.silentTicks++
	switch {
	case s.kicked != nil:
		s.endSilently(s.kicked)
	case s.hasExpired(s.core.world.Tick()):
		s.endSilently(&wire.Error{Code: wire.SessionExpired})
	case s.silentTicks > s.core.graceTicks:
		s.endSilently(&wire.Error{Code: wire.Timeout, Detail: "did not reconnect"})
	}
}

// beginAgain forgets what the client was sent and asked for: it has lost its replica.
func (s *Session) beginAgain() {
	s.viewer.Restart()
	now := s.viewer.Numbers()
	s.travel.raiseFence(now.Structure)
	s.progress = progress{newest: now.Seq, structure: now.Structure}
	s.provisionals.continueFrom(0, 0)
	s.inputs.dropWaiting()
}

// resumeOver continues the session over p. If the client has missed more structure than is
// kept, it ends the session and returns false.
func (s *Session) resumeOver(p *Peer, h wire.Hello) bool {
	resumed, from := uint8(1), h.Structure
	switch {
	case from == wire.NoStructure:
		s.beginAgain()
		resumed, from = 0, s.travel.fence
	case from < s.travel.fence: // the client lacks the Welcome to this room or after a crash, and begins with it
		resumed, from = 0, s.travel.fence
	case s.secrets.precedeCrash(h.Secret):
		s.endWithGoodbye(&wire.Error{Code: wire.Spent, Detail: "the client has structure that a crash undid"})
		return false
	}
	missed, ok := s.viewer.Resume(from)
	if !ok {
		s.endWithGoodbye(&wire.Error{Code: wire.TooSlow, Detail: "the client missed more structure than is kept"})
		return false
	}
	was := s.peer
	if was != nil {
		was.closeReplaced() // the server had not noticed that it broke
	} else {
		s.core.schedule.moveToBack(s, s.core.world.Tick()) // time spent away gives no precedence
	}
	s.enterState(stateActive)
	s.peer, p.session, s.silentTicks = p, s, 0
	s.setAddress(p.address)
	s.travel.awaitArrivals(0)
	s.progress.restartCounters()
	s.core.stats.Resumed++
	s.rotateSecret(secret(h.Secret))
	if s.secrets.crashed != nil {
		s.core.config.Router.resumeRestored(s)
	}
	s.sendWelcome(h.Schema, resumed, from)
	if !s.isOver() {
		s.sendStream(missed) // precedes any Result, which may depend on it
	}
	if was == nil && !s.isOver() {
		s.callHook(HookBack, s.core.config.Hooks.Back)
	}
	return true
}
