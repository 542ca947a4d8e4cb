package session

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/worldd/worldd/replication/wire"
)

// maxJoins bounds the attempts to join rooms that close before the client reaches them.
const maxJoins = 3

// RouterConfig configures a Router.
type RouterConfig struct {
	// Admit checks the connect tokens for all rooms, as Config.Admit does for one. Default
	// none: tokens are ignored.
	Admit Admit
	// Random is the source of epochs and secrets for Cores whose Config.Random is nil.
	Random io.Reader // required
	// Join returns the room that a client joins. room is the name in the Hello, or else in
	// the token, or "". address was passed to Open. Join runs on the connection's goroutine
	// and under its context, and may wait, for example until the room is ready. An error
	// refuses the client: a *wire.Error with its own code, any other with NoRoom.
	Join func(ctx context.Context, room, address string, a Admission) (*Core, error)
	// Elsewhere returns the reason to refuse a client whose Hello names a room that another server has: wire.MovedTo of that server.
	// The client then gets its token back, unused. It runs on the connection's goroutine and under its context before Admit, for a Hello
	// that resumes no present session, and may wait. address was passed to Open. nil: the room may be here. Default none.
	Elsewhere func(ctx context.Context, h *wire.Hello, address string) *wire.Error
	// Redeem returns what a token grants that is a pass, which another server has ordered for the client, and the place held for
	// the client; ok: the token is a pass. It runs on the connection's goroutine before Elsewhere, in place of Admit, and must not wait. An error
	// refuses the client, unless it resumes a session. Default none: no token is a pass.
	Redeem func(token []byte) (a Admission, p *Place, ok bool, err error)
	// Find holds a place for a client whose Hello or token has a query (wire.RoomQuery), in a room that it makes if need be.
	// Otherwise it is like Join. Default none: queries are refused with NoRoom.
	Find func(ctx context.Context, query, address string, a Admission) (*Place, error)
	// FindForMove returns the name of the room to which a session moves that asks for a query, and the place held for it; nil: the
	// room is not ready. It runs like Move. Default none.
	FindForMove func(query string, s *Session) (room string, p *Place, err error)
	// List answers a client that asks for rooms, on the connection's goroutine. It must be fast, since before their Hello clients
	// have no token. Default none: lists are empty.
	List func(wire.ListRooms) wire.RoomList
	// Restore makes a room that an earlier process has run under epoch, and waits for it, so that a
	// client finds its session there after a crash. It runs on the connection's goroutine, like Join,
	// for a Hello with a secret that is of no present session. An error refuses the client as an error
	// of Join does: its session may be in that room. nil: the client resumes, or joins. A client whose token is refused
	// reaches Restore only with an epoch other than 0. Default none.
	Restore func(ctx context.Context, room, address string, epoch uint64) error
	// Move returns the room that a session moves to (Session.Move). It runs on the
	// goroutine that calls Tick of the room where the session is, and must not wait: after
	// (nil, nil) it is called again at the next tick. An error refuses the move. A session that a crash has caught between two rooms
	// waits after RoomClosed and codes that allow retrying, since the room's disk may have it: other errors say that there will be no
	// such room. Default none: sessions cannot move.
	Move func(room string, s *Session) (*Core, error)
	// Cross begins to ask another server for a place of a session that moves to one of its rooms, since Move has returned
	// ErrElsewhere. It runs like Move, and must not wait. An error refuses the move. Default none: sessions do not move to other servers.
	Cross func(room string, s *Session) (*Crossing, error)
	// Post delivers a message of a room to others (Core.Deliver), or counts what else becomes of it (CountLetters). It is called for the
	// messages of a room in their order, on any goroutine, and must not wait. Default none: there are no other rooms.
	Post func(Letter)
	// OneSessionPerUser ends a user's earlier sessions in all rooms before the user begins one.
	OneSessionPerUser bool
	// VoidPasses makes the passes void that a user has not used, and reports whether none is left. Otherwise the room asks again at its next
	// tick, before it begins the user's session. It is called with OneSessionPerUser alone, by rooms, and must not wait. Default none: there are
	// no passes.
	VoidPasses func(user string) (done bool)
	// PanicEnds is Config.PanicEnds, for Admit.
	PanicEnds bool
	// Versions refuses clients before Admit and Join are called. The Cores of all rooms have the
	// same: Config.Versions is empty, or equal.
	Versions Versions
}

