package server

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/worldd/worldd/internal/quicserve"
	"github.com/worldd/worldd/server/session"
)

const (
	// maxRoster bounds one answer of /sessions; ?after=ID goes on from there.
	maxRoster = 1000
	// askTimeout is how long the operator's port waits for the tick.
	askTimeout = time.Second
)

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

var errNoTick = errors.New("the world does not tick")

// ask runs f between two ticks, on the goroutine that owns the world (S1).
func (l *loop) ask(ctx context.Context, f func()) error {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	done := make(chan struct{})
	select {
	case l.asked <- func() { f(); close(done) }:
	case <-ctx.Done():
		return errNoTick
	}
	<-done // whoever took it is running it
	return nil
}

// answer runs one question, if there is one.
func (l *loop) answer() {
	select {
	case f := <-l.asked:
		f()
	default:
	}
}

// sessions is the handler of /sessions.
func (s *Server) sessions(w http.ResponseWriter, r *http.Request) {
	after := uint64(0)
	if text := r.FormValue("after"); text != "" {
		var err error
		if after, err = strconv.ParseUint(text, 10, 64); err != nil {
			http.Error(w, "after: want the number of a session", http.StatusBadRequest)
			return
		}
	}
	var infos []session.Info
	if err := s.loop.ask(r.Context(), func() { infos = s.core.Infos(after, maxRoster) }); err != nil {
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
