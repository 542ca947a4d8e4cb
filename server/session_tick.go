package server

import (
	"github.com/worldd/worldd/replication/wire"
)

// receive is the session's part of a tick's first phase.
func (s *Session) receive() {
	if s.state == stateClosed {
		return
	}
	in := &s.inbox
	in.mu.Lock()
	hello, fault, resync := in.hello, in.fault, in.resync
	asked, inputs := in.asked, in.inputs
	in.hello, in.resync, in.asked, in.inputs = nil, false, nil, s.taken[:0]
	s.taken = inputs
	s.core.stats.InputsDropped += in.dropped
	in.dropped = 0
	in.mu.Unlock()

	s.age++
	s.silence++
	if hello != nil {
		s.greet(*hello)
	}
	if s.state == stateActive {
		s.acknowledge(inputs)
		s.apply(inputs)
		s.execute(asked)
		s.resynchronise(resync)
	}
	if s.state == stateActive {
		s.progress.tick(s.viewer.StructureWaits())
	}
	if fault != nil {
		s.fail(fault)
	}
	s.expire()
}

// expire ends sessions that keep their place and do nothing with it.
func (s *Session) expire() {
	hz := s.core.world.TickHz()
	switch {
	case s.state == stateOpen && s.age > helloSeconds*hz:
		s.fail(&wire.Error{Code: wire.Timeout, Detail: "no Hello"})
	case s.state == stateActive && s.silence > silenceSeconds*hz:
		s.fail(&wire.Error{Code: wire.Timeout, Detail: "no datagrams"})
	case s.state == stateActive && s.progress.stuck() > unreadSeconds*hz:
		s.fail(&wire.Error{Code: wire.TooSlow, Detail: "nothing new is acknowledged"})
	}
}

// acknowledge moves the viewer's baselines.
func (s *Session) acknowledge(inputs []wire.Input) {
	for _, input := range inputs {
		s.silence = 0
		if err := s.viewer.Acknowledge(input.Ack); err != nil {
			s.fail(asError(err))
			return
		}
		s.progress.heard(input.Ack)
	}
}

func (s *Session) resynchronise(asked bool) {
	if asked && s.state == stateActive && s.resyncs.AllowN(s.core.now, 1) {
		s.core.stats.Resyncs++
		s.viewer.Resync()
	}
}

// snapshot makes the session's snapshot of the newest frame.
func (s *Session) snapshot() { s.update = s.viewer.Snapshot() }

// deliver hands the snapshot to the connection.
func (s *Session) deliver() {
	s.sendStream(s.update.Stream)
	if s.state == stateActive {
		s.conn.SendSnapshot(s.update.Datagrams)
	}
}

func asError(err error) *wire.Error {
	if e, ok := err.(*wire.Error); ok {
		return e
	}
	return &wire.Error{Code: wire.Internal, Detail: err.Error()}
}
