package client

import "github.com/worldd/worldd/replication/wire"

// snapshotTicks follows the ticks of snapshots. While nothing is new the server may omit
// snapshots after an empty one, without a gap in their numbers.
type snapshotTicks struct {
	interval uint32 // ticks between two snapshots; 0: unknown
	tick     uint32 // of the newest snapshot; 0: none
	before   uint32 // tick of the snapshot before, even if the server omitted it
	empty    uint32 // number of the first snapshot of tick if it was empty, otherwise 0
}

// setInterval changes the ticks between two snapshots.
func (s *snapshotTicks) setInterval(ticks uint32) { s.interval = ticks }

// addDatagram notes a datagram, and reports whether it is the first of a newer tick.
func (s *snapshotTicks) addDatagram(h wire.StateHeader) (newer bool) {
	if h.Tick <= s.tick {
		return false
	}
	s.before = s.tick
	if s.empty != 0 && h.Seq == s.empty+1 { // the snapshots between were omitted
		s.before = max(s.before, h.Tick-min(h.Tick, s.interval))
	}
	s.tick, s.empty = h.Tick, 0
	if h.Rows == 0 && len(h.Events) == 0 {
		s.empty = h.Seq
	}
	return true
}