// Router assigns new connections to rooms. Each room is a Core with this Router in its
// Config. A connection has no room until its Hello. A Hello that resumes a session goes to
// the session's room. All methods may be called from any goroutine.
type Router struct {
	Gate
	connectionIDs // of all rooms
	config        RouterConfig
	letters       letterCounts
	redirections  *redirections

	mu       sync.Mutex // acquired before the mutex of a Core's requests
	waiting  []*Peer    // connections without a Hello
	sessions map[uint64]*placement
	joining  map[string]bool // users of which a session begins, with OneSessionPerUser
	newest   newestSessions
	arrived  []arrival // in rooms that have ended for good
	draining bool
	stats    RouterStats

	randomMu sync.Mutex
	onPanic  func(HookPanic)
}

// RouterStats counts connections that never reached a room.
type RouterStats struct {
	Waiting int // connections without a Hello
	Refused uint64
	Closed  map[wire.Code]uint64
	Panics  uint64                  // contained panics of Admit
	Letters map[LetterResult]uint64 // messages between rooms
}

// way tells whether a session is between two rooms.
type way uint8

const (
	wayNone    way = iota
	wayHanded      // to the room, which has not admitted it yet
	wayWaiting     // in the room that it has left, for the next one, which may have it on its disk
)

// placement holds the room of a live session, and the secrets that resume it.
type placement struct {
	core      *Core
	user      string
	abilities wire.Abilities
	secrets   secrets
	moves     uint64
	way       way
	ending    bool // another session of its user waits for its end
}

// maxNewest bounds the users in each map of newestSessions.
const maxNewest = 1 << 16

// newestSessions holds the ids of the sessions that users began or resumed last in this process, for
// at least the last maxNewest users. A room that is restored late knows by it that its session is out of date.
type newestSessions struct {
	recent, older map[string]uint64
}

// recordSession records id as the newest session of user.
func (n *newestSessions) recordSession(user string, id uint64) {
	if n.recent == nil || len(n.recent) >= maxNewest {
		n.recent, n.older = map[string]uint64{}, n.recent
	}
	n.recent[user] = id
}

// replaces reports whether user has a newer session than id.
func (n *newestSessions) replaces(user string, id uint64) bool {
	newest, ok := n.recent[user]
	if !ok {
		newest, ok = n.older[user]
	}
	return ok && newest != id
}

