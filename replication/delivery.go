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

// openDatagram opens a datagram, and returns how many rows were lost. The oldest datagram in the
// window counts as lost if it is still pending: it can no longer be acknowledged.
func (d *delivery) openDatagram(tick uint32, rows []viewerRow) (lost int) {
	const last = sentWindow - 1
	if d.sent.pending>>last != 0 {
		lost = d.loseDatagram(last, rows)
	}
	d.sent.openDatagram(tick)
	d.repeats.openDatagram()
	return lost
}

// acknowledgeDatagrams processes a client's report of the datagrams that it has applied, after a tick, and
// returns how many rows were lost. An error is the client's fault: it acknowledges what was never
// sent.
func (d *delivery) acknowledgeDatagrams(a wire.Ack, tick uint32, tickHz int, rows []viewerRow) (lost int, _ error) {
	if a.Newest <= d.before || a.Newest > d.sent.newest {
		return 0, &wire.Error{Code: wire.BadMessage, Detail: fmt.Sprintf("acknowledges snapshot %d of %d to %d", a.Newest, d.before+1, d.sent.newest)}
	}
	back := d.sent.newest - a.Newest
	if d.sent.pending>>back&1 != 0 {
		d.delays.addDelay(tick + 1 - d.sent.datagramAt(back).tick) // until the next frame
		d.repeats.noteProgress(tick, uint32(tickHz)/repeatPause)
	}
	d.repeats.acked |= (a.Mask<<1 | 1) << back
	if news := (a.Mask<<1 | 1) << back & d.sent.pending; news != 0 {
		d.sent.pending &^= news
		d.sent.applied |= news
		d.ackedTick = max(d.ackedTick, d.sent.datagramAt(uint32(bits.TrailingZeros64(news))).tick)
	}
	for late := d.sent.pending >> (back + lossWindow) << (back + lossWindow); late != 0; late &= late - 1 {
		lost += d.loseDatagram(uint32(bits.TrailingZeros64(late)), rows)
	}
	return lost, nil
}

// advanceBaselines moves the baselines of all rows of the datagrams that were acknowledged
// since the last one (R3), the oldest first. It skips rows with a newer baseline. That includes
// rows whose index belonged to another row in the datagram: the former row ended before the
// tick of this row's Enter, which is its first baseline.
func (d *delivery) advanceBaselines(rows []viewerRow) {
	for applied := d.sent.applied; applied != 0; {
		back := uint32(bits.Len64(applied)) - 1
		applied &^= 1 << back
		s := d.sent.datagramAt(back)
		for _, rowIndex := range d.sent.rowsOf(s) {
			if row := &rows[rowIndex]; row.ackedTick < s.tick {
				row.advanceBaseline(s.tick)
			}
		}
	}
	d.sent.applied = 0
}

// loseDatagram makes the rows of a lost datagram eligible at once, unless they were
// sent again since, and returns their number. They are sent with their newest state, not with
// the lost one.
func (d *delivery) loseDatagram(back uint32, rows []viewerRow) (lost int) {
	s := d.sent.datagramAt(back)
	d.lostTick = max(d.lostTick, s.tick)
	d.sent.pending &^= 1 << back
	for _, rowIndex := range d.sent.rowsOf(s) {
		if row := &rows[rowIndex]; row.sentTick == s.tick && row.flags&inFlight != 0 {
			row.flags &^= inFlight
			lost++
		}
	}
	return lost
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
	r := &d.repeats
	for r.samples != 0 {
		back := uint32(bits.Len64(r.samples)) - 1
		if d.sent.datagramAt(back).tick+uint32(tickHz/repeatLag) > d.ackedTick {
			return
		}
		r.samples &^= 1 << back
		r.addSample(r.acked>>back&1 == 0)
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
			s.bytes += uint16(size)
			spare, window = spare-len(b), window-size
		default:
			r.samples |= 1 << back
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
