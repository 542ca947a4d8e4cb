package session

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/worldd/worldd/replication/wire"
)

// Admit checks a connect token and returns what it grants: CoreConfig.Admit.
type Admit func(ctx context.Context, token []byte) (Admission, error)

// Admission is what a connect token grants. A session keeps that of the token which it
// began with, whatever tokens its client shows when it resumes.
type Admission struct {
	// User names whose session it is. Empty is nobody: neither bans nor
	// OneSessionPerUser apply.
	User string
	// Lasts is how long the session may last from now on, connected or away; then it
	// ends with SessionExpired. 0 is without end. It is counted in ticks.
	Lasts time.Duration
}

// endTick is the tick in which a session that begins now ends.
func (c *Core) endTick(a Admission) uint64 {
	if a.Lasts == 0 {
		return math.MaxUint64
	}
	return c.world.Tick() + uint64(ticksOf(a.Lasts, c.world.TickHz()))
}

// admits returns what the token of a connection grants, or why no session can begin over
// it. Other sessions end last, when nothing else is against this one.
func (c *Core) admits(p *Peer) (Admission, *wire.Error) {
	if c.Draining() {
		return Admission{}, &wire.Error{Code: wire.Draining}
	}
	granted, refusal := p.identify()
	switch {
	case refusal != nil:
		return Admission{}, refusal
	case c.banned[granted.User]:
		return Admission{}, &wire.Error{Code: wire.Banned}
	}
	if c.config.OneSessionPerUser && granted.User != "" {
		c.endSessions(&wire.Error{Code: wire.SignedInElsewhere}, func(s *Session) bool { return s.user == granted.User })
	}
	if places := c.MaxSessions(); !c.makeRoom(places, p.address) {
		return Admission{}, &wire.Error{Code: wire.ServerFull, Detail: fmt.Sprintf("%d sessions", places)}
	}
	return granted, nil
}

// SetBans replaces the set of banned users: with the next tick their sessions end with
// Banned, those that are away too, and they can begin none. It may be called from any
// goroutine.
func (c *Core) SetBans(users []string) {
	bans := make(map[string]bool, len(users))
	for _, user := range users {
		bans[user] = user != "" // the user of sessions without a token
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.bans = bans
}

// ban is the tick's part of SetBans.
func (c *Core) ban(users map[string]bool) {
	c.banned = users
	c.endSessions(&wire.Error{Code: wire.Banned}, func(s *Session) bool { return users[s.user] })
}

// endSessions says goodbye to the sessions that are meant and ends them.
func (c *Core) endSessions(why *wire.Error, meant func(*Session) bool) {
	for _, s := range c.sessions {
		if meant(s) {
			s.fail(why)
		}
	}
}
