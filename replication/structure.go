package replication

import "github.com/worldd/worldd/replication/wire"

// structure numbers the records of one viewer's reliable lane and gathers them
// into messages. It knows how many bytes the client has not applied yet.
type structure struct {
	written  uint32 // records so far; the newest record's number
	applied  uint32 // acknowledged as applied by the client
	batch    []byte // records of the open message
	first    uint32 // number of the first of them
	stream   []byte // closed messages, framed
	message  []byte // scratch
	inflight []flight
	waiting  int // bytes written and not applied
	unbilled int // bytes of records since the last bill
}

// flight is a closed message that the client has not wholly applied, or several
// of them.
type flight struct {
	last  uint32 // number of its last record
	bytes int
}

// append adds a record and returns the bytes it takes.
func (s *structure) append(r wire.Record) int {
	if len(s.batch) == 0 {
		s.first = s.written + 1
	}
	s.written++
	before := len(s.batch)
	s.batch = wire.AppendRecord(s.batch, r)
	n := len(s.batch) - before
	s.unbilled += n
	return n
}

// bill returns the bytes of the records since the last call.
func (s *structure) bill() int {
	n := s.unbilled
	s.unbilled = 0
	return n
}

// full says whether the open message should be closed before another record.
func (s *structure) full() bool { return len(s.batch) >= batchBytes }

// close frames the open message. tick is the frame that its states are of.
func (s *structure) close(tick uint32) {
	if len(s.batch) == 0 {
		return
	}
	s.message = wire.AppendStructureHeader(s.message[:0], s.first, tick)
	s.message = append(s.message, s.batch...)
	before := len(s.stream)
	s.stream = wire.AppendFrame(s.stream, wire.TypeStructure, s.message)
	bytes := len(s.stream) - before
	s.waiting += bytes
	if n := len(s.inflight); n == maxFlights {
		s.inflight[n-1].last = s.written
		s.inflight[n-1].bytes += bytes
	} else {
		s.inflight = append(s.inflight, flight{last: s.written, bytes: bytes})
	}
	s.batch = s.batch[:0]
}

// take returns everything since the last take. The result is valid until the
// next append.
func (s *structure) take(tick uint32) []byte {
	s.close(tick)
	if len(s.stream) == 0 && cap(s.batch)+cap(s.stream) > keptStructureBytes {
		s.batch, s.stream, s.message = nil, nil, nil // what a crowd took
	}
	out := s.stream
	s.stream = s.stream[:0]
	return out
}

// acknowledge notes that the client has applied all records up to number.
func (s *structure) acknowledge(number uint32) {
	if number <= s.applied {
		return
	}
	s.applied = number
	n := 0
	for n < len(s.inflight) && s.inflight[n].last <= number {
		s.waiting -= s.inflight[n].bytes
		n++
	}
	s.inflight = append(s.inflight[:0], s.inflight[n:]...)
}

// outstanding is the number of bytes that the client has not applied.
func (s *structure) outstanding() int { return s.waiting + len(s.batch) }
