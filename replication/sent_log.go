package replication

import (
	"math/bits"
	"slices"

	"github.com/worldd/worldd/replication/wire"
)

// sentLog remembers the rows of the last datagrams until each is acknowledged, lost or too
// old. It stores row indexes: an acknowledgement finds its rows without a search.
type sentLog struct {
	newest     uint32 // sequence number of the newest datagram; the first is 1
	pending    uint64 // bit n: datagram newest-n is neither acknowledged nor lost
	applied    uint64 // bit n: datagram newest-n is acknowledged, and the baselines of its rows are not advanced yet
	empties    uint32 // number of the newest datagrams that have neither rows nor events, at most sentWindow
	datagrams  [sentWindow]sentDatagram
	rowIndexes []uint32 // row indexes of all datagrams, concatenated
	trimmed    uint32   // number of row indexes removed before rowIndexes[0]
}

type sentDatagram struct {
	tick     uint32
	from, to uint32 // range of its row indexes; the trimmed ones count
	bytes    uint16 // size of its packets, copies included
	novel    bool   // it names records that were sent with it
}

// datagramAt returns the datagram that is back datagrams older than the newest.
func (l *sentLog) datagramAt(back uint32) *sentDatagram {
	return &l.datagrams[(l.newest-back)%sentWindow]
}

// isPending reports whether a datagram is neither acknowledged nor lost.
func (l *sentLog) isPending(back uint32) bool { return l.pending>>back&1 != 0 }

// continueFrom makes the first datagram follow number newest.
func (l *sentLog) continueFrom(newest uint32) { l.newest = newest }

// acknowledgeDatagrams records that datagrams were acknowledged (bit n: newest-n), and
// returns those that were pending. takeApplied returns the same datagrams once.
func (l *sentLog) acknowledgeDatagrams(acked uint64) (news uint64) {
	news = acked & l.pending
	l.pending &^= news
	l.applied |= news
	return news
}

// takeApplied returns the datagrams that were acknowledged since the last call.
func (l *sentLog) takeApplied() (applied uint64) {
	applied, l.applied = l.applied, 0
	return applied
}

// loseDatagram records that a datagram is lost, and returns it.
func (l *sentLog) loseDatagram(back uint32) *sentDatagram {
	l.pending &^= 1 << back
	return l.datagramAt(back)
}

// closeDatagram records the contents of the open datagram. records is the number of the
// newest record that was sent before it.
func (l *sentLog) closeDatagram(h *wire.StateHeader, size int, records uint32) {
	s := l.datagramAt(0)
	s.bytes, s.novel = uint16(size+packetBytes), h.Structure > records
	l.empties = min(l.empties+1, sentWindow)
	if h.Rows > 0 || len(h.Events) > 0 {
		l.empties = 0
	}
}

// addCopy records that a datagram was sent again, in a packet of size bytes.
func (l *sentLog) addCopy(back uint32, size int) { l.datagramAt(back).bytes += uint16(size) }

func (l *sentLog) rowsOf(s *sentDatagram) []uint32 {
	return l.rowIndexes[s.from-l.trimmed : s.to-l.trimmed]
}

// openDatagram opens a datagram. The oldest datagram in the window must not be pending, and
// takeApplied must have taken every acknowledged one.
func (l *sentLog) openDatagram(tick uint32) {
	l.newest++
	l.pending = l.pending<<1 | 1
	end := l.trimmed + uint32(len(l.rowIndexes))
	*l.datagramAt(0) = sentDatagram{tick: tick, from: end, to: end}
}

// addRows adds rows to the open datagram.
func (l *sentLog) addRows(rowIndexes ...uint32) {
	if len(l.rowIndexes)+len(rowIndexes) > cap(l.rowIndexes) {
		l.dropOldRows()
		if need := len(l.rowIndexes) + len(rowIndexes); 4*need > 3*cap(l.rowIndexes) {
			l.rowIndexes = slices.Grow(l.rowIndexes, need)
		}
	}
	l.rowIndexes = append(l.rowIndexes, rowIndexes...)
	l.datagramAt(0).to += uint32(len(rowIndexes))
}

// dropOldRows removes the row indexes of datagrams older than the oldest pending one.
func (l *sentLog) dropOldRows() {
	oldest := l.datagramAt(uint32(bits.Len64(l.pending)) - 1)
	n := oldest.from - l.trimmed
	l.rowIndexes = l.rowIndexes[:copy(l.rowIndexes, l.rowIndexes[n:])]
	l.trimmed += n
}
