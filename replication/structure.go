package replication

import (
	"fmt"

	"github.com/worldd/worldd/replication/wire"
)

// structure numbers the structure records of one viewer and collects them in messages for
// its reliable stream. It keeps the messages that the client has not applied yet, to resend
// them over another connection (R8).
type structure struct {
	written         uint32 // number of the newest record
	sent            uint32 // number of the newest record in a message that was taken
	applied         uint32 // newest record that the client acknowledged as applied
	lastDropped     uint32 // newest record that was taken and is no longer kept
	batch           []byte // records of the open message
	batchFirst      uint32 // number of the first record of the open message
	notBefore       uint32 // tick of the newest record that reports a call of the game
	log             []byte // closed, framed messages that the client has not applied
	taken           int    // size of the taken prefix of log
	droppedInFlight int    // size of the messages in flight that log no longer holds
	inflight        []flight
	tick            uint32 // tick of the newest closed message
	unacked         int    // size of the closed messages that the client has not applied
	unbilled        int    // size of the records since the last takeUnbilled
	answered        uint32 // number of the newest Answer
	whole           uint32 // newest applied record that ends a snapshot's records
}

// flight is one closed message, or several, with records that the client has not applied
// yet.
type flight struct {
	last  uint32 // number of its last record
	bytes int
	tick  uint32 // frame or world tick at which the message, or the first of several, was closed
	whole bool   // its last record ends a snapshot's records
}

// appendRecord adds a record and returns its size in bytes.
func (s *structure) appendRecord(r wire.Record) int {
	if len(s.batch) == 0 {
		s.batchFirst = s.written + 1
	}
	s.written++
	if r.Op == wire.OpAnswer {
		s.answered = s.written
	}
	before := len(s.batch)
	s.batch = wire.AppendRecord(s.batch, r)
	n := len(s.batch) - before
	s.unbilled += n
	return n
}

// reportCall records that the next record reports a call of the game after tick.
func (s *structure) reportCall(tick uint32) { s.notBefore = tick }

// takeUnbilled returns the bytes of the records since the last call.
func (s *structure) takeUnbilled() int {
	n := s.unbilled
	s.unbilled = 0
	return n
}

// isFull reports whether the open message should be closed before another record.
func (s *structure) isFull() bool { return len(s.batch) >= batchBytes }

// closeMessage frames the open message. tick is the tick of its states. If the message has
// no states and the newest frame is old, tick may be lower than the previous message's tick
// or notBefore: the message gets the highest of the three.
func (s *structure) closeMessage(tick uint32) {
	if len(s.batch) == 0 {
		return
	}
	closed := tick
	tick = max(tick, s.tick, s.notBefore)
	var header [16]byte // room for two numbers
	before := len(s.log)
	s.log = wire.AppendFrame(s.log, wire.TypeStructure, wire.AppendStructureHeader(header[:0], s.batchFirst, tick-s.tick), s.batch)
	s.tick = tick
	bytes := len(s.log) - before
	s.unacked += bytes
	if n := len(s.inflight); n == maxFlights {
		s.inflight[n-1].last, s.inflight[n-1].whole = s.written, false
		s.inflight[n-1].bytes += bytes
	} else {
		s.inflight = append(s.inflight, flight{last: s.written, bytes: bytes, tick: closed})
	}
	s.batch = s.batch[:0]
}

// takeMessages closes the open message and returns the messages since the last call. The
// result is valid until the structure changes again.
func (s *structure) takeMessages(tick uint32) []byte {
	s.closeMessage(tick)
	if s.taken > maxKeptLogBytes {
		s.dropPrefix(s.taken)
		s.droppedInFlight += s.taken
		s.lastDropped, s.taken = s.sent, 0
	}
	s.shrinkBuffers()
	out := s.log[s.taken:]
	s.sent, s.taken = s.written, len(s.log)
	return out
}

