package server

import (
	"github.com/worldd/worldd/replication"
	"github.com/worldd/worldd/replication/wire"
)

// receive is the session's part of a tick's first phase.
func (s *Session) receive() {
	if s.over {
		return
	}
	if s.peer == nil {
		s.wait()
		return
	}
	s.silence++
	l := s.peer.inbox.open(s.peer.spare)
	s.peer.spare = l.inputs
	s.core.stats.InputsDropped += l.dropped
	s.acknowledge(l.inputs)
	s.apply(l.inputs)
	s.execute(l.commands)
	s.resynchronise(l.resync)
	if !s.over {
		s.progress.tick(s.viewer.StructureWaits())
	}
	switch hz := s.core.world.TickHz(); {
	case l.fault != nil:
		s.fail(l.fault)
	case s.kicked != nil:
		s.fail(s.kicked)
	case s.expired():
		s.fail(&wire.Error{Code: wire.SessionExpired})
	case !s.over && s.viewer.Spent():
		s.fail(&wire.Error{Code: wire.Spent})
	case s.silence > silenceSeconds*hz:
		s.lose(&wire.Error{Code: wire.Timeout, Detail: "no datagrams"})
	case s.progress.stuck() > unreadSeconds*hz:
		s.fail(&wire.Error{Code: wire.TooSlow, Detail: "nothing new is acknowledged"})
	}
}

// expired reports whether the time that the session's Admission granted is over.
func (s *Session) expired() bool { return s.core.world.Tick() >= s.ends }

// acknowledge moves the viewer's baselines.
func (s *Session) acknowledge(inputs []wire.Input) {
	for _, input := range inputs {
		s.heard()
		if err := s.viewer.Acknowledge(input.Ack); err != nil {
			s.fail(asError(err))
			return
		}
		s.progress.heard(input.Ack)
	}
}

func (s *Session) resynchronise(asked bool) {
	switch {
	case !asked || s.over:
	case s.resyncs.AllowN(s.core.now, 1):
		s.core.stats.Resyncs++
		s.viewer.Resync()
	default:
		s.core.stats.ResyncsDropped++
	}
}

// deliver hands the snapshot to the connection, unless the session has ended since it
// was made: nothing follows a goodbye.
func (s *Session) deliver(update replication.Update) {
	if s.over {
		return
	}
	s.sendStream(update.Stream)
	if !s.over {
		s.peer.conn.SendSnapshot(update.Datagrams)
	}
}

func asError(err error) *wire.Error {
	if e, ok := err.(*wire.Error); ok {
		return e
	}
	return &wire.Error{Code: wire.Internal, Detail: err.Error()}
}