// NewRouter returns a Router without rooms.
func NewRouter(c RouterConfig) (*Router, error) {
	errs := []error{c.Versions.Validate()}
	if c.Join == nil {
		errs = append(errs, errors.New("server: Join is nil: want a function that returns rooms"))
	}
	if c.Random == nil {
		errs = append(errs, errors.New("server: Random is nil: want a source of secrets, or a seeded one in a simulation"))
	}
	if c.OneSessionPerUser && c.Admit == nil {
		errs = append(errs, errors.New("server: OneSessionPerUser without Admit: no session would have a user"))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	r := &Router{config: c, redirections: newRedirections(), sessions: map[uint64]*placement{}, joining: map[string]bool{}}
	if c.Admit != nil && !c.PanicEnds {
		r.config.Admit = containAdmit(c.Admit, func(value any) {
			r.mu.Lock()
			r.stats.Panics++
			r.mu.Unlock()
			reportPanic(r.onPanic, HookAdmit, 0, value)
		})
	}
	return r, nil
}

// OnPanic sets a function to call for each contained panic of Admit, on the goroutine that
// panicked. It must be set before the first Open.
func (r *Router) OnPanic(f func(HookPanic)) { r.onPanic = f }

// Open registers a new connection; see Core.Open.
func (r *Router) Open(ctx context.Context, address string, conn Conn) *Peer {
	return r.OpenReserved(ctx, r.Reserve(), address, conn)
}

// OpenReserved opens a connection like Open, with an id from Reserve.
func (r *Router) OpenReserved(ctx context.Context, id uint64, address string, conn Conn) *Peer {
	p := newPeer(ctx, id, address, conn, gate{admit: r.config.Admit, versions: r.config.Versions, redeem: r.config.Redeem})
	p.gate.elsewhere = func(h *wire.Hello) *wire.Error { return r.findElsewhere(p, h) }
	p.router = r
	r.mu.Lock()
	defer r.mu.Unlock()
	r.waiting = append(r.waiting, p)
	return p
}

// Expire closes connections that have no room and have ended, failed, or sent no
// Hello within HelloTimeout. It forgets sessions that were redirected long ago. Call it several times a second.
func (r *Router) Expire(now time.Time) {
	r.redirections.expire(now)
	r.expireWaiting(func(p *Peer) *wire.Error {
		if p.openedAt.IsZero() {
			p.openedAt = now
		}
		if now.Sub(p.openedAt) > HelloTimeout {
			return &wire.Error{Code: wire.Timeout, Detail: "no Hello"}
		}
		return nil
	})
}

// Drain refuses connections that wait for a Hello, and later connections that do not resume
// a session.
func (r *Router) Drain() {
	r.mu.Lock()
	r.draining = true
	r.mu.Unlock()
	r.expireWaiting(func(*Peer) *wire.Error { return &wire.Error{Code: wire.Draining} })
}

// expireWaiting refuses waiting connections that have ended or failed, and those with a
// reason from why.
func (r *Router) expireWaiting(why func(*Peer) *wire.Error) {
	type refusal struct {
		p   *Peer
		why *wire.Error
	}
	var refused []refusal
	r.mu.Lock()
	r.waiting = slices.DeleteFunc(r.waiting, func(p *Peer) bool {
		if p.claimed {
			return true
		}
		reason := p.failureReason()
		if reason == nil {
			reason = why(p)
		}
		p.claimed = reason != nil
		if p.claimed {
			refused = append(refused, refusal{p, reason})
		}
		return p.claimed
	})
	r.mu.Unlock()
	for _, x := range refused {
		r.refusePeer(x.p, x.why, "")
	}
}

// claimPeer reports whether the caller may place or refuse a waiting connection: only the
// first caller may.
func (r *Router) claimPeer(p *Peer) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	was := p.claimed
	p.claimed = true
	return !was
}

// placePeer delivers a connection to the room of its Hello. It runs on the connection's goroutine.
func (r *Router) placePeer(p *Peer, h *wire.Hello) {
	if !r.claimPeer(p) {
		return // it waited too long and was refused
	}
	if why := p.failureReason(); why != nil { // it ended while Admit ran
		r.refusePeer(p, why, "")
		return
	}
	if h.Protocol != wire.Version {
		why, want := refusalOfDifference(wire.ProtocolVersion, "protocol", 1, uint64(h.Protocol), wire.Version)
		r.refusePeer(p, why, want)
		return
	}
	if why, want := r.config.Versions.checkClient(h); why != nil {
		r.refusePeer(p, why, want)
		return
	}
	if r.placeResuming(p, h) {
		return
	}
	if moved := p.inbox.redirection(); moved != nil {
		r.refusePeer(p, moved, "")
		return
	}
	granted, why := p.tokenResult()
	if place := p.inbox.passPlace(); place != nil {
		r.placeHolder(p, h, place)
		return
	}
	var failed error // of Restore
	if r.config.Restore != nil && len(h.Secret) > 0 && !r.isDraining() {
		if why != nil && h.Epoch == 0 { // tokens are good for one connection: the client asks again, and shows that it knows the run
			r.refusePeer(p, &wire.Error{Code: wire.NoRoom, Detail: "no such session: a stored one needs its epoch, a new one a token"}, "")
			return
		}
		failed = r.config.Restore(p.ctx, h.Room, p.address, h.Epoch)
		if r.placeResuming(p, h) {
			return
		}
	}
	switch {
	case failed != nil && (why == nil || mayOpenLater(failed) || wire.CodeOf(failed) == wire.Moved): // a client that resumes needs no token
		why = r.keepToken(refusalOf(failed, wire.NoRoom), h)
	case why != nil:
	default:
		why = r.keepToken(r.joinRoom(p, h.Room, granted), h)
	}
	if why != nil {
		r.refusePeer(p, why, "")
	}
}

