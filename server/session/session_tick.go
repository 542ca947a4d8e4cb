package session

import (
	"golang.org/x/time/rate"

	"github.com/worldd/worldd/replication"
	"github.com/worldd/worldd/replication/wire"
)

// receiveMessages processes one tick's inbox, then checks the session's limits.
func (s *Session) receiveMessages() {
	if s.isOver() {
		return
	}
	if s.state == stateAway {
		s.tickAway()
		return
	}
	s.silentTicks++
	l := s.peer.inbox.takeMessages(s.peer.spare)
	s.peer.spare = l.inputs
	s.core.stats.InputsDropped += l.dropped
	s.travel.countArrivals(&l)
	s.applyAcks(l.inputs)
	s.applyInputs(l.inputs)
	s.executeCommands(l.commands)
	s.answerResync(l.resync)
	if !s.isOver() {
		s.progress.countTick(s.viewer.StructureUnacked())
	}
	switch hz := s.core.world.TickHz(); {
	case l.fault != nil:
		s.endWithGoodbye(l.fault)
	case s.kicked != nil:
		s.endWithGoodbye(s.kicked)
	case s.hasExpired(s.core.world.Tick()):
		s.endWithGoodbye(&wire.Error{Code: wire.SessionExpired})
	case !s.isOver() && s.viewer.Numbers().Exhausted():
		s.endWithGoodbye(&wire.Error{Code: wire.Spent})
	case s.silentTicks > silenceSeconds*hz:
		s.loseConnection(&wire.Error{Code: wire.Timeout, Detail: "no datagrams"})
	case s.progress.stuckTicks() > stuckSeconds*hz:
		s.loseConnection(&wire.Error{Code: wire.Timeout, Detail: "the stream brings nothing new"})
	case s.progress.stalledTicks() > stalledSeconds*hz:
		s.endWithGoodbye(&wire.Error{Code: wire.TooSlow, Detail: "nothing new is acknowledged"})
	}
}

// applyAcks passes the client's acknowledgements to its viewer.
func (s *Session) applyAcks(inputs []wire.Input) {
	for _, input := range inputs {
		s.silentTicks = 0
		if input.Ack.Structure < s.travel.fence {
			continue // meant for an earlier room
		}
		if s.secrets.confirmNewest() {
			s.core.config.Router.recordPlacement(s)
		}
		if err := s.viewer.Acknowledge(input.Ack); err != nil {
			s.endWithGoodbye(asError(err))
			return
		}
		s.progress.recordAck(input.Ack)
	}
}

// applyInputs queues the inputs of the tick's datagrams, and passes the input for the next
// tick to the game.
func (s *Session) applyInputs(datagrams []wire.Input) {
	if s.core.input == nil || s.isOver() || s.kicked != nil {
		return
	}
	next, stats := s.core.replicator.Tick()+1, &s.core.stats
	late := s.inputs.queueDatagrams(datagrams, s.travel.fence, next, stats)
	in, ok := s.inputs.takeInput(next, late, stats)
	if !ok {
		return
	}
	s.viewer.NoteInput(in.Tick)
	if err := s.callInput(&in); err != nil {
		s.endWithGoodbye(asError(err))
	}
}

// callInput runs the game's function for inputs. An error is the client's fault.
func (s *Session) callInput(in *wire.TickInput) error {
	defer s.containPanic(HookInput)
	defer s.core.timer.end(HookInput, s.id, "", s.core.timer.begin())
	s.setView(viewOf(in))
	defer s.setView(view{})
	defer s.endInput()
	return s.core.input(s, s.core.replicator.Config().TickBase+uint64(in.Tick), in.Data)
}

// resyncs bounds a client's requests for the full state.
type resyncs struct {
	limiter  *rate.Limiter
	reported bool // OnDiverge has been called
}

func (s *Session) answerResync(asked bool) {
	if asked && !s.isOver() && s.viewer.Simulates() {
		s.core.stats.PredictionFaults++
		if !s.resyncs.reported {
			s.core.noteDivergence(s)
		}
		s.resyncs.reported = true
	}
	switch {
	case !asked || s.isOver():
	case s.resyncs.limiter.AllowN(s.core.now, 1):
		s.core.stats.Resyncs++
		s.viewer.Resync()
	default:
		s.core.stats.ResyncsDropped++
	}
}

// sendSnapshot passes a snapshot to the connection, unless the session ended after it was
// encoded: nothing follows a Goodbye.
func (s *Session) sendSnapshot(update replication.Update) {
	if s.isOver() {
		return
	}
	s.sendStream(update.Stream)
	if !s.isOver() && len(update.Datagrams) > 0 {
		s.peer.conn.SendSnapshot(update.Datagrams)
	}
}

func asError(err error) *wire.Error {
	if e, ok := err.(*wire.Error); ok {
		return e
	}
	return &wire.Error{Code: wire.Internal, Detail: err.Error()}
}

// progress measures how long a client has acknowledged nothing new, for snapshots and for
// structure.
type progress struct {
	newest, structure uint32 // highest acknowledged numbers
	snapshotTicks     int    // ticks since newest rose; some snapshot is always unacknowledged
	structureTicks    int    // ticks since structure rose, or since all was acknowledged
	streamed          bool   // structure rose over the present connection
}

// recordAck records an acknowledgement that the viewer accepted.
func (p *progress) recordAck(a wire.Ack) {
	if a.Seen && a.Newest > p.newest {
		p.newest, p.snapshotTicks = a.Newest, 0
	}
	if a.Structure > p.structure {
		p.structure, p.structureTicks, p.streamed = a.Structure, 0, true
	}
}

// countTick counts one tick of an active session. waits reports whether sent structure is
// unacknowledged.
func (p *progress) countTick(waits bool) {
	p.snapshotTicks++
	p.structureTicks++
	if !waits {
		p.structureTicks = 0
	}
}

// restartCounters resets the counters for a new connection.
func (p *progress) restartCounters() { p.snapshotTicks, p.structureTicks, p.streamed = 0, 0, false }

// stuckTicks returns the number of ticks for which the stream has made no progress. It
// returns 0 if the stream never made progress over this connection, or if snapshots make no
// progress either.
func (p *progress) stuckTicks() int {
	if !p.streamed || p.snapshotTicks > p.structureTicks/2 {
		return 0
	}
	return p.structureTicks
}

// stalledTicks returns the longer of the two times without progress.
func (p *progress) stalledTicks() int { return max(p.snapshotTicks, p.structureTicks) }
