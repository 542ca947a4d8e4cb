package server

import (
	"sync"
	"time"

	"github.com/worldd/worldd/internal/admin"
	"github.com/worldd/worldd/server/session"
	"github.com/worldd/worldd/world"
)

// Span is an operation that has ended, for Config.Trace. Times are the server's.
type Span struct {
	// Name is one of
	//
	//	join  Hooks.Join for a new session
	//	move  from Leave in one room to the end of Join in the next
	//	save  of an image
	//	tick  that took longer than its interval
	Name  string
	Began time.Time
	Took  time.Duration
	Room  string // empty in a server of one world without a name
	Epoch uint64
	Tick  uint64 // 0 of a save
	// Session and User name whose join or move it is; From is the room that a move has left.
	Session uint64
	User    string
	From    string
	// Phases are the parts of a tick: receive, step, replicate, and the work between two ticks.
	Phases [4]time.Duration
	Err    error
}

// tracer passes the spans of a run to Config.Trace. A nil tracer does nothing.
type tracer struct {
	emit  func(Span)
	moves *departures // of all rooms
	room  string
	epoch uint64 // once the run's core exists
	world *world.World
}

// newTracer returns the tracer of a run, or nil without Config.Trace.
func newTracer(emit func(Span), moves *departures, c session.Config) *tracer {
	if emit == nil {
		return nil
	}
	return &tracer{emit: emit, moves: moves, room: c.Room, world: c.World}
}

// setEpoch sets the epoch that the run's core has chosen.
func (t *tracer) setEpoch(epoch uint64) {
	if t != nil {
		t.epoch = epoch
	}
}

// traceHooks returns g with a span for each session that joins or moves.
func (t *tracer) traceHooks(g Hooks) Hooks {
	if t == nil {
		return g
	}
	join, leave := g.Join, g.Leave
	g.Join = func(s *Session) (entity world.Entity, err error) {
		began := time.Now()
		if join != nil {
			entity, err = join(s)
		}
		t.sendJoin(s, began, err)
		return entity, err
	}
	g.Leave = func(s *Session) {
		if s.Ending() == nil { // it moves
			t.moves.noteDeparture(s.ID(), departure{t.room, time.Now()})
		}
		if leave != nil {
			leave(s)
		}
	}
	return g
}

// send completes a span that began at began and ends now.
func (t *tracer) send(s Span, began time.Time) {
	if t != nil {
		s.Began, s.Took, s.Room, s.Epoch = began, time.Since(began), t.room, t.epoch
		t.emit(s)
	}
}

// sendTick sends a tick that took longer than its interval.
func (t *tracer) sendTick(took, interval time.Duration, phases [admin.Phases]time.Duration) {
	if t != nil && took > interval {
		t.send(Span{Name: "tick", Tick: t.world.Tick(), Phases: phases}, time.Now().Add(-took))
	}
}

// sendJoin sends the join of a session, or its move if it has left another room.
func (t *tracer) sendJoin(s *Session, began time.Time, err error) {
	span := Span{Name: "join", Tick: t.world.Tick(), Session: s.ID(), User: s.User(), Err: err}
	if left, moved := t.moves.takeDeparture(s.ID()); moved {
		span.Name, span.From, began = "move", left.room, left.at
	}
	t.send(span, began)
}

// departure is when a session left a room.
type departure struct {
	room string
	at   time.Time
}

// maxDepartures bounds departures: sessions that end between two rooms stay in it.
const maxDepartures = 4096

// departures holds the sessions between two rooms.
type departures struct {
	mu sync.Mutex
	by map[uint64]departure
}

func newDepartures() *departures { return &departures{by: map[uint64]departure{}} }

func (d *departures) noteDeparture(session uint64, left departure) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.by) >= maxDepartures {
		clear(d.by)
	}
	d.by[session] = left
}

func (d *departures) takeDeparture(session uint64) (departure, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	left, found := d.by[session]
	delete(d.by, session)
	return left, found
}
