package replication

import "math"

// viewerRow is the part of a member that every snapshot reads: 16 bytes, four to a
// cache line. The rest lies in other slices of Viewer, under the same index.
type viewerRow struct {
	enterTick uint32 // tick of the state in its Enter record
	ackedTick uint32 // tick of the baseline
	sentTick  uint32 // tick of the newest snapshot that contains it; 0: none
	olderGap  uint16 // ticks from the older state, which gives the motion, to the baseline; 0: no older state
	nextGap   uint8  // ticks from the next older state to the baseline, below minMotionTicks
	flags     uint8
}

const (
	inFlight   = 1 << iota // the snapshot of sentTick may still arrive
	passedOver             // it has accumulated priority
	noBase                 // the state of ackedTick is exact, but the client has it under another tick
)

// acknowledge makes the state at tick the baseline. The older state stays at least
// minMotionTicks behind, so that the two show motion. Where each tick is acknowledged, older
// states are of ticks divisible by minMotionTicks, so that viewers share them: most code a row
// alike, and a datagram names most pasts at once.
func (row *viewerRow) acknowledge(tick uint32) {
	if row.flags&noBase != 0 {
		row.flags &^= noBase
		row.ackedTick, row.olderGap, row.nextGap = tick, 0, 0
		return
	}
	gap := tick - row.ackedTick
	if next := gap + uint32(row.nextGap); next >= minMotionTicks {
		row.olderGap, row.nextGap = clampGap(next), 0
	} else {
		if row.olderGap != 0 {
			row.olderGap = clampGap(uint32(row.olderGap) + gap)
		}
		row.nextGap = uint8(next)
		if gap == 1 && tick%minMotionTicks == 0 {
			row.nextGap = 0
		}
	}
	row.ackedTick = tick
}

// markSent records that a row is in the open snapshot.
func (v *Viewer) markSent(rowIndex, tick uint32) {
	row := &v.rows[rowIndex]
	v.resetPriority(row, rowIndex)
	row.sentTick, row.flags = tick, row.flags&noBase|inFlight
}

// resetPriority clears the priority of a row that was sent or became dormant.
func (v *Viewer) resetPriority(row *viewerRow, rowIndex uint32) {
	if row.flags&passedOver != 0 {
		v.priorities[rowIndex] = 0
		row.flags &^= passedOver
	}
}

// clampGap returns a gap in ticks, or 0 for a gap of minutes: no client keeps states
// that long.
func clampGap(ticks uint32) uint16 {
	if ticks > math.MaxUint16 {
		return 0
	}
	return uint16(ticks)
}

// allocRow returns an unused row index.
func (v *Viewer) allocRow() uint32 {
	if n := len(v.free); n > 0 {
		rowIndex := v.free[n-1]
		v.free = v.free[:n-1]
		return rowIndex
	}
	v.rows, v.handles, v.priorities = grow(v.rows, 1), grow(v.handles, 1), grow(v.priorities, 1)
	if v.replicator.frame.texts.mask != 0 {
		v.textRows = grow(v.textRows, 1)
	}
	return uint32(len(v.rows) - 1)
}

// freeRow frees a member's row. Snapshots in flight may still contain its index: see
// Viewer.ackSnapshot.
func (v *Viewer) freeRow(rowIndex *uint32) {
	v.rows[*rowIndex], v.handles[*rowIndex] = viewerRow{}, 0
	if len(v.textRows) > 0 {
		v.textRows[*rowIndex] = textRow{}
	}
	v.free = append(v.free, *rowIndex)
	*rowIndex, v.uncompacted = noRow, true
}
