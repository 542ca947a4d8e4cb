package client

import (
	"math/bits"

	"github.com/worldd/worldd/replication/wire"
)

// timeline holds the ticks of the applied snapshots, and their acknowledgement.
type timeline struct {
	snapshotTicks
	acks     ackWindow
	ackTicks [64]uint32 // ticks of the snapshots in acks, by seq modulo 64
	input    uint32     // tick of the newest input that the server has applied; 0: none
	proven   uint32     // highest structure number of an applied snapshot
	span     uint32     // ticks of states kept for Component.At
	shown    uint32     // tick of the newest Render
}

// keepStates keeps states of the last ticks from now on.
func (t *timeline) keepStates(ticks uint32) { t.span = ticks }

// showUntil notes the tick of the newest Render.
func (t *timeline) showUntil(tick uint32) { t.shown = tick }

// addApplied notes a datagram that is being applied, and reports whether it is the first of a
// newer tick.
func (t *timeline) addApplied(h wire.StateHeader) (newer bool) {
	newer = t.addDatagram(h)
	if newer {
		t.input, _ = h.AppliedInput()
	}
	t.proven = max(t.proven, h.Structure)
	return newer
}

// acknowledgeDatagram notes that a datagram was applied.
func (t *timeline) acknowledgeDatagram(h wire.StateHeader) {
	t.acks.addSeq(h.Seq)
	t.ackTicks[h.Seq%uint32(len(t.ackTicks))] = h.Tick
}

// blendFrom returns the tick from which At blends in a new state of e. It is 0, which means
// from the previous state's tick, unless a snapshot between the two states had no row of e.
// Without a row e was drawn at rest, so it is blended from the newest render on, over at most
// two snapshots: either e rested, or the snapshot had no space for its row.
func (t *timeline) blendFrom(tick uint32, e *Entity) uint32 {
	if tick < t.tick || t.before <= e.states.tick {
		return 0
	}
	earliest := t.before - min(t.before, tick-t.before)
	return min(max(t.shown, earliest), tick-1)
}

// resendSnapshots is the number of snapshots without an own row after which a server has
// certainly sent a lost one again.
const resendSnapshots = 9

// knownUntil returns the newest tick at which the controlled entity e is known to have its
// current state.
//
// Each snapshot for the controller has a row of e, unless the client has acknowledged e's state
// or a snapshot with that state is under way. So a snapshot without the row confirms the
// current state if no snapshot was lost since that state, or after resendSnapshots, when the
// server has sent a lost row again. The server sends rows of an exact body only after a
// disturbance, and a complete snapshot without one excludes disturbances.
func (t *timeline) knownUntil(e *Entity) uint32 {
	if e.isComputed() {
		_, tick, _ := e.Exact()
		return max(tick, e.states.tick)
	}
	applied := min(uint32(bits.TrailingZeros64(^t.acks.mask)), uint32(len(t.ackTicks)-1)) // before the newest, without a gap
	since := t.ackTicks[(t.acks.newest-applied)%uint32(len(t.ackTicks))]
	if t.tick <= e.states.tick || e.states.tick < since && t.tick-since <= resendSnapshots*t.interval {
		return e.states.tick
	}
	return t.tick
}

// ackWindow records which of the newest snapshot and the 64 before it were applied.
type ackWindow struct {
	newest uint32
	mask   uint64 // bit i: newest-1-i
}

// hasSeen reports whether seq was applied, or is too old to tell.
func (a *ackWindow) hasSeen(seq uint32) bool {
	switch {
	case seq > a.newest:
		return false
	case seq == a.newest || a.newest-seq > 64:
		return true
	}
	return a.mask>>(a.newest-seq-1)&1 != 0
}

func (a *ackWindow) addSeq(seq uint32) {
	if seq < a.newest {
		a.mask |= 1 << (a.newest - seq - 1)
		return
	}
	if d := seq - a.newest; a.newest != 0 && d <= 64 {
		a.mask = a.mask<<d | 1<<(d-1)
	} else {
		a.mask = 0
	}
	a.newest = seq
}
