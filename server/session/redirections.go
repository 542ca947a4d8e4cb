package session

import (
	"sync"
	"time"

	"github.com/worldd/worldd/replication/wire"
)

const (
	// redirectionTime is how long the redirection of a session is repeated: about as long as a token for another server is good.
	redirectionTime = 15 * time.Second
	// maxRedirections bounds the sessions that are remembered.
	maxRedirections = 1 << 14
)

// redirections remembers the sessions that have ended with the code Moved. The close of a connection may overtake the message that has the
// address. A client that then resumes its session is redirected again: a new session here would have the player whom the other server expects.
type redirections struct {
	mu sync.Mutex
	of map[uint64]*redirection // by session
}

// redirection is a session that has ended.
type redirection struct {
	secrets secrets
	to      *wire.Error
	ended   milestone // before which a crash may bring the session back
	until   time.Time // zero: expire has not seen it yet
}

func newRedirections() *redirections { return &redirections{of: map[uint64]*redirection{}} }

// add remembers a session that ends with why, if its client is redirected and can resume it.
func (r *redirections) add(id uint64, s secrets, why *wire.Error, ended milestone) {
	if why.Code != wire.Moved || len(s.newest) == 0 {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.of) < maxRedirections {
		r.of[id] = &redirection{secrets: s, to: why, ended: ended}
	}
}

// find returns the redirection of the session that h resumes, or nil. Until the end of the session is durable, the error has the code Timeout.
func (r *redirections) find(h *wire.Hello) *wire.Error {
	if len(h.Secret) == 0 {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	x := r.of[h.Session]
	switch {
	case x == nil || !x.secrets.matchAny(h.Secret):
		return nil
	case !x.ended.isDurable():
		return &wire.Error{Code: wire.Timeout, Detail: "the session is on its way to another server: connect again"}
	}
	return x.to
}

// expire forgets old sessions. Call it several times a second.
func (r *redirections) expire(now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for id, x := range r.of {
		switch {
		case x.until.IsZero():
			x.until = now.Add(redirectionTime)
		case now.After(x.until):
			delete(r.of, id)
		}
	}
}
