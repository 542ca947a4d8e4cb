package server

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"time"
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

	conn Conn
}

// roster lists sessions, and connections that are not joined yet, in the order of
// their numbers, those above after. It belongs to the tick.
func (c *Core) roster(after uint64) []sitting {
	all := make([]sitting, 0, min(len(c.sessions)+len(c.peers), 2*maxRoster))
	hz := float64(c.world.TickHz())
	for _, s := range c.sessions {
		if s.id <= after || s.over {
			continue
		}
		if len(all) == maxRoster {
			break
		}
		r := sitting{
			ID: s.id, Name: s.name, User: s.user, Joined: true, Away: s.peer == nil,
			Entity: s.entity.String(), Interest: s.viewer.Interest(), Budget: s.viewer.Budget(),
			AgeS: float64(c.world.Tick()-s.since) / hz, SilentS: float64(s.silence) / hz,
		}
		if s.peer != nil {
			r.conn = s.peer.conn
		}
		all = append(all, r)
	}
	joined := len(all)
	for _, p := range c.peers {
		if p.id > after && !p.closed && len(all) < joined+maxRoster {
			all = append(all, sitting{ID: p.id, AgeS: float64(p.age) / hz, conn: p.conn})
		}
	}
	slices.SortFunc(all, func(a, b sitting) int { return cmp.Compare(a.ID, b.ID) })
	return all[:min(len(all), maxRoster)]
}

// transported adds what the connection knows.
func (s *sitting) transported(c *quicConn) {
	s.Address = c.conn.RemoteAddr().String()
	t := c.conn.ConnectionStats()
	s.RTTMs = float64(t.SmoothedRTT.Microseconds()) / 1000
	s.BytesSent, s.BytesReceived = t.BytesSent, t.BytesReceived
	s.PacketsSent, s.PacketsLost, s.PacketsReceived = t.PacketsSent, t.PacketsLost, t.PacketsReceived
	c.mu.Lock()
	defer c.mu.Unlock()
	s.Queued, s.Unsent = len(c.out), c.count
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
	all := []sitting{} // [] in JSON, not null
	if err := s.loop.ask(r.Context(), func() { all = append(all, s.core.roster(after)...) }); err != nil {
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	for i := range all {
		if c, ok := all[i].conn.(*quicConn); ok {
			all[i].transported(c)
		}
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(slices.Clip(all)) // an operator who has left needs none
}
