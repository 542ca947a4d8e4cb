package replication

import "math/bits"

// repetition decides which State datagrams a viewer is sent twice: on a link that loses
// packets, a copy arrives an interval before the next snapshot, which would make up for the
// loss. It estimates the share lost from acknowledgements of datagrams sent once. A missing one
// proves little: the client may be slow or stalled, and a sender that is held up drops datagrams
// itself. So a datagram is a sample only if little was in flight, and acknowledgements did not
// pause. It is judged when one made repeatLag later is acknowledged.
type repetition struct {
	on       bool
	loss     uint32 // moving average of the share of samples lost, times lossScale
	gap      bool   // the newest sample was lost
	samples  uint64 // bit n: datagram newest-n is a sample whose fate is open
	acked    uint64 // bit n: datagram newest-n was acknowledged, if late
	progress uint32 // tick in which a newer datagram was last acknowledged; 0: none yet
}

// openDatagram opens a datagram.
func (r *repetition) openDatagram() { r.samples, r.acked = r.samples<<1, r.acked<<1 }

// noteProgress notes that a newer datagram is acknowledged. After a pause, what was sent
// meanwhile says nothing about the link: the client stalled, or nothing got through at all.
func (r *repetition) noteProgress(tick, pause uint32) {
	if r.progress == 0 || tick-r.progress > pause {
		r.samples = 0
	}
	r.progress = tick
}

// noteAcked notes that datagrams were acknowledged (bit n: newest-n).
func (r *repetition) noteAcked(acked uint64) { r.acked |= acked }

// beginSample makes a datagram that was sent once a sample.
func (r *repetition) beginSample(back uint32) { r.samples |= 1 << back }

// oldestSample returns the oldest sample whose fate is open. There must be one.
func (r *repetition) oldestSample() (back uint32) { return uint32(bits.Len64(r.samples)) - 1 }

// judgeSample ends a sample: it was lost unless it was acknowledged.
func (r *repetition) judgeSample(back uint32) {
	r.samples &^= 1 << back
	r.addSample(r.acked>>back&1 == 0)
}

// addSample adds a sample to the estimate. Losses in a row count as one, since a copy would be lost
// with them. Samples are rare while copies are sent, and weigh more.
func (r *repetition) addSample(lost bool) {
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
