package admin

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/worldd/worldd/internal/quicserve"
	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/server/session"
)

// maxRoster bounds one answer of /sessions; ?after=ID goes on from there.
const maxRoster = 1000

// sitting is one session as /sessions tells of it. The game's part is of a tick,
// the transport's of the moment.
type sitting struct {
	ID      uint64  `json:"id"`
	Name    string  `json:"name"`
	User    string  `json:"user"`
	Joined  bool    `json:"joined"`
	Away    bool    `json:"away"` // its client may come again
	Entity  string  `json:"entity"`
	AgeS    float64 `json:"age_s"`
	SilentS float64 `json:"silent_s"` // since the last datagram
	// Interest is how many entities it is shown, Budget how many bytes it may be
	// sent now; it is negative after a burst of structure.
	Interest int `json:"interest"`
	Budget   int `json:"budget_bytes"`

	Address         string  `json:"address"`
	RTTMs           float64 `json:"rtt_ms"`
	Queued          int     `json:"queued_bytes"` // of the stream
	Unsent          int     `json:"queued_datagrams"`
	BytesSent       uint64  `json:"bytes_sent"` // by the transport, packet headers included
	BytesReceived   uint64  `json:"bytes_received"`
	PacketsSent     uint64  `json:"packets_sent"`
	PacketsLost     uint64  `json:"packets_lost"`
	PacketsReceived uint64  `json:"packets_received"`
}

// sittingOf has no part of the transport yet.
func sittingOf(i session.Info) sitting {
	s := sitting{
		ID: i.ID, Name: i.Name, User: i.User, Joined: i.Joined, Away: i.Away,
		AgeS: i.Age, SilentS: i.Silent, Interest: i.Interest, Budget: i.Budget,
	}
	if i.Joined {
		s.Entity = i.Entity.String()
	}
	return s
}

// transported adds what the connection knows.
func (s *sitting) transported(t quicserve.ConnStats) {
	s.Address = t.Address
	s.RTTMs = float64(t.RTT.Microseconds()) / 1000
	s.Queued, s.Unsent = t.QueuedBytes, t.QueuedDatagrams
	s.BytesSent, s.BytesReceived = t.BytesSent, t.BytesReceived
	s.PacketsSent, s.PacketsLost, s.PacketsReceived = t.PacketsSent, t.PacketsLost, t.PacketsReceived
}

// sessions is the handler of /sessions.
func (p pages) sessions(w http.ResponseWriter, r *http.Request) {
	after := uint64(0)
	if text := r.FormValue("after"); text != "" {
		var err error
		if after, err = strconv.ParseUint(text, 10, 64); err != nil {
			http.Error(w, "after: want the number of a session", http.StatusBadRequest)
			return
		}
	}
	var infos []session.Info
	if err := p.Ask(r.Context(), func() { infos = p.Core.Infos(after, maxRoster) }); err != nil {
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	all := make([]sitting, len(infos)) // [] in JSON, not null
	for i, info := range infos {
		all[i] = sittingOf(info)
		if c, ok := info.Conn.(*quicserve.Conn); ok {
			all[i].transported(c.Stats())
		}
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(all) // an operator who has left needs none
}

// kick is the handler of POST /sessions/ID/kick?reason=TEXT.
func (p pages) kick(w http.ResponseWriter, r *http.Request) {
	id, err := strconv.ParseUint(r.PathValue("id"), 10, 64)
	reason := r.FormValue("reason")
	if err != nil || len(reason) > wire.MaxText {
		http.Error(w, fmt.Sprintf("want POST /sessions/ID/kick?reason=TEXT, of at most %d bytes", wire.MaxText), http.StatusBadRequest)
		return
	}
	there := false
	if err := p.Ask(r.Context(), func() {
		session := p.Core.Session(id)
		if there = session != nil; there {
			session.Kick(reason)
		}
	}); err != nil {
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	if !there {
		http.Error(w, fmt.Sprintf("there is no session %d", id), http.StatusNotFound)
	}
}

var errNoQlog = errors.New("qlog is off: start the server with a folder for it")

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
	var of []session.Info
	if err := p.Ask(r.Context(), func() { of = p.Core.Infos(id-1, 1) }); err != nil {
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	if len(of) == 0 || of[0].ID != id {
		http.Error(w, fmt.Sprintf("there is no session %d", id), http.StatusNotFound)
		return
	}
	c, ok := of[0].Conn.(*quicserve.Conn)
	if !ok {
		http.Error(w, "it has no connection at present", http.StatusNotFound)
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
