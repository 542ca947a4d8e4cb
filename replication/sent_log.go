package replication

import (
	"math/bits"
	"slices"
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

// snapshotAt returns the snapshot that is back snapshots older than the newest.
func (l *sentLog) snapshotAt(back uint32) *sentSnapshot {
	return &l.snapshots[(l.newest-back)%sentWindow]
}

func (l *sentLog) rowsOf(s *sentSnapshot) []uint32 {
	return l.rowIndexes[s.from-l.trimmed : s.to-l.trimmed]
}

// beginSnapshot opens a snapshot. The oldest one in the window must not be pending, and none applied.
func (l *sentLog) beginSnapshot(tick uint32) {
	l.newest++
	l.pending = l.pending<<1 | 1
	end := l.trimmed + uint32(len(l.rowIndexes))
	*l.snapshotAt(0) = sentSnapshot{tick: tick, from: end, to: end}
}

// addRows adds rows to the open snapshot.
func (l *sentLog) addRows(rowIndexes ...uint32) {
	if len(l.rowIndexes)+len(rowIndexes) > cap(l.rowIndexes) {
		l.dropOldRows()
		if need := len(l.rowIndexes) + len(rowIndexes); 4*need > 3*cap(l.rowIndexes) {
			l.rowIndexes = slices.Grow(l.rowIndexes, need)
		}
	}
	l.rowIndexes = append(l.rowIndexes, rowIndexes...)
	l.snapshotAt(0).to += uint32(len(rowIndexes))
}

// dropOldRows removes the row indexes of snapshots older than the oldest pending one.
func (l *sentLog) dropOldRows() {
	oldest := l.snapshotAt(uint32(bits.Len64(l.pending)) - 1)
	n := oldest.from - l.trimmed
	l.rowIndexes = l.rowIndexes[:copy(l.rowIndexes, l.rowIndexes[n:])]
	l.trimmed += n
}
