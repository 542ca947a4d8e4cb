package admin

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/worldd/worldd/internal/quicserve"
	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/server/session"
)

// maxSessionsPage bounds one page of /sessions; ?after=ID returns the next.
const maxSessionsPage = 1000

// sessionInfo is one session in the JSON of /sessions. Its counters are from one tick, its
// transport's data from the time of the request.
type sessionInfo struct {
	ID      uint64  `json:"id"`
	Room    string  `json:"room"`
	Name    string  `json:"name"`
	User    string  `json:"user"`
	Joined  bool    `json:"joined"`
	Away    bool    `json:"away"` // its client may reconnect
	Entity  string  `json:"entity"`
	AgeS    float64 `json:"age_s"`
	SilentS float64 `json:"silent_s"` // since the last datagram
	// Interest is the number of entities in its view. Budget is the bytes that may be sent to
	// it now, negative after a burst of structure.
	Interest int `json:"interest"`
	Budget   int `json:"budget_bytes"`
	// Loss is the estimated share of snapshots lost.
	Loss float64 `json:"loss"`

	quicserve.ConnStats
}

// newSessionInfo returns i without the transport's fields.
func newSessionInfo(i session.Info) sessionInfo {
	s := sessionInfo{
		ID: i.ID, Name: i.Name, User: i.User, Joined: i.Joined, Away: i.Away,
		AgeS: i.Age, SilentS: i.Silent, Interest: i.Interest, Budget: i.Budget, Loss: i.Loss,
	}
	if i.Joined {
		s.Entity = i.Entity.String()
	}
	return s
}

func (p pages) sessions(w http.ResponseWriter, r *http.Request) {
	after := uint64(0)
	if text := r.FormValue("after"); text != "" {
		var err error
		if after, err = strconv.ParseUint(text, 10, 64); err != nil {
			http.Error(w, "after: want the ID of a session", http.StatusBadRequest)
			return
		}
	}
	type found struct {
		session.Info
		room string
	}
	var infos []found
	if err := p.ask(r.Context(), r.FormValue("room"), func(c *session.Core) {
		for _, info := range c.Infos(after, maxSessionsPage) {
			infos = append(infos, found{info, c.Config().Room})
		}
	}); err != nil {
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	slices.SortFunc(infos, func(a, b found) int { return cmp.Compare(a.ID, b.ID) })
	infos = infos[:min(len(infos), maxSessionsPage)]
	all := make([]sessionInfo, len(infos)) // [] in JSON, not null
	for i, info := range infos {
		all[i] = newSessionInfo(info.Info)
		all[i].Room = info.room
		if c, ok := info.Conn.(*quicserve.Conn); ok {
			all[i].ConnStats = c.Stats()
		}
	}
	writeJSON(w, all)
}

// kick is the handler of POST /sessions/ID/kick?reason=TEXT.
func (p pages) kick(w http.ResponseWriter, r *http.Request) {
	id, err := strconv.ParseUint(r.PathValue("id"), 10, 64)
	reason := r.FormValue("reason")
	if err != nil || len(reason) > wire.MaxText {
		http.Error(w, fmt.Sprintf("want POST /sessions/ID/kick?reason=TEXT, with TEXT of at most %d bytes", wire.MaxText), http.StatusBadRequest)
		return
	}
	switch found, err := p.Kick(r.Context(), id, reason); {
	case err != nil:
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
	case !found:
		http.Error(w, fmt.Sprintf("no session %d", id), http.StatusNotFound)
	}
}

var errNoQlog = errors.New("qlog is off: start the server with a qlog folder")

// qlog is the handler of POST /sessions/ID/qlog?seconds=10.
func (p pages) qlog(w http.ResponseWriter, r *http.Request) {
	seconds := 10.0
	id, err := strconv.ParseUint(r.PathValue("id"), 10, 64)
	if text := r.FormValue("seconds"); err == nil && text != "" {
		seconds, err = strconv.ParseFloat(text, 64)
	}
	if err != nil || !(seconds > 0) || seconds > quicserve.MaxQlog.Seconds() {
		http.Error(w, fmt.Sprintf("want POST /sessions/ID/qlog?seconds=N, with N up to %v", quicserve.MaxQlog.Seconds()), http.StatusBadRequest)
		return
	}
	if !p.Quic.Records() {
		http.Error(w, errNoQlog.Error(), http.StatusNotFound)
		return
	}
	var found *session.Info
	if err := p.ask(r.Context(), "", func(c *session.Core) {
		if infos := c.Infos(id-1, 1); len(infos) > 0 && infos[0].ID == id {
			found = &infos[0]
		}
	}); err != nil {
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	if found == nil {
		http.Error(w, fmt.Sprintf("no session %d", id), http.StatusNotFound)
		return
	}
	c, ok := found.Conn.(*quicserve.Conn)
	if !ok {
		http.Error(w, "the session has no connection: its client is away", http.StatusNotFound)
		return
	}
	name, err := p.Quic.Record(c, id, time.Duration(seconds*float64(time.Second)))
	switch {
	case errors.Is(err, quicserve.ErrQlogRuns), errors.Is(err, quicserve.ErrTooManyQlogs):
		http.Error(w, err.Error(), http.StatusConflict)
	case err != nil:
		http.Error(w, err.Error(), http.StatusInternalServerError)
	default:
		_, _ = io.WriteString(w, name+"\n")
	}
}
