package replication

import (
	"math/bits"

	"github.com/worldd/worldd/replication/wire"
)

// codingKey identifies one coding of a tenant's present state: slot, baseline, whether
// it is anchored to its parent, and whether it includes owner-only fields. Keys ascend
// by slot, and none is 0.
type codingKey uint64

// The parts of a codingKey, from the low end. Their widths bound a baseline's age to a day
// and a half, and the gap between its two states to four minutes.
const (
	nonzeroKey   codingKey = 1 << 0
	anchoredKey  codingKey = 1 << 1
	ownedKey     codingKey = 1 << 2
	gapShift               = 3
	gapBits                = 14 // ticks: 4 minutes at 60 Hz
	ageShift               = gapShift + gapBits
	ageBits                = 23 // ticks: a day and a half at 60 Hz
	slotShift              = ageShift + ageBits
	baselineMask codingKey = 1<<slotShift - 1<<gapShift
)

func (k codingKey) slot() uint32   { return uint32(k >> slotShift) }
func (k codingKey) age() uint32    { return uint32(k>>ageShift) & (1<<ageBits - 1) }
func (k codingKey) gap() uint32    { return uint32(k>>gapShift) & (1<<gapBits - 1) }
func (k codingKey) anchored() bool { return k&anchoredKey != 0 }
func (k codingKey) owned() bool    { return k&ownedKey != 0 }

// baselineBits returns the part of the key that holds the baseline.
func (k codingKey) baselineBits() codingKey { return k & baselineMask }
func (k codingKey) baseline() wire.Baseline { return wire.Baseline{Age: k.age(), Gap: k.gap()} }

// horizon bounds the age of baselines in a frame.
type horizon struct {
	tick      uint32 // tick of the frame
	keptTicks uint32 // minimum time for which a client keeps a state: clients keep one state per snapshot
	plain     bool   // the client receives rows in full
}

// keyFor chooses a row's baseline: the newest state that the client is known to have and an
// older one, if both sides still remember them (R3).
func (h horizon) keyFor(slot uint32, row *viewerRow, p *slotSummary) codingKey {
	k := codingKey(slot)<<slotShift | nonzeroKey
	base, age := row.ackedTick, h.tick-row.ackedTick
	if h.plain || row.flags&noBase != 0 || row.sentTick >= base+h.keptTicks || p.oldest > base || age >= 1<<ageBits {
		return k
	}
	k |= codingKey(age) << ageShift
	gap := uint32(row.olderGap)
	older := base - gap
	if gap-1 < 1<<gapBits-1 && age <= maxMotionRatio*gap && row.sentTick < older+h.keptTicks && p.oldest <= older {
		k |= codingKey(gap) << gapShift
	}
	return k
}

// rowCoding returns how to write the headers of rows. keys ascend by slot.
func rowCoding(keys []codingKey) wire.RowCoding {
	return wire.RowCoding{Usual: majorityBaseline(keys), SkipBits: skipBits(keys)}
}

// majorityBaseline returns the baseline that more than half of the rows share, if any
// (Boyer and Moore's majority vote). It tries the first row's baseline first, which usually
// wins.
func majorityBaseline(keys []codingKey) wire.Baseline {
	if len(keys) == 0 {
		return wire.Baseline{}
	}
	like := 0
	for _, k := range keys {
		if (k^keys[0])&baselineMask == 0 {
			like++
		}
	}
	if 2*like > len(keys) {
		return keys[0].baseline()
	}
	var candidate codingKey
	votes := 0
	for _, k := range keys {
		switch {
		case votes == 0:
			candidate, votes = k, 1
		case k.baselineBits() == candidate.baselineBits():
			votes++
		default:
			votes--
		}
	}
	return candidate.baseline()
}

// skipBits returns the order of the code for skipped slots, from the mean distance between
// rows; 0 without rows.
func skipBits(keys []codingKey) uint8 {
	if len(keys) == 0 {
		return 0
	}
	spread := (keys[len(keys)-1].slot() - keys[0].slot()) / uint32(len(keys))
	return uint8(min(bits.Len32(spread/2), wire.MaxSkipBits))
}