// placeHolder delivers a connection whose token was a pass to the room of the pass, whatever room its Hello names. If the Hello names a session,
// that was on the server that has redirected the client.
func (r *Router) placeHolder(p *Peer, h *wire.Hello, place *Place) {
	if len(h.Secret) > 0 {
		h.Session, h.Epoch, h.Secret = 0, 0, nil
	}
	p.setPlace(place)
	if !place.core.requests.addPeer(place.core, p) {
		r.refusePeer(p, &wire.Error{Code: wire.Timeout, Detail: "the room of the pass has ended: connect again"}, "")
	}
}

// findElsewhere returns why the sender of h must go to another server, or nil.
func (r *Router) findElsewhere(p *Peer, h *wire.Hello) *wire.Error {
	if r.roomOf(h) != nil {
		return nil
	}
	if moved := r.redirections.find(h); moved != nil || r.config.Elsewhere == nil {
		return moved
	}
	return returnToken(r.config.Elsewhere(p.ctx, h, p.address), h.Token)
}

// keepToken gives a client that a cluster sends elsewhere its token back, which another server may ask for.
func (r *Router) keepToken(why *wire.Error, h *wire.Hello) *wire.Error {
	if r.config.Elsewhere == nil {
		return why
	}
	return returnToken(why, h.Token)
}

// returnToken makes a redirection without a token return the client's own.
func returnToken(why *wire.Error, token []byte) *wire.Error {
	if why == nil || why.Code != wire.Moved || len(why.Token) > 0 {
		return why
	}
	moved := *why
	moved.Token = token
	return &moved
}

// placeResuming delivers a connection to the room of the session that h resumes. It returns false if there is none.
func (r *Router) placeResuming(p *Peer, h *wire.Hello) bool {
	core := r.roomOf(h)
	return core != nil && core.addResuming(p) // false: the room and its sessions have ended
}

// joinRoom delivers a connection to the room that its client joins, or returns the reason
// to refuse it.
func (r *Router) joinRoom(p *Peer, room string, granted Admission) *wire.Error {
	switch {
	case r.isDraining():
		return &wire.Error{Code: wire.Draining}
	case r.Cordoned():
		return errCordoned()
	case room == "" || wire.IsRoomQuery(granted.Room): // a client that returns names the room that was chosen
		room = granted.Room
	case granted.Room != "" && granted.Room != room:
		return errOtherRoom(granted.Room, room)
	}
	for range maxJoins {
		core, err := r.findRoom(p, room, granted)
		switch {
		case errors.Is(err, context.DeadlineExceeded): // a retry may succeed
			return &wire.Error{Code: wire.Internal, Detail: "the room was not ready in time"}
		case err != nil:
			return refusalOf(err, wire.NoRoom)
		case core == nil:
			return &wire.Error{Code: wire.NoRoom, Detail: fmt.Sprintf("no room %q", room)}
		case core.requests.addPeer(core, p):
			return nil
		}
	}
	return &wire.Error{Code: wire.Draining, Detail: fmt.Sprintf("room %q has ended", room)}
}

// findRoom returns the room that a client joins, with a place held for it if room is a query.
func (r *Router) findRoom(p *Peer, room string, granted Admission) (*Core, error) {
	switch {
	case !wire.IsRoomQuery(room):
		return r.config.Join(p.ctx, room, p.address, granted)
	case r.config.Find == nil:
		return nil, nil
	}
	place, err := r.config.Find(p.ctx, room, p.address, granted)
	if err != nil {
		return nil, err
	}
	p.setPlace(place)
	return place.core, nil
}

func (r *Router) isDraining() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.draining
}

// refusePeer refuses a connection that has no room.
func (r *Router) refusePeer(p *Peer, why *wire.Error, want string) {
	r.mu.Lock()
	r.stats.Refused++
	countCode(&r.stats.Closed, why.Code)
	r.mu.Unlock()
	p.releasePass()
	p.sendRefused(why, want)
}

// Stats returns a copy of the counters.
func (r *Router) Stats() RouterStats {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.stats
	s.Waiting, s.Closed, s.Letters = 0, maps.Clone(s.Closed), map[LetterResult]uint64{}
	for result := range r.letters {
		s.Letters[LetterResult(result)] = r.letters[result].Load()
	}
	for _, p := range r.waiting {
		if !p.claimed {
			s.Waiting++
		}
	}
	return s
}

