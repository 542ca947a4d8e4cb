package replication

import (
	"math/bits"

	"github.com/worldd/worldd/bulk"
)

// A lost packet of the stream delays all records after it until the transport repeats it, and with
// them the datagrams that name them. While records seem to be overdue, the rows that depend on none
// that the client lacks go ahead, in a datagram that says so.

// recordsOverdue reports whether a snapshot or a record was not acknowledged in the usual time,
// while the client lacks records or is about to. Each packet of a snapshot has bytes of the stream,
// if only a Pad. It is false if the client lacks an Answer: all snapshots depend on those (H7).
func (v *Viewer) recordsOverdue() bool {
	s, tick := &v.structure, v.replicator.frame.tick
	if s.written == s.applied || s.answered > s.applied {
		return false
	}
	v.unsure = tick
	if len(s.inflight) > 0 {
		v.unsure = s.inflight[0].tick
	}
	if v.repeats.on {
		return true // a copy helps only what needs none of the lost packet's records
	}
	lossy := v.lostTick != 0 && tick-v.lostTick < lossySeconds*uint32(v.replicator.world.TickHz())
	usual, known := v.delays.usual(lossy)
	if !known {
		return false
	}
	oldest := v.unsure
	if v.sent.pending != 0 {
		oldest = min(oldest, v.sent.at(uint32(bits.Len64(v.sent.pending))-1).tick)
	}
	return tick-oldest >= usual
}

// ackDelays holds how many ticks passed until the newest snapshots were acknowledged.
type ackDelays struct {
	ticks [16]uint8
	count uint8 // of ticks, at most all
	next  uint8 // index of the oldest
}

func (d *ackDelays) add(ticks uint32) {
	d.ticks[d.next] = uint8(min(ticks, 255))
	d.next = (d.next + 1) % uint8(len(d.ticks))
	d.count = min(d.count+1, uint8(len(d.ticks)))
}

// lossySeconds is how long after the loss of a snapshot the next one is expected.
const lossySeconds = 4

// usual returns the ticks within which most snapshots were acknowledged, or half of them on a lossy
// link, and whether that is known. Where delays vary, a link without loss has no datagrams more.
func (d *ackDelays) usual(lossy bool) (ticks uint32, known bool) {
	if int(d.count) < len(d.ticks) {
		return 0, false
	}
	most := len(d.ticks) * 7 / 8
	if lossy {
		most = len(d.ticks) / 2
	}
	for within := 0; within < most; ticks++ {
		within = 0
		for _, t := range d.ticks {
			if uint32(t) <= ticks+1 {
				within++
			}
		}
	}
	return ticks, true
}

// findLate marks the waiting rows that depend on records that the client may lack, since they or
// what they refer to entered by those, and returns their number. If the focus is among them all
// rows count: its client takes a snapshot without its row for news that it has not changed.
func (v *Viewer) findLate() (late int) {
	w, f := v.work, v.replicator.frame
	s := &w.selection
	s.reset(len(w.waiting))
	refers := f.schema.Refers()
	for i, rowIndex := range w.waitingRows {
		k := w.waiting[i]
		v.lacks = v.members.rows[rowIndex].enterTick >= v.unsure
		if refers && !v.lacks {
			f.schema.References(f.currentRow(&f.tenants[k.slot()], k.owned()), v.lacksFunc)
		}
		if !v.lacks {
			continue
		}
		if v.members.handles[rowIndex] == v.focus {
			return len(w.waiting)
		}
		s.late.set(uint32(i))
		late++
	}
	return late
}

// noteLacked notes whether a row that refers to h depends on records that the client may lack.
func (v *Viewer) noteLacked(h bulk.Handle) {
	rowIndex, member := v.members.indexOf(h)
	v.lacks = v.lacks || !member || v.members.rows[rowIndex].enterTick >= v.unsure
}

// encodeAhead makes datagrams of the rows that are not late, and then of the others and of events,
// which may depend on any record.
func (v *Viewer) encodeAhead() {
	s := &v.work.selection
	if v.replicator.frame.schema.HasParents() {
		v.markAnchored()
	}
	order := v.rankWaiting()
	copy(s.sent, s.late) // they anchor nothing here
	v.ahead = true
	v.encodeRanked(order, maxDatagrams-1)
	v.ahead = false
	for i := range s.sent {
		s.sent[i] &^= s.late[i]
	}
	if v.tokens > minSnapshotBytes {
		v.encodeRanked(order, maxDatagrams)
	}
}
