package session

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/worldd/worldd/replication/wire"
)

// Admit checks a connect token and returns its Admission (Config.Admit).
type Admit func(ctx context.Context, token []byte) (Admission, error)

// Admission describes what a connect token grants. A session keeps the Admission of its first
// token when it resumes, whatever token its client then presents.
type Admission struct {
	// User identifies the session's user. If empty, neither bans nor OneSessionPerUser
	// apply.
	User string
	// Room is the only room for which the token is valid; empty: any room. A client whose
	// Hello names no room joins it; a Hello that names another room is refused.
	Room string
	// Value is the game's own data, such as the user's account: see Session.Value.
	Value any
	// Lasts limits the session's duration, connected or away, counted in ticks. Then the
	// session ends with SessionExpired. 0 is no limit.
	Lasts time.Duration
}

// endTick returns the tick at which a session expires after a duration, which is 0 for one that never expires.
func (c *Core) endTick(after time.Duration) uint64 {
	if after == 0 {
		return math.MaxUint64
	}
	return c.world.Tick() + uint64(ticksOf(after, c.world.TickHz()))
}

// admitPeer returns the Admission of p's token, or the reason to refuse p. It ends other
// sessions to make room only after every other check has passed.
func (c *Core) admitPeer(p *Peer) (Admission, *wire.Error) {
	if c.Draining() {
		return Admission{}, c.requests.endReason()
	}
	granted, refusal := p.tokenResult()
	if refusal != nil {
		return Admission{}, refusal
	}
	return granted, c.admitUser(granted.User, p.address)
}

// admitUser makes room for a session of user, or returns the reason to refuse it.
func (c *Core) admitUser(user, address string) *wire.Error {
	if c.banned[user] {
		return &wire.Error{Code: wire.Banned}
	}
	if c.config.OneSessionPerUser && user != "" {
		c.roster.endSessions(&wire.Error{Code: wire.SignedInElsewhere}, func(s *Session) bool { return s.user == user })
	}
	if slots := c.MaxSessions(); !c.roster.makeRoom(slots, address) {
		return &wire.Error{Code: wire.ServerFull, Detail: fmt.Sprintf("%d sessions", slots)}
	}
	return nil
}

// applyBans replaces the banned users and ends their sessions.
func (c *Core) applyBans(users map[string]bool) {
	c.banned = users
	c.roster.endSessions(&wire.Error{Code: wire.Banned}, func(s *Session) bool { return users[s.user] })
}
