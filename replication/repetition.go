package replication

import "math/bits"

// repetition decides whether a viewer's State datagrams are sent twice: on a link that
// loses packets, a copy arrives an interval earlier than the next snapshot. It estimates
// the loss from datagrams that were sent once. A missing acknowledgement proves little: the
// client may be slow or stalled, and a sender that is held up drops datagrams itself. A
// datagram is therefore a sample only if little was in flight and acknowledgements did not
// pause. It is judged when a datagram made repeatLag later is acknowledged.
type repetition struct {
	on       bool
	loss     uint32 // moving average of the share of samples lost, times lossScale
	gap      bool   // the newest sample was lost
	samples  uint64 // bit n: datagram newest-n is a sample that is not judged yet
	acked    uint64 // bit n: datagram newest-n was acknowledged, even if late
	progress uint32 // tick in which a newer datagram was last acknowledged; 0: none yet
}

// openDatagram opens a datagram.
func (r *repetition) openDatagram() { r.samples, r.acked = r.samples<<1, r.acked<<1 }

// noteProgress records that a newer datagram is acknowledged. After a pause it drops the
// samples, which say nothing about the link: the client stalled, or the link was down.
func (r *repetition) noteProgress(tick, pause uint32) {
	if r.progress == 0 || tick-r.progress > pause {
		r.samples = 0
	}
	r.progress = tick
}

// longestPause returns the number of ticks between two acknowledgements above which the
// client stalled or the link was down. interval is the time between two snapshots in ticks.
func longestPause(tickHz, interval uint32) uint32 {
	return max(tickHz/repeatPause, interval*pauseHalves/2)
}

// noteAcked records that datagrams were acknowledged (bit n: newest-n).
func (r *repetition) noteAcked(acked uint64) { r.acked |= acked }

// beginSample makes a sample of a datagram that is sent once.
func (r *repetition) beginSample(back uint32) { r.samples |= 1 << back }

// oldestSample returns the oldest sample. There must be one.
func (r *repetition) oldestSample() (back uint32) { return uint32(bits.Len64(r.samples)) - 1 }

// judgeSample ends a sample, which counts as lost unless it was acknowledged.
func (r *repetition) judgeSample(back uint32) {
	r.samples &^= 1 << back
	r.addSample(r.acked>>back&1 == 0)
}

// addSample adds a sample to the estimate. Consecutive losses count as one: copies would be
// lost too. Samples are rare while copies are sent, and weigh more.
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
