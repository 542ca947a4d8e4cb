package replication

import (
	"fmt"

	"github.com/worldd/worldd/internal/fault"
	"github.com/worldd/worldd/replication/wire"
)

// sentSnapshot remembers what one snapshot held until it is acknowledged,
// taken for lost, or overwritten.
type sentSnapshot struct {
	seq, tick uint32
	waiting   bool
	rows      []uint32 // slots
}

func (v *Viewer) remember(seq uint32) *sentSnapshot {
	s := &v.sent[seq%sentWindow]
	if s.waiting {
		v.lost(s)
	}
	s.seq, s.tick, s.waiting, s.rows = seq, v.replicator.frame.tick, true, s.rows[:0]
	return s
}

// Acknowledge takes a client's report of what it has applied (H6). An error is
// the client's fault: it acknowledges what was never sent.
func (v *Viewer) Acknowledge(a wire.Ack) error {
	if a.Structure > v.structure.sent {
		return &wire.Error{Code: wire.BadMessage, Detail: fmt.Sprintf("acknowledges structure record %d of %d", a.Structure, v.structure.sent)}
	}
	v.structure.acknowledge(a.Structure)
	if !a.Seen {
		return nil
	}
	if a.Newest == 0 || a.Newest > v.seq && !fault.AckAhead {
		return &wire.Error{Code: wire.BadMessage, Detail: fmt.Sprintf("acknowledges snapshot %d of %d", a.Newest, v.seq)}
	}
	// Oldest first, so that what comes to be known of a row is how it moved.
	for i := uint32(64); i > 0; i-- {
		if a.Mask>>(i-1)&1 != 0 && a.Newest > i {
			v.applied(a.Newest - i)
		}
	}
	v.applied(a.Newest)
	for i := range v.sent {
		if s := &v.sent[i]; s.waiting && s.seq+lossWindow <= a.Newest {
			v.lost(s)
		}
	}
	return nil
}

// applied moves the baselines of all rows of snapshot seq (R3). An older
// snapshot than a row's baseline tells nothing new; nor does one of another life
// of the slot, which ended before the tick of the Enter that is the first
// baseline of this one.
func (v *Viewer) applied(seq uint32) {
	s := &v.sent[seq%sentWindow]
	if s.seq != seq || !s.waiting {
		return
	}
	s.waiting = false
	for _, slot := range s.rows {
		if place, ok := v.members.find(slot); ok && (v.rows[place].ackedTick < s.tick || fault.AckAnyLife) {
			v.rows[place].acknowledge(s.tick)
		}
	}
}

// acknowledge makes the state at tick the baseline. The one before it that
// motion is taken from is some ticks older, so that there is motion.
func (row *viewerRow) acknowledge(tick uint32) {
	if tick-row.nextTick >= motionTicks {
		row.olderTick, row.nextTick = row.nextTick, tick
	}
	row.ackedTick = tick
	if fault.OlderUnknown {
		row.olderTick = tick - 1
	}
}

// lost makes the rows of s that have not been sent again since eligible at
// once. They go out with their latest state, never with the one that was lost.
func (v *Viewer) lost(s *sentSnapshot) {
	s.waiting = false
	for _, slot := range s.rows {
		if place, ok := v.members.find(slot); ok && v.rows[place].sentTick == s.tick && v.rows[place].waiting && !fault.NeverResend {
			v.rows[place].waiting = false
			v.replicator.stats.RowsLost++
		}
	}
}