// takeRewound returns the messages that rewindTo made due again. Records of the open
// message wait for the next takeMessages: a message holds all records of its frame. The
// result is valid until the structure changes again.
func (s *structure) takeRewound() []byte {
	out := s.log[s.taken:]
	s.taken, s.sent = len(s.log), s.written
	if len(s.batch) > 0 {
		s.sent = s.batchFirst - 1
	}
	return out
}

// shrinkBuffers frees large buffers that are mostly unused.
func (s *structure) shrinkBuffers() {
	if cap(s.batch) > keptStructureBytes {
		s.batch = nil
	}
	if cap(s.log) > keptStructureBytes && len(s.log) < cap(s.log)/4 {
		s.log = append(make([]byte, 0, 2*len(s.log)), s.log...)
	}
}

func (s *structure) dropPrefix(n int) { s.log = append(s.log[:0], s.log[n:]...) }

// acknowledgeRecords records that the client has applied all records up to number, and
// drops them from the log.
func (s *structure) acknowledgeRecords(number uint32) {
	if number <= s.applied {
		return
	}
	s.applied = number
	n, bytes := 0, 0
	for n < len(s.inflight) && s.inflight[n].last <= number {
		bytes += s.inflight[n].bytes
		if s.inflight[n].whole {
			s.whole = s.inflight[n].last
		}
		n++
	}
	s.inflight = append(s.inflight[:0], s.inflight[n:]...)
	s.unacked -= bytes
	gone := min(bytes, s.droppedInFlight)
	s.droppedInFlight -= gone
	s.dropPrefix(bytes - gone)
	s.taken -= bytes - gone
}

// unsureSince returns the first tick whose records the client may lack, and whether rows of
// a snapshot at tick may go ahead of these records. Rows may not go ahead if the client
// lacks an Answer, because all snapshots depend on Answers (H7). lacks is also false if the
// client lacks no record.
func (s *structure) unsureSince(tick uint32) (since uint32, lacks bool) {
	if s.written == s.applied || s.answered > s.applied {
		return 0, false
	}
	if len(s.inflight) > 0 {
		tick = s.inflight[0].tick
	}
	return tick, true
}

// outstandingBytes returns the number of bytes that the client has not applied.
func (s *structure) outstandingBytes() int { return s.unacked + len(s.batch) }

// rewindTo makes the next take begin after the message that ends with record number, as if
// no later message had been taken. It returns false if the log no longer reaches back to
// that record, or if no message ends with it.
func (s *structure) rewindTo(number uint32) bool {
	if number < s.lastDropped || number > s.sent {
		return false
	}
	at, ok := s.findAfter(number)
	if ok {
		s.taken, s.sent = at, number
		s.acknowledgeRecords(number)
	}
	return ok
}

// findAfter returns the position in the log of the message that follows record number.
func (s *structure) findAfter(number uint32) (at int, ok bool) {
	if number == s.sent {
		return s.taken, true
	}
	var messages wire.FrameReader
	messages.Feed(s.log[:s.taken])
	for {
		at := s.taken - messages.Buffered()
		_, body, ok, err := messages.Next()
		if err != nil || !ok {
			return 0, false
		}
		if m, err := wire.ParseStructure(body); err != nil || m.First > number {
			return at, err == nil && m.First == number+1
		}
	}
}

// checkAck returns an error if number is a record that was never sent.
func (s *structure) checkAck(number uint32) error {
	if number > s.sent {
		return &wire.Error{Code: wire.BadMessage, Detail: fmt.Sprintf("acknowledges structure record %d of %d", number, s.sent)}
	}
	return nil
}

// continueFrom makes the first record follow record number, which the client has applied.
func (s *structure) continueFrom(number uint32) {
	s.written, s.sent, s.applied, s.lastDropped, s.whole = number, number, number, number, number
}

// takeForSnapshot takes the messages at the end of a snapshot, and records that the newest
// record ends the snapshot's records.
func (s *structure) takeForSnapshot(tick uint32) []byte {
	out := s.takeMessages(tick)
	if n := len(s.inflight); n > 0 {
		s.inflight[n-1].whole = true
	}
	return out
}
