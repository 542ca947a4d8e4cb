package replication

import (
	"math"

	"github.com/worldd/worldd/bulk"
)

// memberRows holds a row for each of a viewer's members. An entity keeps its row index while
// it is a member.
type memberRows struct {
	rows       []viewerRow
	handles    []bulk.Handle
	priorities []float32
	textRows   []textRow // empty without text fields in the schema
	free       []uint32  // unused row indexes
}

// startRow begins the row of an entity that enters in a tick: its Enter holds the state of
// that tick and all texts. flags is 0 or noBase.
func (m *memberRows) startRow(rowIndex uint32, h bulk.Handle, tick uint32, flags uint8) {
	m.handles[rowIndex], m.priorities[rowIndex] = h, 0
	m.rows[rowIndex] = viewerRow{enterTick: tick, ackedTick: tick, flags: flags}
	if len(m.textRows) > 0 {
		m.textRows[rowIndex].sent = tick
	}
}

// allocRow returns an unused row index. hasTexts must be the same in every call.
func (m *memberRows) allocRow(hasTexts bool) uint32 {
	if n := len(m.free); n > 0 {
		rowIndex := m.free[n-1]
		m.free = m.free[:n-1]
		return rowIndex
	}
	m.rows, m.handles, m.priorities = grow(m.rows, 1), grow(m.handles, 1), grow(m.priorities, 1)
	if hasTexts {
		m.textRows = grow(m.textRows, 1)
	}
	return uint32(len(m.rows) - 1)
}

// restartRow makes the next snapshots enter a member again before they send its row.
func (m *memberRows) restartRow(rowIndex uint32) { m.rows[rowIndex].enterTick = 0 } // below any maskSince

// returnRow makes a row unused. Datagrams in flight may still contain its index: see
// advanceBaselines.
func (m *memberRows) returnRow(rowIndex uint32) {
	m.rows[rowIndex], m.handles[rowIndex] = viewerRow{}, 0
	if len(m.textRows) > 0 {
		m.textRows[rowIndex] = textRow{}
	}
	m.free = append(m.free, rowIndex)
}

// markSent records that a datagram of a tick holds these rows.
func (m *memberRows) markSent(rowIndexes []uint32, tick uint32) {
	for _, rowIndex := range rowIndexes {
		row := &m.rows[rowIndex]
		m.resetPriority(row, rowIndex)
		row.sentTick, row.flags = tick, row.flags&noBase|inFlight
	}
}

// loseRows makes the rows of a lost datagram eligible for sending at once, unless they were
// sent again since, and returns their number. The next datagram holds the newest state of
// these rows, not the lost state.
func (m *memberRows) loseRows(rowIndexes []uint32, tick uint32) (lost int) {
	rows := m.rows
	for _, rowIndex := range rowIndexes {
		if row := &rows[rowIndex]; row.sentTick == tick && row.flags&inFlight != 0 {
			row.flags &^= inFlight
			lost++
		}
	}
	return lost
}

// advanceBaselines makes the acknowledged state of a tick the baseline of a datagram's
// rows. It skips rows with a newer baseline. This covers a row index that another entity
// has taken over since: the baseline of its row is at least the tick of its Enter, which is
// later than the datagram.
func (m *memberRows) advanceBaselines(rowIndexes []uint32, tick uint32) {
	rows := m.rows
	for _, rowIndex := range rowIndexes {
		if row := &rows[rowIndex]; row.ackedTick < tick {
			row.advanceBaseline(tick)
		}
	}
}

// missEnter reports whether a member that should enter again did not enter in the snapshot
// of a tick.
func (m *memberRows) missEnter(requests []enterRequest, tick uint32) bool {
	for _, e := range requests {
		if m.rows[e.row].enterTick != tick {
			return true
		}
	}
	return false
}

// raisePriorities raises the priorities of the waiting rows, so that every row is sent
// eventually, and returns the rows' indexes, most urgent first. The focus comes first: the
// client predicts it, and concludes from a snapshot without its row that it has not
// changed. raisePriorities is not called if all rows fit.
func (m *memberRows) raisePriorities(p *packer, r *Replicator, in *interest) []uint32 {
	p.ranking.beginRanking()
	for i, rowIndex := range p.waitingRows {
		m.priorities[rowIndex] += in.priorityGain(r, &r.frame.tenants[p.waiting[i].slot()])
		m.rows[rowIndex].flags |= passedOver
		weight := m.priorities[rowIndex]
		if m.handles[rowIndex] == in.focus {
			weight = math.MaxFloat32
		} else if p.isRequired(i) {
			weight *= requiredWeight
		}
		p.ranking.addWeight(weight)
	}
	return p.ranking.sortedIndexes()
}

// resetPriority clears the priority of a row that was sent or became dormant.
func (m *memberRows) resetPriority(row *viewerRow, rowIndex uint32) {
	if row.flags&passedOver != 0 {
		m.priorities[rowIndex] = 0
		row.flags &^= passedOver
	}
}

// grow lengthens s by n. It reserves a sixteenth more than needed (append reserves a
// quarter): there are thousands of viewers.
func grow[T any](s []T, n int) []T {
	need := len(s) + n
	if need <= cap(s) {
		return s[:need]
	}
	more := make([]T, need, need+need/16+4)
	copy(more, s)
	return more
}
