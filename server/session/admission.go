package session

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/world"
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

// endTickOf returns the tick at which a session expires that begins now in w, and may last for a duration; 0 is
// no limit.
func endTickOf(w *world.World, lasts time.Duration) uint64 {
	if lasts == 0 {
		return math.MaxUint64
	}
	return w.Tick() + uint64(ticksOf(lasts, w.TickHz()))
}

// checkAdmission returns the Admission of p's token, or the reason to refuse p. It changes nothing.
func (c *Core) checkAdmission(p *Peer) (Admission, *wire.Error) {
	if c.Draining() {
		return Admission{}, c.requests.endReason()
	}
	if c.Cordoned() {
		return Admission{}, errCordoned()
	}
	granted, refusal := p.tokenResult()
	if refusal == nil && c.config.Router == nil && granted.Room != "" && granted.Room != c.config.Room { // a Router has chosen the room by it
		refusal = errOtherRoom(granted.Room, c.config.Room)
	}
	if refusal != nil {
		return Admission{}, refusal
	}
	return granted, c.roster.checkUser(granted.User, c.requests.placesFor(granted.User, p.place))
}

// errOtherRoom is the reason to refuse a client whose token opens another room.
func errOtherRoom(granted, room string) *wire.Error {
	return &wire.Error{Code: wire.Unauthorized, Detail: fmt.Sprintf("the token is for room %q, not %q", granted, room)}
}

// errCordoned is the reason to refuse a client that begins a session at a cordoned server.
func errCordoned() *wire.Error {
	return &wire.Error{Code: wire.Draining, Detail: "the server admits nobody new at present"}
}
