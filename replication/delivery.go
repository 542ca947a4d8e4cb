package replication

import (
	"fmt"
	"math/bits"

	"github.com/worldd/worldd/replication/wire"
)

// delivery follows a viewer's State datagrams: which are in flight, what became of their rows, and what
// their acknowledgements say about the link.
type delivery struct {
	sent      sentLog
	repeats   repetition
	delays    ackDelays
	before    uint32 // newest datagram in earlier rooms
	ackedTick uint32 // of the newest datagram acknowledged; 0: none
	lostTick  uint32 // of the newest datagram that was lost; 0: none
}

// continueFrom makes the first datagram follow number newest of an earlier room.
func (d *delivery) continueFrom(newest uint32) {
	d.sent.continueFrom(newest)
	d.before = newest
}

// forgetLink forgets what is known of the link, for a client that has another one.
func (d *delivery) forgetLink() { d.repeats = repetition{} }

// lossShare returns the estimated share of datagrams that the link loses.
func (d *delivery) lossShare() float64 { return float64(d.repeats.loss) / lossScale }

// openDatagram opens a datagram of rows, and returns how many rows were lost. The oldest datagram in
// the window counts as lost if it is still pending: it can no longer be acknowledged.
func (d *delivery) openDatagram(tick uint32, rowIndexes []uint32, m *members) (lost int) {
	const last = sentWindow - 1
	if d.sent.isPending(last) {
		lost = d.loseDatagram(last, m)
	}
	d.sent.openDatagram(tick)
	d.sent.addRows(rowIndexes...)
	d.repeats.openDatagram()
	return lost
}

// continuesTick reports whether the datagram before the open one has the same tick.
func (d *delivery) continuesTick() bool {
	return d.sent.newest > 1 && d.sent.datagramAt(1).tick == d.sent.datagramAt(0).tick
}

// emptySince returns the tick of the newest datagram, if it was empty and no datagram is pending.
func (d *delivery) emptySince() (tick uint32, ok bool) {
	newest := d.sent.datagramAt(0)
	return newest.tick, newest.empty && d.sent.pending == 0
}

// acknowledgeDatagrams processes a client's report of the datagrams that it has applied, after a tick, and
// returns how many rows were lost. An error is the client's fault: it acknowledges what was never
// sent.
func (d *delivery) acknowledgeDatagrams(a wire.Ack, tick uint32, tickHz int, m *members) (lost int, _ error) {
	if a.Newest <= d.before || a.Newest > d.sent.newest {
		return 0, &wire.Error{Code: wire.BadMessage, Detail: fmt.Sprintf("acknowledges snapshot %d of %d to %d", a.Newest, d.before+1, d.sent.newest)}
	}
	back := d.sent.newest - a.Newest
	if d.sent.isPending(back) {
		d.delays.addDelay(tick + 1 - d.sent.datagramAt(back).tick) // until the next frame
		d.repeats.noteProgress(tick, uint32(tickHz)/repeatPause)
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

// advanceBaselines moves the baselines of all rows of the datagrams that were acknowledged
// since its last call (R3), the oldest first.
func (d *delivery) advanceBaselines(m *members) {
	for applied := d.sent.takeApplied(); applied != 0; {
		back := uint32(bits.Len64(applied)) - 1
		applied &^= 1 << back
		s := d.sent.datagramAt(back)
		m.advanceBaselines(d.sent.rowsOf(s), s.tick)
	}
}

// loseDatagram makes the rows of a lost datagram eligible at once, and returns their number.
func (d *delivery) loseDatagram(back uint32, m *members) (lost int) {
	s := d.sent.loseDatagram(back)
	d.lostTick = max(d.lostTick, s.tick)
	return m.loseRows(d.sent.rowsOf(s), s.tick)
}

// isOverdue reports whether the oldest pending datagram, or what was sent after the tick since,
// was not acknowledged in the usual time, as far as that is known. On a link that loses packets
// it always is: a copy helps only a datagram that needs none of the lost packet's records.
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

// judgeSamples adds to the estimated loss the samples whose fate is known.
func (d *delivery) judgeSamples(tickHz int) {
	for r := &d.repeats; r.samples != 0; {
		back := r.oldestSample()
		if d.sent.datagramAt(back).tick+uint32(tickHz/repeatLag) > d.ackedTick {
			return
		}
		r.judgeSample(back)
	}
}

// appendCopies appends copies of the newest snapshot's datagrams that are to be sent twice. A copy
// never takes bytes from rows: all copies fit into spare, the bytes that the budget would lose.
// Nor do they wait for the congestion window: with their packets they fit into window.
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

// unackedBytes returns what datagrams may have in flight to the client, with packet headers.
func (d *delivery) unackedBytes() (n int) {
	for pending := d.sent.pending; pending != 0; pending &= pending - 1 {
		n += int(d.sent.datagramAt(uint32(bits.TrailingZeros64(pending))).bytes)
	}
	return n
}

// ackDelays holds how many ticks passed until the newest datagrams were acknowledged.
type ackDelays struct {
	ticks [16]uint8
	count uint8 // of ticks, at most all
	next  uint8 // index of the oldest
}

func (d *ackDelays) addDelay(ticks uint32) {
	d.ticks[d.next] = uint8(min(ticks, 255))
	d.next = (d.next + 1) % uint8(len(d.ticks))
	d.count = min(d.count+1, uint8(len(d.ticks)))
}

// lossySeconds is how long after the loss of a datagram the next one is expected.
const lossySeconds = 4

// usualTicks returns the ticks within which most datagrams were acknowledged, or half of them on a lossy
// link, and whether that is known. Where delays vary, a link without loss has no datagrams more.
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
