package server

import "github.com/worldd/worldd/replication/wire"

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
