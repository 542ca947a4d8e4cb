package client

import (
	"slices"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/internal/fault"
	"github.com/worldd/worldd/replication/wire"
)

// hello asks to join, or to go on with the session that there was.
func (s *Session) hello() wire.Hello {
	c := s.config
	h := wire.Hello{Protocol: wire.Version, Schema: c.Schema.Hash(), Tables: c.Tables.Version(), Epoch: c.Epoch, Token: c.Token, Name: c.Name}
	if w := s.welcome; w != nil {
		h.Epoch = w.Epoch
		if len(w.Secret) > 0 {
			h.Session, h.Secret, h.Structure = w.Session, w.Secret, s.replica.applied
			if fault.ResumeAhead {
				h.Structure++
			}
		}
	}
	return h
}

// Reconnect begins again over another connection, after the one before ended: a
// new Hello waits in TakeStream. The replica stays, and Resolve goes on answering
// for it, until the next Welcome says whether the session goes on
// (Welcome.Resumed) or another one begins, to which all handles are unknown that
// it has not shown again. Commands without an answer end in ErrUnanswered. After
// wire.EpochMismatch everything is Stale, and any world is welcome.
func (s *Session) Reconnect() {
	if wire.CodeOf(s.err) == wire.EpochMismatch {
		s.forget()
	}
	s.Lost()
	if !fault.ResumeKeepsHalf {
		s.frames = wire.FrameReader{}
	}
	s.out, s.err = nil, nil
	s.send(wire.TypeHello, s.hello().Append(nil))
}

// Lost tells the session that its connection has ended: nothing is sent before
// Reconnect, and commands without an answer end in ErrUnanswered.
func (s *Session) Lost() {
	s.greeted = false
	s.giveUpCommands()
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
	if m.Resumed == 0 || fault.ResumeForgets {
		s.entity = 0
		next := NewReplica(s.codec, m.GenerationFloor, m.MaxSlots, s.config.Observer)
		if s.replica != nil {
			s.replica.leaveAll()
			next.stats = s.replica.stats
		}
		s.replica = next
	}
	s.welcome, s.greeted, s.forgot = m, true, false
	return nil
}

// forget drops everything that was known of a world that is gone.
func (s *Session) forget() {
	if s.replica != nil {
		s.replica.destroyAll()
	}
	s.replica, s.welcome, s.entity, s.faultsKnown = nil, nil, 0, 0
	s.config.Epoch, s.forgot = 0, true
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

// destroyAll tells that everybody who may live is no more.
func (r *Replica) destroyAll() {
	for slot := range r.cells.known() {
		if c := r.cells.peek(slot); c.state == wire.Live || c.state == wire.Hidden {
			r.destroy(c, bulk.NewHandle(slot, c.generation), wire.ReasonDestroyed)
		}
	}
}
