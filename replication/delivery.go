package replication

import (
	"fmt"
	"math/bits"

	"github.com/worldd/worldd/replication/wire"
)

// delivery tracks a viewer's State datagrams: which are in flight, which rows were
// acknowledged or lost, and how long acknowledgements take.
type delivery struct {
	sent      sentLog
	repeats   repetition
	delays    ackDelays
	before    uint32 // number of the newest datagram in earlier rooms
	link      uint32 // number of the newest datagram over earlier connections
	ackedTick uint32 // tick of the newest acknowledged datagram; 0: none
	lostTick  uint32 // tick of the newest lost datagram; 0: none
}

// continueFrom continues the numbers of an earlier room. newest is the number of that
// room's last datagram.
func (d *delivery) continueFrom(newest uint32) {
	d.sent.continueFrom(newest)
	d.before = newest
}

// forgetLink resets the estimates of a link after its client reconnected. Earlier datagrams
// say nothing about the new link: it lost none of them, and their delays include the outage.
func (d *delivery) forgetLink() {
	d.repeats, d.delays, d.lostTick, d.link = repetition{}, ackDelays{}, 0, d.sent.newest
}

// lossShare returns the estimated share of datagrams that the link loses.
func (d *delivery) lossShare() float64 { return float64(d.repeats.loss) / lossScale }

// newestSeq returns the sequence number of the newest datagram.
func (d *delivery) newestSeq() uint32 { return d.sent.newest }

// openDatagram opens a datagram of rows. It returns the datagram's sequence number, and how
// many rows were lost. The oldest datagram in the window counts as lost if it is still
// pending: it can no longer be acknowledged.
func (d *delivery) openDatagram(tick uint32, rowIndexes []uint32, m *members) (seq uint32, lost int) {
	const last = sentWindow - 1
	if d.sent.isPending(last) {
		lost = d.loseDatagram(last, m)
	}
	d.sent.openDatagram(tick)
	d.sent.addRows(rowIndexes...)
	d.repeats.openDatagram()
	return d.sent.newest, lost
}

// closeDatagram records the contents and the size of the open datagram. records is the
// number of the newest record that was sent before it.
func (d *delivery) closeDatagram(h *wire.StateHeader, size int, records uint32) {
	d.sent.closeDatagram(h, size, records)
}

// continuesTick reports whether the datagram before the open one has the same tick.
func (d *delivery) continuesTick() bool {
	return d.sent.newest > 1 && d.sent.datagramAt(1).tick == d.sent.datagramAt(0).tick
}

// emptySince returns the tick of the newest datagram. ok means that all datagrams since an acknowledged
// empty one are empty, and that none with contents is pending.
func (d *delivery) emptySince() (tick uint32, ok bool) {
	since := uint64(1)<<d.sent.empties - 1
	return d.sent.datagramAt(0).tick, d.repeats.acked&since != 0 && d.sent.pending&^since == 0
}

// acknowledgeDatagrams processes a client's acknowledgement of datagrams, received after a
// tick, and returns how many rows were lost. pause is the longest time between two
// acknowledgements of a client that does not stall. An error is the client's fault: it
// acknowledged a datagram that was never sent.
func (d *delivery) acknowledgeDatagrams(a wire.Ack, tick, pause uint32, m *members) (lost int, _ error) {
	if a.Newest <= d.before || a.Newest > d.sent.newest {
		return 0, &wire.Error{Code: wire.BadMessage, Detail: fmt.Sprintf("acknowledges snapshot %d of %d to %d", a.Newest, d.before+1, d.sent.newest)}
	}
	back := d.sent.newest - a.Newest
	if d.sent.isPending(back) {
		if a.Newest > d.link {
			d.delays.addDelay(tick + 1 - d.sent.datagramAt(back).tick) // counted to the next frame
		}
		d.repeats.noteProgress(tick, pause)
	}
	acked := (a.Mask<<1 | 1) << back
	d.repeats.noteAcked(acked)
	if news := d.sent.acknowledgeDatagrams(acked); news != 0 {
		d.ackedTick = max(d.ackedTick, d.sent.datagramAt(uint32(bits.TrailingZeros64(news))).tick)
	}
	for late := d.sent.pending >> (back + lossWindow) << (back + lossWindow); late != 0; late &= late - 1 {
		lost += d.loseDatagram(uint32(bits.TrailingZeros64(late)), m)
	}
	return lost, nil
}