// roomOf returns the room of the session that h resumes, or nil if h has no valid secret or other abilities: it then joins.
func (r *Router) roomOf(h *wire.Hello) *Core {
	if len(h.Secret) == 0 {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	p := r.sessions[h.Session]
	if p == nil || p.abilities != h.Abilities || !p.secrets.matchAny(h.Secret) {
		return nil
	}
	return p.core
}

// recordPlacement records the room and the secrets of s.
func (r *Router) recordPlacement(s *Session) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	p := r.sessions[s.id]
	if p == nil {
		p = &placement{}
		r.sessions[s.id] = p
	}
	*p = placement{s.core, s.user, s.abilities, s.secrets, s.travel.moves, wayNone, p.ending}
}

// restorePlacement records a restored session, or returns the reason to end it. A crash may have caught the
// session between two rooms, both of which restore it: the room to which it moved last keeps it, unless its
// client has already resumed it in the other. With OneSessionPerUser, a session that its user began in this
// process replaces it, even if that session has ended: its data are newer.
func (r *Router) restorePlacement(s *Session) (why *wire.Error) {
	if r == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.newest.replaces(s.user, s.id) {
		return &wire.Error{Code: wire.SignedInElsewhere}
	}
	if p := r.sessions[s.id]; p != nil {
		handed := p.way == wayHanded && p.moves == s.travel.moves // by a run of this room that has failed since
		if !handed && (p.moves >= s.travel.moves || p.secrets.crashed == nil && p.way != wayWaiting) {
			return &wire.Error{Code: wire.Replaced}
		}
		if p.way != wayWaiting {
			p.core.requests.endLater(s.id, &wire.Error{Code: wire.Replaced})
		}
	}
	r.sessions[s.id] = &placement{s.core, s.user, s.abilities, s.secrets, s.travel.moves, wayNone, false}
	return nil
}

// placeWaiting records that a session waits in the room that it has left for its next room, which has failed or is not
// restored yet. Otherwise it returns the room that has the session or is about to, or that its user has begun another one.
func (r *Router) placeWaiting(t *traveller) (elsewhere *Core, outdated bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	p, own := r.sessions[t.id], t.origin.core
	switch {
	case p == nil || p.core.requests.hasClosed():
	case p.core == own && p.moves > t.moves || p.core != own && p.moves >= t.moves:
		return p.core, false
	}
	if r.newest.replaces(t.user, t.id) {
		return nil, true
	}
	r.sessions[t.id] = &placement{own, t.user, t.abilities, t.keptSecrets(), t.moves, wayWaiting, false}
	return nil, false
}

// resumeRestored ends the other restored sessions of the user of s, which its client has resumed after
// a crash. A session that the user has begun since stays, and ends s.
func (r *Router) resumeRestored(s *Session) {
	if r == nil || !r.config.OneSessionPerUser || s.user == "" {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.newest.replaces(s.user, s.id) {
		r.makeNewest(s)
	}
}

// Kick ends session id like Core.Kick, in any room or between two rooms. It reports whether
// the session exists.
func (r *Router) Kick(id uint64, reason string) (found bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	p := r.sessions[id]
	if p != nil {
		p.core.Kick(id, reason)
	}
	return p != nil
}

// handOver hands t over to another room, together with a kick that is pending in from. It
// returns false if to has closed, or another room has the session.
func (r *Router) handOver(t *traveller, from, to *Core) (ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	p := r.sessions[t.id]
	if p == nil || p.core != from {
		return false
	}
	if why := from.requests.pendingKick(t.id); why != nil {
		t.kicked = why
	}
	if !to.requests.addTraveller(t) {
		return false
	}
	p.core, p.way = to, wayHanded
	return true
}

// forgetSession removes a session that has ended in core.
func (r *Router) forgetSession(s *Session) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if p := r.sessions[s.id]; p != nil && p.core == s.core {
		delete(r.sessions, s.id)
	}
}

// forgetTraveller removes a session that ends on its way to a room.
func (r *Router) forgetTraveller(t *traveller, in *Core) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if p := r.sessions[t.id]; p != nil && p.core == in {
		delete(r.sessions, t.id)
	}
}

// Read reads from RouterConfig.Random, for the Cores.
func (r *routerRandom) Read(b []byte) (int, error) {
	r.randomMu.Lock()
	defer r.randomMu.Unlock()
	return r.config.Random.Read(b)
}

// routerRandom makes RouterConfig.Random safe for several goroutines.
type routerRandom Router
