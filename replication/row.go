package replication

import "math"

// viewerRow is the part of a member that every snapshot reads: 16 bytes, four to a
// cache line. The rest lies in other slices of members, under the same index.
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

// advanceBaseline makes the state at tick the baseline. The older state stays at least
// minMotionTicks behind, so that the two show motion. Where each tick is acknowledged, older
// states are of ticks divisible by minMotionTicks, so that viewers share them: most code a row
// alike, and a datagram names most pasts at once.
func (row *viewerRow) advanceBaseline(tick uint32) {
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
func (m *members) markSent(rowIndex, tick uint32) {
	row := &m.rows[rowIndex]
	m.resetPriority(row, rowIndex)
	row.sentTick, row.flags = tick, row.flags&noBase|inFlight
}

// resetPriority clears the priority of a row that was sent or became dormant.
func (m *members) resetPriority(row *viewerRow, rowIndex uint32) {
	if row.flags&passedOver != 0 {
		m.priorities[rowIndex] = 0
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

// allocRow returns an unused row index. A schema has text fields, or none, for good.
func (m *members) allocRow(hasTexts bool) uint32 {
	if n := len(m.free); n > 0 {
		rowIndex := m.free[n-1]
		m.free = m.free[:n-1]
		return rowIndex
	}
	m.rows, m.handles, m.priorities = grow(m.rows, 1), grow(m.handles, 1), grow(m.priorities, 1)
	if hasTexts {
		m.texts = grow(m.texts, 1)
	}
	return uint32(len(m.rows) - 1)
}

// freeRow frees a member's row. Snapshots in flight may still contain its index: see
// delivery.advanceBaselines.
func (m *members) freeRow(rowIndex *uint32) {
	m.rows[*rowIndex], m.handles[*rowIndex] = viewerRow{}, 0
	if len(m.texts) > 0 {
		m.texts[*rowIndex] = textRow{}
	}
	m.free = append(m.free, *rowIndex)
	*rowIndex, m.uncompacted = noRow, true
}
