package session

import "github.com/worldd/worldd/replication/wire"

// RouterConfig.OneSessionPerUser: a user has one session in all rooms of a process.

// reserveUser reports whether a session of user may begin in a room now. Otherwise it ends the user's sessions in other rooms and between
// rooms, and the room asks again at its next tick: the user's newest session loads what Leave of the older ones has saved. If two sessions begin
// at the same time in two rooms, the later one stays. After true the room calls releaseUser.
// The goroutine that calls the Tick of in calls reserveUser.
func (r *Router) reserveUser(user string, in *Core) bool {
	if r == nil || !r.config.OneSessionPerUser || user == "" {
		return true
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	free := !r.joining[user]
	for id, p := range r.sessions {
		switch {
		case p.user != user || p.core.requests.hasClosed():
		case p.core == in && in.Session(id) != nil: // admitUser ends it
		default:
			free = false
			r.endPlaced(id, p)
		}
	}
	if free && r.config.VoidPasses != nil {
		free = r.config.VoidPasses(user)
	}
	if free {
		r.joining[user] = true
	}
	return free
}

// endPlaced ends a session for a newer one of its user. Callers hold r.mu.
func (r *Router) endPlaced(id uint64, p *placement) {
	if !p.ending {
		p.ending = true
		p.core.requests.endLater(id, &wire.Error{Code: wire.SignedInElsewhere})
	}
}

// releaseUser follows reserveUser: the session has begun and is recorded, or was refused.
func (r *Router) releaseUser(user string) {
	if r == nil || user == "" {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.joining, user)
}

// endOthers ends the other sessions of the user of s, which rooms have restored while s began.
func (r *Router) endOthers(s *Session) {
	if r == nil || !r.config.OneSessionPerUser || s.user == "" {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.makeNewest(s)
}

// makeNewest makes s the newest session of its user, and ends the others. Callers hold r.mu.
func (r *Router) makeNewest(s *Session) {
	r.newest.recordSession(s.user, s.id)
	for id, p := range r.sessions {
		if id != s.id && p.user == s.user {
			r.endPlaced(id, p)
		}
	}
}
