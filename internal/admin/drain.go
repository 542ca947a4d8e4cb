package admin

import (
	"context"
	"net/http"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/worldd/worldd/internal/address"
	"github.com/worldd/worldd/replication/wire"
)

const (
	// maxDrain bounds POST /drain?seconds=N.
	maxDrain = 24 * 3600
	// drainTimeout bounds the end of all sessions after that time.
	drainTimeout = 5 * time.Second
)

// drainPlan is the drain that follows a cordon, if there is one.
type drainPlan struct {
	mu       sync.Mutex
	timer    *time.Timer // nil: none is planned
	deadline time.Time
	to       string
}

// plan replaces the planned drain. A server that ends before leaves a timer that does nothing.
func (d *drainPlan) plan(within time.Duration, to string, drain func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.timer != nil {
		d.timer.Stop()
	}
	d.deadline, d.to, d.timer = time.Now().Add(within), to, time.AfterFunc(within, drain)
}

// cancel cancels the planned drain.
func (d *drainPlan) cancel() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.timer != nil {
		d.timer.Stop()
	}
	d.timer, d.deadline, d.to = nil, time.Time{}, ""
}

// drainReport is the JSON of /drain: what is left on a server that is taken out of service.
type drainReport struct {
	State    string     `json:"state"`    // serving, cordoned or draining
	Deadline *time.Time `json:"deadline"` // when the sessions that are left end; null without a planned drain
	To       string     `json:"to"`       // server to which their clients go then
	Players  int        `json:"players"`
	Away     int        `json:"away"`
	Rooms    []roomLeft `json:"rooms"` // with sessions
	// Moving: rooms are being moved to other nodes of the cluster. Stay are those that could not move.
	Moving bool     `json:"moving,omitempty"`
	Stay   []string `json:"stay,omitempty"`
}

// roomLeft is a room with sessions.
type roomLeft struct {
	Name    string `json:"name"`
	State   string `json:"state"`
	Players int    `json:"players"`
	Away    int    `json:"away"`
}

// whatIsLeft is the handler of GET /drain.
func (p pages) whatIsLeft(w http.ResponseWriter, _ *http.Request) {
	report := drainReport{State: "serving", Rooms: []roomLeft{}}
	switch {
	case p.Draining():
		report.State = "draining"
	case p.Cordoned():
		report.State = "cordoned"
	}
	for _, r := range p.Rooms() {
		info := newRoomInfo(r)
		report.Players, report.Away = report.Players+info.Players, report.Away+info.Away
		if info.Players+info.Away > 0 {
			report.Rooms = append(report.Rooms, roomLeft{info.Name, info.State, info.Players, info.Away})
		}
	}
	report.Moving, report.Stay = p.leaving.progress()
	p.planned.mu.Lock()
	if p.planned.timer != nil {
		deadline := p.planned.deadline
		report.Deadline, report.To = &deadline, p.planned.to
	}
	p.planned.mu.Unlock()
	writeJSON(w, report)
}

// uncordon is the handler of POST /uncordon. It comes too late once the sessions have ended.
func (p pages) uncordon(w http.ResponseWriter, _ *http.Request) {
	if p.Draining() {
		http.Error(w, "the server has been drained: restart it to admit clients again", http.StatusConflict)
		return
	}
	p.planned.cancel()
	p.leaving.cancel()
	p.Uncordon()
}

// drain is the handler of POST /drain. With a time it cordons the server, and ends the sessions that are left then. The
// worlds keep ticking until the process ends.
func (p pages) drain(w http.ResponseWriter, r *http.Request) {
	why, to := wire.Error{Code: wire.Draining}, r.FormValue("to")
	if to != "" {
		moved, err := wire.MovedTo(to, nil)
		if err == nil {
			err = address.CheckDial("udp", to)
		}
		if err != nil {
			http.Error(w, "to: "+err.Error(), http.StatusBadRequest)
			return
		}
		why = *moved
	}
	if r.FormValue("seconds") != "" {
		within, ok := durationOf(w, r, 0, maxDrain)
		if !ok {
			return
		}
		p.Cordon()
		p.planned.plan(within, to, func() {
			ctx, cancel := context.WithTimeout(context.Background(), drainTimeout)
			defer cancel()
			err := p.Drain(ctx, why)
			p.Log.Info("the time of the drain is over: the sessions that are left end", zap.Error(err))
		})
		p.whatIsLeft(w, r)
		return
	}
	p.planned.cancel()
	if err := p.Drain(r.Context(), why); err != nil {
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	p.whatIsLeft(w, r)
}
