package replication

import "math/bits"

// repetition decides which State datagrams a viewer is sent twice: on a link that loses
// packets, a copy arrives an interval before the next snapshot, which would make up for the
// loss. It estimates the share lost from acknowledgements of snapshots sent once. A missing one
// proves little: the client may be slow or stalled, and a sender that is held up drops snapshots
// itself. So a snapshot is a sample only if little was in flight, and acknowledgements did not
// pause. It is judged when one made repeatLag later is acknowledged.
type repetition struct {
	on       bool
	loss     uint32 // moving average of the share of samples lost, times lossScale
	gap      bool   // the newest sample was lost
	samples  uint64 // bit n: snapshot newest-n is a sample whose fate is open
	acked    uint64 // bit n: snapshot newest-n was acknowledged, if late
	progress uint32 // tick in which a newer snapshot was last acknowledged; 0: none yet
}

// begin opens a snapshot.
func (r *repetition) begin() { r.samples, r.acked = r.samples<<1, r.acked<<1 }

// noteProgress notes that a newer snapshot is acknowledged. After a pause, what was sent
// meanwhile says nothing about the link: the client stalled, or nothing got through at all.
func (r *repetition) noteProgress(tick, pause uint32) {
	if r.progress == 0 || tick-r.progress > pause {
		r.samples = 0
	}
	r.progress = tick
}

// add adds a sample to the estimate. Losses in a row count as one, since a copy would be lost
// with them. Samples are rare while copies are sent, and weigh more.
func (r *repetition) add(lost bool) {
	if lost && r.gap {
		return
	}
	r.gap = lost
	shift := lossShift
	if r.on {
		shift = lossShiftOn
	}
	if lost {
		r.loss += (lossScale - r.loss) >> shift
	} else {
		r.loss -= r.loss >> shift
	}
	r.on = r.loss >= repeatFrom || r.on && r.loss >= repeatUntil
}

// judgeSamples adds the samples whose fate is known.
func (v *Viewer) judgeSamples() {
	r := &v.repeats
	lag := v.replicator.world.TickHz() / repeatLag
	for r.samples != 0 {
		back := uint32(bits.Len64(r.samples)) - 1
		if v.sent.at(back).tick+uint32(lag) > v.ackedTick {
			return
		}
		r.samples &^= 1 << back
		r.add(r.acked>>back&1 == 0)
	}
}

// repeatDatagrams appends copies of the snapshot's datagrams to be sent twice. A copy never
// takes bytes from rows: it is made only of what the budget would lose, because unused bytes
// do not accumulate further. Nor does it wait for the congestion window: it is made only if
// it fits into QUIC's smallest, with everything unacknowledged.
func (v *Viewer) repeatDatagrams() {
	if v.replicator.config.SendOnce {
		return
	}
	v.judgeSamples()
	r, made := &v.repeats, len(v.datagrams)
	room := minWindowBytes - v.unackedBytes()
	for i, d := range v.datagrams[:made] {
		back := uint32(made - 1 - i)
		s, size := v.sent.at(back), len(d)+packetBytes
		switch {
		case room < 0:
			return
		case r.on && (v.sent.newest-back)%probeEvery != 0 && !s.novel && len(d) <= maxCopyBytes && size <= room && v.spares(len(d)):
			v.datagrams = append(v.datagrams, d)
			v.tokens -= len(d)
			s.bytes += uint16(size)
			room -= size
			v.work.stats.Copies++
			v.work.stats.CopyBytes += uint64(len(d))
			v.stats.Copies++
		default:
			r.samples |= 1 << back
		}
	}
}

// unackedBytes returns what may be in flight to the client, with packet headers.
func (v *Viewer) unackedBytes() int {
	n := v.structure.outstanding()
	for pending := v.sent.pending; pending != 0; pending &= pending - 1 {
		n += int(v.sent.at(uint32(bits.TrailingZeros64(pending))).bytes)
	}
	return n
}

// spares reports whether the next snapshot has the same budget if n more bytes are sent now.
func (v *Viewer) spares(n int) bool {
	c := v.replicator.config
	return v.tokens-n >= (burstSnapshots-1)*(c.BudgetBytesPerSecond/c.SnapshotHz)
}

// Loss returns the estimated share of snapshots, 0 to 1, that the link to the client loses or
// delivers too late to be applied.
func (v *Viewer) Loss() float64 { return float64(v.repeats.loss) / lossScale }
