package client

import (
	"slices"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/replication/wire"
)

// hello asks to join, or to go on with the session that there was, or else for a new
// session: epoch 0 takes any world, so that a client needs one handshake either way.
func (s *Session) hello() wire.Hello {
	c := s.config
	h := wire.Hello{Protocol: wire.Version, Schema: c.Schema.Hash(), Tables: c.Tables.Version(), Epoch: c.Epoch, Token: c.Token, Name: c.Name}
	if w := s.welcome; w != nil {
		h.Epoch = 0
		if len(w.Secret) > 0 {
			h.Session, h.Secret, h.Structure = w.Session, w.Secret, s.replica.applied
		}
	}
	return h
}

// Lost tells the session that its connection has ended, and why. The replica
// stays as it is, and Resolve goes on answering for it; after wire.EpochMismatch
// the world is gone, and everything is Stale. Commands without an answer end in
// ErrUnanswered (C5), and nothing is sent before Reconnect.
func (s *Session) Lost(why error) {
	s.greeted = false
	lost := s.unanswered
	s.unanswered = nil
	for _, f := range lost {
		s.stats.Unanswered++
		s.finish(f, Result{ID: f.result.ID, Target: f.result.Target, Err: ErrUnanswered})
	}
	if wire.CodeOf(why) == wire.EpochMismatch {
		s.forget()
	}
}

// Reconnect begins again over another connection, after Lost: a new Hello waits in
// TakeStream. The Welcome says whether the session resumes (Welcome.Resumed) or another
// one begins. In a new session of the same run, handles that were Stale stay Stale, and
// all others are Pending until it shows them. If the Welcome names another epoch, all
// entities are destroyed first: Stale, as after wire.EpochMismatch.
func (s *Session) Reconnect() {
	s.frames = wire.FrameReader{}
	s.out, s.err, s.goodbye = nil, nil, false
	s.send(wire.TypeHello, s.hello().Append(nil))
}

// begin takes a Welcome: the session goes on, or a new one begins.
func (s *Session) begin(m *wire.Welcome) error {
	if m.Resumed == 1 {
		switch was := s.welcome; {
		case was == nil || len(was.Secret) == 0 || was.Session != m.Session || was.Epoch != m.Epoch:
			return protocolError("session %d is gone on with, which was not asked for", m.Session)
		case was.GenerationFloor != m.GenerationFloor || was.MaxSlots != m.MaxSlots:
			return protocolError("session %d goes on in another world", m.Session)
		}
	}
	if was := s.welcome; was != nil && was.Epoch != m.Epoch {
		s.forget()
	}
	if m.Resumed == 0 {
		sameRun, before := s.welcome != nil && s.welcome.Epoch == m.Epoch, s.replica
		if before != nil {
			before.leaveAll()
		}
		s.renew(m.GenerationFloor, m.MaxSlots, int(m.TickHz))
		if sameRun {
			s.replica.inheritStale(before)
		}
	}
	s.welcome, s.greeted = m, true
	if s.taken != nil {
		s.taken()
	}
	return nil
}

// forget drops everything that was known of a world that is gone. Every handle is
// Stale, as it is of a world without slots.
func (s *Session) forget() {
	if s.replica != nil {
		s.replica.destroyAll()
	}
	s.renew(0, 0, 0)
	s.welcome, s.config.Epoch = nil, 0
}

// renew begins an empty replica, which goes on counting, and a clock that knows
// nothing yet of the server's time.
func (s *Session) renew(floor, maxSlots uint32, tickHz int) {
	next := newReplica(s.codec, floor, maxSlots, s.config.limits(), s.config.Observer)
	if s.replica != nil {
		next.stats = s.replica.stats
	}
	s.replica, s.entity = next, 0
	s.clock, s.renderer, s.inputs = clock{hz: tickHz}, renderer{}, inputs{}
}

// leaveAll tells that everybody is out of view, as the first thing that a new
// session knows.
func (r *Replica) leaveAll() {
	for _, e := range slices.Clone(r.entities) {
		c := r.cells.at(e.handle.Index())
		r.drop(c)
		c.state = wire.Hidden
		r.stats.Leaves++
		if f := r.observer.Leave; f != nil {
			f(e.handle, wire.ReasonLeftInterest)
		}
	}
}

// inheritStale takes over which handles were Stale in an earlier session of the same
// run. Live and hidden entities may have died since, or may be hidden from this session:
// they are Pending again, and their slots' earlier tenants stay Stale (C3).
func (r *Replica) inheritStale(before *Replica) {
	for slot, c := range before.cells.known() {
		g := c.generation
		if c.state != wire.Stale {
			g = max(g, 2) - 2 // the tenant before; generations of tenants are odd
		}
		if g > 0 {
			*r.cells.at(slot) = cell{generation: g, state: wire.Stale}
		}
	}
}

// destroyAll tells that everybody who may live is no more.
func (r *Replica) destroyAll() {
	for slot, c := range r.cells.known() {
		if c.state == wire.Live || c.state == wire.Hidden {
			r.destroy(c, bulk.NewHandle(slot, c.generation), wire.ReasonDestroyed)
		}
	}
}
