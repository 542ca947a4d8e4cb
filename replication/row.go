package replication

import "math"

// viewerRow is the part of a member that every snapshot reads: 16 bytes, four to a cache
// line. Other slices of members hold the rest, under the same index.
type viewerRow struct {
	enterTick uint32 // tick of the state in its Enter record
	ackedTick uint32 // tick of the baseline
	sentTick  uint32 // tick of the newest datagram with the row; 0: none
	olderGap  uint16 // ticks from the older state (for motion) to the baseline; 0: no older state
	nextGap   uint8  // ticks from the candidate for the next older state to the baseline, below minMotionTicks
	flags     uint8
}

const (
	inFlight   = 1 << iota // the datagram of sentTick may still arrive
	passedOver             // the row has accumulated priority
	noBase                 // the client stores the state of ackedTick under another tick, so the state cannot be a baseline
)

// advanceBaseline makes the state at tick the baseline. The older state stays at least
// minMotionTicks behind, so that the two show motion. If every tick is acknowledged, the
// ticks of older states are divisible by minMotionTicks: most viewers then share baselines
// and coded rows, and most rows of a datagram have the usual baseline.
func (row *viewerRow) advanceBaseline(tick uint32) {
	if row.flags&noBase != 0 {
		row.flags &^= noBase
		row.ackedTick, row.olderGap, row.nextGap = tick, 0, 0
		return
	}
	gap := tick - row.ackedTick
	if next := gap + uint32(row.nextGap); next >= minMotionTicks {
		row.olderGap, row.nextGap = clampGap(next), 0
	} else {
		if row.olderGap != 0 {
			row.olderGap = clampGap(uint32(row.olderGap) + gap)
		}
		row.nextGap = uint8(next)
		if gap == 1 && tick%minMotionTicks == 0 {
			row.nextGap = 0
		}
	}
	row.ackedTick = tick
}

// clampGap returns a gap in ticks, or 0 if it exceeds 16 bits: no client keeps states that
// long.
func clampGap(ticks uint32) uint16 {
	if ticks > math.MaxUint16 {
		return 0
	}
	return uint16(ticks)
}
