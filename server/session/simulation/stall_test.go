package simulation

import "github.com/worldd/worldd/replication/wire"

// stall measures the time without a new acknowledgement of a session: of a newer snapshot,
// or of structure while some structure is unacknowledged. Like the server, it counts from
// the writing of the Welcome, not from its arrival.
type stall struct {
	snapshot, structure           uint32 // newest acknowledged numbers
	snapshotSince, structureSince int    // ticks of the simulation
}

// watch starts the measurement for the session that a Welcome begins or resumes.
func (n *conn) watch() {
	s, p := n.client.sim, n.peer.Session()
	if s.stalls[p] == nil {
		s.stalls[p] = &stall{}
	}
	x := s.stalls[p]
	x.structure = max(x.structure, n.from)
	x.snapshotSince, x.structureSince = s.tick, s.tick
}

// noteRecord starts the measurement for structure if the record that the server writes is
// the only unacknowledged one.
func (x *stall) noteRecord(number uint32, tick int) {
	if number == x.structure+1 {
		x.structureSince = tick
	}
}

// noteAck processes the acknowledgement in a datagram that the server receives.
func (n *conn) noteAck(d []byte) {
	s := n.client.sim
	x := s.stalls[n.peer.Session()]
	if x == nil {
		return // it precedes the Welcome
	}
	var in wire.Input
	err := in.Parse(d)
	s.must(err)
	if a := in.Ack; a.Seen && a.Newest > x.snapshot {
		x.snapshot, x.snapshotSince = a.Newest, s.tick
	}
	if a := in.Ack; a.Structure > x.structure {
		x.structure, x.structureSince = a.Structure, s.tick
	}
}

// stalled reports whether the server may end the session as too slow. New state at the
// client does not matter, because its acknowledgement may not have arrived.
func (n *conn) stalled() bool {
	s := n.client.sim
	x, written := s.stalls[n.peer.Session()], n.client.sent.records
	return x != nil && (n.gone-x.snapshotSince >= stalledTicks || written > x.structure && n.gone-x.structureSince >= stalledTicks)
}