// advanceBaselines moves the baselines of the rows of all datagrams acknowledged since the
// last call (R3), oldest first.
func (d *delivery) advanceBaselines(m *members) {
	for applied := d.sent.takeApplied(); applied != 0; {
		back := uint32(bits.Len64(applied)) - 1
		applied &^= 1 << back
		s := d.sent.datagramAt(back)
		m.advanceBaselines(d.sent.rowsOf(s), s.tick)
	}
}

// loseDatagram makes the rows of a lost datagram eligible for sending at once, and returns
// their number.
func (d *delivery) loseDatagram(back uint32, m *members) (lost int) {
	s := d.sent.loseDatagram(back)
	if d.sent.newest-back > d.link {
		d.lostTick = max(d.lostTick, s.tick)
	}
	return m.loseRows(d.sent.rowsOf(s), s.tick)
}

// isOverdue reports whether the acknowledgement of the oldest pending datagram, or of
// records sent after the tick since, takes longer than usual. It is true whenever copies
// are on: a copy helps only a datagram that needs no record of the lost packet. It is false
// while the usual delay is unknown.
func (d *delivery) isOverdue(since, tick uint32, tickHz int) bool {
	if d.repeats.on {
		return true
	}
	lossy := d.lostTick != 0 && tick-d.lostTick < lossySeconds*uint32(tickHz)
	usual, known := d.delays.usualTicks(lossy)
	if !known {
		return false
	}
	if d.sent.pending != 0 {
		since = min(since, d.sent.datagramAt(uint32(bits.Len64(d.sent.pending))-1).tick)
	}
	return tick-since >= usual
}

// judgeSamples adds the samples that were acknowledged or lost to the loss estimate.
func (d *delivery) judgeSamples(tickHz int) {
	for r := &d.repeats; r.samples != 0; {
		back := r.oldestSample()
		if d.sent.datagramAt(back).tick+uint32(tickHz/repeatLag) > d.ackedTick {
			return
		}
		r.judgeSample(back)
	}
}

// appendCopies appends a copy of each of the newest snapshot's datagrams that should be
// sent twice. Copies take no bytes from rows: all copies together fit into spare, the bytes
// that would expire unused. Copies do not wait for the congestion window: with their packet
// headers they fit into window.
func (d *delivery) appendCopies(datagrams [][]byte, spare, window int) [][]byte {
	r, made := &d.repeats, len(datagrams)
	for i, b := range datagrams[:made] {
		back := uint32(made - 1 - i)
		s, size := d.sent.datagramAt(back), len(b)+packetBytes
		switch {
		case window < 0:
			return datagrams
		case r.on && (d.sent.newest-back)%probeEvery != 0 && !s.novel && len(b) <= maxCopyBytes && size <= window && len(b) <= spare:
			datagrams = append(datagrams, b)
			d.sent.addCopy(back, size)
			spare, window = spare-len(b), window-size
		default:
			r.beginSample(back)
		}
	}
	return datagrams
}

// unackedBytes returns the size of the datagrams that may be in flight, with packet
// headers.
func (d *delivery) unackedBytes() (n int) {
	for pending := d.sent.pending; pending != 0; pending &= pending - 1 {
		n += int(d.sent.datagramAt(uint32(bits.TrailingZeros64(pending))).bytes)
	}
	return n
}

// ackDelays holds the acknowledgement delays of the newest datagrams, in ticks.
type ackDelays struct {
	ticks [16]uint8
	count uint8 // used entries of ticks
	next  uint8 // index of the oldest
}

func (d *ackDelays) addDelay(ticks uint32) {
	d.ticks[d.next] = uint8(min(ticks, 255))
	d.next = (d.next + 1) % uint8(len(d.ticks))
	d.count = min(d.count+1, uint8(len(d.ticks)))
}

// lossySeconds is how long a link counts as lossy after the loss of a datagram.
const lossySeconds = 4

// usualTicks returns the delay within which 7/8 of the datagrams were acknowledged (half of
// them on a lossy link), and whether enough datagrams were measured.
func (d *ackDelays) usualTicks(lossy bool) (ticks uint32, known bool) {
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

// AckedTick returns the tick of the newest datagram that the client has acknowledged, or 0.
func (d *delivery) AckedTick() uint32 { return d.ackedTick }

// recordsOverdue reports whether acknowledgements take longer than usual while the client
// may lack records. unsure is the first tick whose records it may lack.
func (d *delivery) recordsOverdue(s *structure, tick uint32, tickHz int) (unsure uint32, overdue bool) {
	unsure, lacks := s.unsureSince(tick)
	return unsure, lacks && d.isOverdue(unsure, tick, tickHz)
}
