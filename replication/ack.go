package replication

import (
	"fmt"
	"math/bits"
	"slices"

	"github.com/worldd/worldd/replication/wire"
)

// sentLog remembers the rows of the last snapshots until each is acknowledged, lost or
// too old. Rows are stored as row indexes, so that an acknowledgement reaches them
// without a search.
type sentLog struct {
	newest     uint32 // sequence number of the newest snapshot; the first is 1
	pending    uint64 // bit n: the fate of snapshot newest-n is unknown
	applied    uint64 // bit n: snapshot newest-n was acknowledged, and its rows' baselines are not advanced yet
	snapshots  [sentWindow]sentSnapshot
	rowIndexes []uint32 // of the snapshots' rows, one snapshot after the other
	trimmed    uint32   // number of row indexes removed before rowIndexes[0]
}

type sentSnapshot struct {
	tick     uint32
	from, to uint32 // range of its row indexes, counted with the trimmed ones
	bytes    uint16 // of its packets, copies included
	novel    bool   // it names records that were sent with it
	empty    bool   // it has neither rows nor events
}

// at returns the snapshot that is back snapshots older than the newest.
func (l *sentLog) at(back uint32) *sentSnapshot { return &l.snapshots[(l.newest-back)%sentWindow] }

func (l *sentLog) rowsOf(s *sentSnapshot) []uint32 {
	return l.rowIndexes[s.from-l.trimmed : s.to-l.trimmed]
}

// begin opens a snapshot. The oldest one in the window must not be pending, and none applied.
func (l *sentLog) begin(tick uint32) {
	l.newest++
	l.pending = l.pending<<1 | 1
	end := l.trimmed + uint32(len(l.rowIndexes))
	*l.at(0) = sentSnapshot{tick: tick, from: end, to: end}
}

// add adds rows to the open snapshot.
func (l *sentLog) add(rowIndexes ...uint32) {
	if len(l.rowIndexes)+len(rowIndexes) > cap(l.rowIndexes) {
		l.trim()
		if need := len(l.rowIndexes) + len(rowIndexes); 4*need > 3*cap(l.rowIndexes) {
			l.rowIndexes = slices.Grow(l.rowIndexes, need)
		}
	}
	l.rowIndexes = append(l.rowIndexes, rowIndexes...)
	l.at(0).to += uint32(len(rowIndexes))
}

// trim removes the row indexes of snapshots older than the oldest pending one.
func (l *sentLog) trim() {
	oldest := l.at(uint32(bits.Len64(l.pending)) - 1)
	n := oldest.from - l.trimmed
	l.rowIndexes = l.rowIndexes[:copy(l.rowIndexes, l.rowIndexes[n:])]
	l.trimmed += n
}

// beginSnapshot opens a snapshot. The oldest one in the window counts as lost if it is
// still pending: it can no longer be acknowledged.
func (v *Viewer) beginSnapshot() {
	const last = sentWindow - 1
	if v.sent.pending>>last != 0 {
		v.loseSnapshot(last)
	}
	v.sent.begin(v.replicator.frame.tick)
	v.repeats.begin()
}

// Acknowledge processes a client's report of what it has applied (H6). An error is the
// client's fault: it acknowledges what was never sent. Baselines advance in the next snapshot,
// which reads the rows in any case: now they are not in the core's caches.
func (v *Viewer) Acknowledge(a wire.Ack) error {
	if a.Structure > v.structure.sent {
		return &wire.Error{Code: wire.BadMessage, Detail: fmt.Sprintf("acknowledges structure record %d of %d", a.Structure, v.structure.sent)}
	}
	v.structure.acknowledge(a.Structure)
	if !a.Seen {
		return nil
	}
	if a.Newest <= v.before || a.Newest > v.sent.newest {
		return &wire.Error{Code: wire.BadMessage, Detail: fmt.Sprintf("acknowledges snapshot %d of %d to %d", a.Newest, v.before+1, v.sent.newest)}
	}
	back := v.sent.newest - a.Newest
	if v.sent.pending>>back&1 != 0 {
		v.delays.add(v.replicator.Tick() + 1 - v.sent.at(back).tick) // until the next frame
		v.repeats.noteProgress(v.replicator.Tick(), uint32(v.replicator.world.TickHz())/repeatPause)
	}
	v.repeats.acked |= (a.Mask<<1 | 1) << back
	if news := (a.Mask<<1 | 1) << back & v.sent.pending; news != 0 {
		v.sent.pending &^= news
		v.sent.applied |= news
		v.ackedTick = max(v.ackedTick, v.sent.at(uint32(bits.TrailingZeros64(news))).tick)
	}
	for late := v.sent.pending >> (back + lossWindow) << (back + lossWindow); late != 0; late &= late - 1 {
		v.loseSnapshot(uint32(bits.TrailingZeros64(late)))
	}
	return nil
}

// AckedTick returns the tick of the newest snapshot that the client has acknowledged, or 0.
func (v *Viewer) AckedTick() uint32 { return v.ackedTick }

// advanceBaselines moves the baselines of all rows of the snapshots that were acknowledged
// since the last one (R3), the oldest first. It skips rows with a newer baseline. That includes
// rows whose index belonged to another row in the snapshot: the former row ended before the
// tick of this row's Enter, which is its first baseline.
func (v *Viewer) advanceBaselines() {
	for applied := v.sent.applied; applied != 0; {
		back := uint32(bits.Len64(applied)) - 1
		applied &^= 1 << back
		s := v.sent.at(back)
		for _, rowIndex := range v.sent.rowsOf(s) {
			if row := &v.members.rows[rowIndex]; row.ackedTick < s.tick {
				row.acknowledge(s.tick)
			}
		}
	}
	v.sent.applied = 0
}

// loseSnapshot makes the rows of a lost snapshot eligible at once, unless they were
// sent again since. They are sent with their newest state, not with the lost one.
func (v *Viewer) loseSnapshot(back uint32) {
	s := v.sent.at(back)
	v.lostTick = max(v.lostTick, s.tick)
	v.sent.pending &^= 1 << back
	for _, rowIndex := range v.sent.rowsOf(s) {
		if row := &v.members.rows[rowIndex]; row.sentTick == s.tick && row.flags&inFlight != 0 {
			row.flags &^= inFlight
			v.work.stats.RowsLost++
			v.stats.RowsLost++
		}
	}
}
