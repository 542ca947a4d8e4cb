package simulation

import "github.com/worldd/worldd/replication/wire"

// stall measures how long the server has received nothing new of a session: no
// acknowledgement of a newer snapshot, or none of structure while some waits for one. It
// counts from the Welcome's writing, as the server does, not from its arrival: a client
// whose Welcome is late sees a shorter time, but takes up what it was sent just as late.
type stall struct {
	snapshot, structure           uint32 // newest acknowledged
	snapshotSince, structureSince int    // ticks of the simulation
}

// watch begins to measure the session that a Welcome begins or resumes.
func (n *conn) watch() {
	s, p := n.client.sim, n.peer.Session()
	if s.stalls[p] == nil {
		s.stalls[p] = &stall{}
	}
	x := s.stalls[p]
	x.structure = max(x.structure, n.from)
	x.snapshotSince, x.structureSince = s.tick, s.tick
}

// noteRecord begins to measure structure if the record that the server writes is the only
// one that waits.
func (x *stall) noteRecord(number uint32, tick int) {
	if number == x.structure+1 {
		x.structureSince = tick
	}
}

// noteAck takes the acknowledgement from a datagram that the server receives.
func (n *conn) noteAck(d []byte) {
	s := n.client.sim
	x := s.stalls[n.peer.Session()]
	if x == nil {
		return // ahead of the Welcome
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

// stalled reports whether the server had reason to end the session as too slow. New state at
// the client is no reason against it: acknowledgements take time too.
func (n *conn) stalled() bool {
	s := n.client.sim
	x, written := s.stalls[n.peer.Session()], n.client.sent.records
	return x != nil && (n.gone-x.snapshotSince >= stalledTicks || written > x.structure && n.gone-x.structureSince >= stalledTicks)
}
