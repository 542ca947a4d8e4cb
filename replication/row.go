package replication

import "math"

// viewerRow is what is known of one entity of the interest set at each snapshot:
// 16 bytes, four to a line of memory. What is seldom asked is beside it, by the
// same place.
type viewerRow struct {
	enterTick uint32 // tick of the state in its Enter record
	ackedTick uint32 // tick of the baseline
	sentTick  uint32 // newest snapshot it rode in; 0: none
	olderGap  uint16 // ticks from the state before the baseline, that motion is taken from, to the baseline; 0: none
	nextGap   uint8  // ticks from the state that takes its place next to the baseline: below motionTicks
	flags     uint8
}

const (
	inFlight   = 1 << iota // the snapshot of sentTick may yet arrive
	passedOver             // it has a priority, having waited for its turn
)

// acknowledge makes the state at tick the baseline. The one before it that
// motion is taken from is some ticks older, so that there is motion.
func (row *viewerRow) acknowledge(tick uint32) {
	gap := tick - row.ackedTick
	if next := gap + uint32(row.nextGap); next >= minMotionTicks {
		row.olderGap, row.nextGap = clampGap(next), 0
	} else {
		if row.olderGap != 0 {
			row.olderGap = clampGap(uint32(row.olderGap) + gap)
		}
		row.nextGap = uint8(next)
	}
	row.ackedTick = tick
}

// send notes that the row at a place is in the open snapshot.
func (v *Viewer) markSent(rowIndex, tick uint32) {
	row := &v.rows[rowIndex]
	v.resetPriority(row, rowIndex)
	row.sentTick, row.flags = tick, inFlight
}

// forgetPriority is for a row whose turn came.
func (v *Viewer) resetPriority(row *viewerRow, rowIndex uint32) {
	if row.flags&passedOver != 0 {
		v.priorities[rowIndex] = 0
		row.flags &^= passedOver
	}
}

// shortGap is a gap, or none if it is one of minutes: no client keeps states
// for so long.
func clampGap(ticks uint32) uint16 {
	if ticks > math.MaxUint16 {
		return 0
	}
	return uint16(ticks)
}

// allot returns a place for a row.
func (v *Viewer) allocRow() uint32 {
	if n := len(v.free); n > 0 {
		rowIndex := v.free[n-1]
		v.free = v.free[:n-1]
		return rowIndex
	}
	v.rows, v.handles, v.priorities = grow(v.rows, 1), grow(v.handles, 1), grow(v.priorities, 1)
	return uint32(len(v.rows) - 1)
}

// release gives a member's row up. Snapshots on their way may still name its
// place: see Viewer.applied.
func (v *Viewer) freeRow(rowIndex *uint32) {
	v.rows[*rowIndex], v.handles[*rowIndex] = viewerRow{}, 0
	v.free = append(v.free, *rowIndex)
	*rowIndex, v.uncompacted = noRow, true
}
