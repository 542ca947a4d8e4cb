package session

import (
	"cmp"
	"iter"
	"slices"

	"github.com/worldd/worldd/replication"
	"github.com/worldd/worldd/replication/wire"
)

// roster holds the sessions of a Core, and the connections without a session, each in
// ascending order of id. Only the goroutine that calls Tick may use it.
type roster struct {
	peers      []*Peer
	sessions   []*Session
	replicator *replication.Replicator
	onePerUser bool            // OneSessionPerUser of the Config, or of its Router
	banned     map[string]bool // users
}

// addPeers adds connections that have been opened since the last tick.
func (r *roster) addPeers(opened []*Peer) {
	if len(opened) > 0 {
		r.peers = append(r.peers, opened...)
		slices.SortFunc(r.peers, func(a, b *Peer) int { return cmp.Compare(a.id, b.id) })
	}
}

// removeForwarded removes p, which belongs to another room now, before a hook can reach it. It
// copies the list: Receive iterates over it.
func (r *roster) removeForwarded(p *Peer) {
	r.peers = slices.DeleteFunc(slices.Clone(r.peers), func(x *Peer) bool { return x == p })
}

// removeJoined removes the connections that have a session.
func (r *roster) removeJoined() {
	r.peers = slices.DeleteFunc(r.peers, func(p *Peer) bool { return p.session != nil })
}

func (r *roster) addSession(s *Session) { r.sessions = slices.Insert(r.sessions, r.indexOf(s.id), s) }

// removeHandedOver removes the sessions that continue in another room.
func (r *roster) removeHandedOver() {
	r.sessions = slices.DeleteFunc(r.sessions, func(s *Session) bool { return s.state == stateHandedOver })
}

// removeEnded closes connections without a session that have ended. It removes them and all
// ended sessions, and returns how many it removed.
func (r *roster) removeEnded() int {
	before := r.Len()
	r.sessions = slices.DeleteFunc(r.sessions, (*Session).isOver)
	r.peers = slices.DeleteFunc(r.peers, (*Peer).closeIfEnded)
	return before - r.Len()
}

// abandon removes everything.
func (r *roster) abandon() { r.sessions, r.peers = nil, nil }

// indexOf returns the index of session id, or the index at which to insert it.
func (r *roster) indexOf(id uint64) int {
	i, _ := slices.BinarySearchFunc(r.sessions, id, func(s *Session, id uint64) int { return cmp.Compare(s.id, id) })
	return i
}

// Session returns the session with the given id, or nil. Only the goroutine that calls
// Tick may call it.
func (r *roster) Session(id uint64) *Session {
	if i := r.indexOf(id); i < len(r.sessions) && r.sessions[i].id == id {
		return r.sessions[i]
	}
	return nil
}

// Sessions returns the sessions that have joined and not ended, including away sessions, in
// ascending order of id. Only the goroutine that calls Tick may call it. Sessions may end
// during the iteration.
func (r *roster) Sessions() iter.Seq[*Session] {
	return func(yield func(*Session) bool) {
		for _, s := range r.sessions {
			if !s.isOver() && !yield(s) {
				return
			}
		}
	}
}

// Len returns the number of sessions and of connections without a session.
func (r *roster) Len() int { return len(r.sessions) + len(r.peers) }

// Active returns the number of sessions that have a connection.
func (r *roster) Active() int { return r.countSessions(stateActive) }

// Away returns the number of sessions that wait for their clients to reconnect.
func (r *roster) Away() int { return r.countSessions(stateAway) }

func (r *roster) countSessions(in state) (n int) {
	for _, s := range r.sessions {
		if s.state == in {
			n++
		}
	}
	return n
}

// endSessions ends the sessions that match, with a Goodbye.
func (r *roster) endSessions(why *wire.Error, match func(*Session) bool) {
	for _, s := range r.sessions {
		if match(s) {
			s.endWithGoodbye(why)
		}
	}
}

// makeRoom makes room for one more session from address, where fewer than slots are active. If needed, it
// ends away sessions: connected clients take precedence over clients that may never
// reconnect.
func (r *roster) makeRoom(slots int, address string) {
	for r.Active()+r.Away() >= slots { // a Leave hook may end further sessions by draining the server
		r.evictionCandidate(address).endSilently(&wire.Error{Code: wire.ServerFull})
	}
}

// evictionCandidate returns the session to end for a newcomer from address, or nil if no
// session is away.
func (r *roster) evictionCandidate(address string) *Session {
	var away []*Session
	for _, s := range r.sessions {
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

// isReplaced reports whether s ends when another session of user begins.
func (r *roster) isReplaced(s *Session, user string) bool {
	return r.onePerUser && user != "" && s.user == user
}

// checkUser returns the reason to refuse a session of user among the given number of slots, or nil.
func (r *roster) checkUser(user string, slots int) *wire.Error {
	if r.banned[user] {
		return &wire.Error{Code: wire.Banned}
	}
	others := 0
	for _, s := range r.sessions {
		if s.state == stateActive && !r.isReplaced(s, user) {
			others++
		}
	}
	if others >= slots {
		return errFull(slots)
	}
	return nil
}

// admitUser makes room for a session of user among the given number of slots, or returns the reason to refuse it. It ends other
// sessions only after every check has passed.
func (r *roster) admitUser(user, address string, slots int) *wire.Error {
	if why := r.checkUser(user, slots); why != nil {
		return why
	}
	r.endSessions(&wire.Error{Code: wire.SignedInElsewhere}, func(s *Session) bool { return r.isReplaced(s, user) })
	r.makeRoom(slots, address)
	return nil
}

// applyBans replaces the banned users and ends their sessions.
func (r *roster) applyBans(users map[string]bool) {
	r.banned = users
	r.endSessions(&wire.Error{Code: wire.Banned}, func(s *Session) bool { return users[s.user] })
}

// findResumable returns the session that h asks to resume, or nil if it does not exist or
// its secret or abilities differ. The client does not learn which is the case: its Hello
// begins a new session.
func (r *roster) findResumable(h wire.Hello) *Session {
	if len(h.Secret) == 0 {
		return nil
	}
	s := r.Session(h.Session)
	if s == nil || s.isOver() || s.abilities != h.Abilities || !s.secrets.matchAny(h.Secret) {
		return nil
	}
	return s
}
