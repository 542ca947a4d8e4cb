package session

import (
	"slices"
	"sync"

	"github.com/worldd/worldd/replication/wire"
)

// requests hold the requests of other goroutines to a Core until its next tick. Any
// goroutine may call the methods.
type requests struct {
	mu       sync.Mutex
	opened   []*Peer
	arriving []*traveller // sessions from other rooms
	departed []*Session   // they have entered other rooms
	active   int          // sessions with a connection, after the newest Receive
	away     int          // those without
	places   places
	kicks    []kick
	bans     map[string]bool // replaces Core.banned; nil: no change
	draining bool            // new sessions are refused
	ending   wire.Error      // reason given to sessions and connections when the core ends
	closed   bool            // further requests are refused
	limits   limits
}

// kick is a session to end, and the reason.
type kick struct {
	id     uint64
	reason *wire.Error
}

// limits are the limits that SetLimits may change.
type limits struct{ maxSessions, budget int }

// tickRequests are the requests that one tick takes.
type tickRequests struct {
	opened []*Peer
	kicks  []kick
	bans   map[string]bool
	budget int
	gone   []*Session
}

// addPeer hands p over to c, and returns false if c has closed. r must be c's requests.
func (r *requests) addPeer(c *Core, p *Peer) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return false
	}
	p.enterRoom(c)
	r.opened = append(r.opened, p)
	return true
}

// addTraveller returns false if the core has closed. From then on the traveller itself counts for the place that was held
// for it.
func (r *requests) addTraveller(t *traveller) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return false
	}
	r.places.take(t.place)
	r.arriving = append(r.arriving, t)
	return true
}

// noteSessions records the numbers of sessions with and without a connection.
func (r *requests) noteSessions(active, away int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.active, r.away = active, away
}

// addDeparted makes the next tick forget a session.
func (r *requests) addDeparted(s *Session) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.departed = append(r.departed, s)
}

// holdTraveller keeps t while a hook of the game runs, so that Abandon finds it after a panic.
func (r *requests) holdTraveller(t *traveller) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.arriving = append(r.arriving, t)
}

func (r *requests) releaseTraveller(t *traveller) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.arriving = slices.DeleteFunc(r.arriving, func(x *traveller) bool { return x == t })
}

// travellers returns the first n travellers that need not wait for the disk of the room that they have left. They stay in
// the list until releaseTraveller.
func (r *requests) travellers(n int) []*traveller {
	r.mu.Lock()
	ready := slices.Clone(r.arriving)
	r.mu.Unlock()
	ready = slices.DeleteFunc(ready, func(t *traveller) bool {
		if t.crossing != nil {
			return !t.mayCross()
		}
		return t.refused == nil && !t.mayEnter() && !t.origin.core.requests.hasClosed()
	})
	return ready[:min(len(ready), n)]
}

// hasTraveller reports whether a traveller that waits for a tick matches.
func (r *requests) hasTraveller(match func(*traveller) bool) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.ContainsFunc(r.arriving, match)
}

// isReturning reports whether t waits for a tick in which it returns.
func (r *requests) isReturning(t *traveller) bool {
	return r.hasTraveller(func(x *traveller) bool { return x == t })
}

// Kick ends session id at the next tick, like Session.Kick. It does nothing if the session
// has ended. It may be called from any goroutine.
func (r *requests) Kick(id uint64, reason string) {
	r.endLater(id, &wire.Error{Code: wire.Kicked, Detail: reason})
}

// endLater ends a session at the next tick.
func (r *requests) endLater(id uint64, why *wire.Error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.kicks = append(r.kicks, kick{id, why})
}

// pendingKick returns the reason of a kick that no tick has processed yet, or nil.
func (r *requests) pendingKick(id uint64) (why *wire.Error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, k := range r.kicks {
		if k.id == id {
			why = k.reason
		}
	}
	return why
}

// SetBans replaces the set of banned users. At the next tick, the sessions of these users
// end with Banned, including sessions that are away, and new ones are refused. It may be
// called from any goroutine.
func (r *requests) SetBans(users []string) {
	bans := make(map[string]bool, len(users))
	for _, user := range users {
		bans[user] = user != "" // "" is the user of every session without one
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.bans = bans
}

// takeForTick returns the requests for a tick to apply. It applies kicks of travellers
// itself.
func (r *requests) takeForTick() tickRequests {
	r.mu.Lock()
	defer r.mu.Unlock()
	taken := tickRequests{r.opened, r.kicks, r.bans, r.limits.budget, r.departed}
	r.opened, r.kicks, r.bans, r.departed = nil, nil, nil, nil
	for _, k := range taken.kicks {
		for _, t := range r.arriving {
			if t.id == k.id {
				t.kicked = k.reason
			}
		}
	}
	return taken
}

func (r *requests) setLimits(l limits) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.limits = l
}

// MaxSessions returns the current limit: Config.MaxSessions or the limit set by SetLimits.
// It may be called from any goroutine.
func (r *requests) MaxSessions() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.limits.maxSessions
}

func (r *requests) setDraining() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.draining = true
}

// Draining reports whether Drain was called. It may be called from any goroutine.
func (r *requests) Draining() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.draining
}

// EndWith replaces Draining as the reason that Drain, Shutdown and Close give to clients. It may be
// called from any goroutine.
func (r *requests) EndWith(why wire.Error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ending = why
}

// endReason returns the reason given to sessions and connections when the core ends.
func (r *requests) endReason() *wire.Error {
	r.mu.Lock()
	defer r.mu.Unlock()
	why := r.ending
	return &why
}

// close refuses further requests, and returns the connections and sessions that no tick has
// processed.
func (r *requests) close() (opened []*Peer, travellers []*traveller) {
	r.mu.Lock()
	defer r.mu.Unlock()
	opened, travellers = r.opened, r.arriving
	r.closed, r.opened, r.arriving = true, nil, nil
	return opened, travellers
}

// closeIfNone refuses further requests if neither connections nor sessions wait, and
// reports whether it did.
func (r *requests) closeIfNone() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.opened)+len(r.arriving) > 0 {
		return false
	}
	r.closed = true
	return true
}

func (r *requests) hasClosed() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.closed
}
