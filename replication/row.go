package replication

import (
	"math"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/internal/fault"
)

// viewerRow is one entity of the interest set: 32 bytes, two to a line of memory.
type viewerRow struct {
	handle    bulk.Handle
	entered   uint32 // number of its Enter record
	enterTick uint32 // tick of the state in that record
	ackedTick uint32 // tick of the baseline
	sentTick  uint32 // newest snapshot it rode in; 0: none
	priority  float32
	olderGap  uint16 // ticks from the state before the baseline, that motion is taken from, to the baseline; 0: none
	nextGap   uint8  // ticks from the state that takes its place next to the baseline: below motionTicks
	waiting   bool   // the snapshot of sentTick may yet arrive
}

// acknowledge makes the state at tick the baseline. The one before it that
// motion is taken from is some ticks older, so that there is motion.
func (row *viewerRow) acknowledge(tick uint32) {
	gap := tick - row.ackedTick
	if next := gap + uint32(row.nextGap); next >= motionTicks {
		row.olderGap, row.nextGap = shortGap(next), 0
	} else {
		if row.olderGap != 0 {
			row.olderGap = shortGap(uint32(row.olderGap) + gap)
		}
		row.nextGap = uint8(next)
	}
	row.ackedTick = tick
	if fault.OlderUnknown {
		row.olderGap = 1
	}
}

// send notes that the row is in the open snapshot, which is of a tick.
func (row *viewerRow) send(tick uint32) {
	row.priority, row.sentTick, row.waiting = 0, tick, true
	if fault.AckOnSend {
		row.acknowledge(tick)
	}
}

// shortGap is a gap, or none if it is one of minutes: no client keeps states
// for so long.
func shortGap(ticks uint32) uint16 {
	if ticks > math.MaxUint16 {
		return 0
	}
	return uint16(ticks)
}

// allot returns a place for a row.
func (v *Viewer) allot() uint32 {
	if n := len(v.free); n > 0 {
		place := v.free[n-1]
		v.free = v.free[:n-1]
		return place
	}
	v.rows = grown(v.rows, 1)
	return uint32(len(v.rows) - 1)
}

// release gives a member's row up. Snapshots on their way may still name its
// place: see Viewer.applied.
func (v *Viewer) release(place *uint32) {
	v.rows[*place] = viewerRow{}
	v.free = append(v.free, *place)
	*place, v.dying = noRow, true
}
