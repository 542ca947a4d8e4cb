package replication

import "github.com/worldd/worldd/replication/wire"

// codingKey names one way of coding the present state of a tenant: its slot, the
// baseline, whether it is told of by the motion of its parent, and whether it is
// an owner's who is sent more than others. Keys ascend by slot, and none is zero.
type codingKey uint64

// The parts of a codingKey, from its low end. They bound what serves as a
// baseline: of rows that slept for days, and of snapshots minutes apart.
const (
	nonzeroKey   codingKey = 1 << 0
	anchoredKey  codingKey = 1 << 1
	ownedKey     codingKey = 1 << 2
	gapShift               = 3
	gapBits                = 14 // ticks: 4 minutes, at 60 a second
	ageShift               = gapShift + gapBits
	ageBits                = 23 // ticks: a day and a half
	slotShift              = ageShift + ageBits
	baselineMask codingKey = 1<<slotShift - 1<<gapShift
)

func (k codingKey) slot() uint32   { return uint32(k >> slotShift) }
func (k codingKey) age() uint32    { return uint32(k>>ageShift) & (1<<ageBits - 1) }
func (k codingKey) gap() uint32    { return uint32(k>>gapShift) & (1<<gapBits - 1) }
func (k codingKey) anchored() bool { return k&anchoredKey != 0 }
func (k codingKey) owned() bool    { return k&ownedKey != 0 }

// past is the part of the key that is the baseline.
func (k codingKey) baselineBits() codingKey { return k & baselineMask }
func (k codingKey) baseline() wire.Baseline { return wire.Baseline{Age: k.age(), Gap: k.gap()} }

// horizon says how far back a frame's rows have baselines.
type horizon struct {
	tick      uint32 // of the frame
	keptTicks uint32 // ticks for which a client keeps a state at least: since that was sent, one for each turn, and turns are an interval apart
}

// key chooses the states that a row is coded against: the newest that the client
// is known to have, and one before it, as far as both sides remember them (R3).
func (h horizon) keyFor(slot uint32, row *viewerRow, p *slotSummary) codingKey {
	k := codingKey(slot)<<slotShift | nonzeroKey
	base, age := row.ackedTick, h.tick-row.ackedTick
	if row.sentTick >= base+h.keptTicks || p.oldest > base || age >= 1<<ageBits {
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
