package session

import (
	"math/bits"

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
		s.progress.tick(s.viewer.StructureUnacked())
	}
	switch hz := s.core.world.TickHz(); {
	case l.fault != nil:
		s.fail(l.fault)
	case s.kicked != nil:
		s.fail(s.kicked)
	case s.expired():
		s.fail(&wire.Error{Code: wire.SessionExpired})
	case !s.over && s.viewer.Exhausted():
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

// apply takes in what datagrams brought, and hands the game the input of the tick
// that comes next. Inputs are repeated in later datagrams, so that one which
// arrives makes up for those that did not.
func (s *Session) apply(datagrams []wire.Input) {
	if s.core.config.Game.Input == nil || s.over || s.kicked != nil {
		return
	}
	next, stats := s.core.replicator.Tick()+1, &s.core.stats
	var late lateInputs
	for _, d := range datagrams {
		for _, in := range d.Inputs {
			switch {
			case in.Tick <= s.inputs.applied: // repeated
			case in.Tick < next:
				late.add(in, next-in.Tick)
			case in.Tick-next < maxInputLead:
				s.inputs.put(in)
			default:
				stats.InputsEarly++
			}
		}
	}
	missed := uint64(bits.OnesCount64(late.seen))
	in, ok := s.inputs.due(next)
	if !ok && missed > 0 {
		in, ok = late.newest, true
		missed--
		stats.InputsLate++
	}
	stats.InputsMissed += missed
	if ok {
		s.inputs.applied = in.Tick
		stats.Inputs++
		s.callInput(s.core.replicator.Config().TickBase+uint64(in.Tick), in.Data)
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

// progress is how far a client's acknowledgements have come, and for how long
// each lane has not moved while something waited there.
type progress struct {
	newest, structure uint32 // acknowledged
	snapshotTicks     int    // since newest rose; a snapshot always waits
	structureTicks    int    // since structure rose, or nothing waited
}

// heard takes an acknowledgement that replication has accepted.
func (p *progress) heard(a wire.Ack) {
	if a.Seen && a.Newest > p.newest {
		p.newest, p.snapshotTicks = a.Newest, 0
	}
	if a.Structure > p.structure {
		p.structure, p.structureTicks = a.Structure, 0
	}
}

// tick is called once in each of an active session's. waits says whether structure
// was sent that is not acknowledged.
func (p *progress) tick(waits bool) {
	p.snapshotTicks++
	p.structureTicks++
	if !waits {
		p.structureTicks = 0
	}
}

// again begins to count anew, over another connection.
func (p *progress) again() { p.snapshotTicks, p.structureTicks = 0, 0 }

// stuck is the time in ticks that the slower lane has not moved.
func (p *progress) stuck() int { return max(p.snapshotTicks, p.structureTicks) }
