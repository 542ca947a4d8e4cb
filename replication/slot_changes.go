package replication

import "github.com/worldd/worldd/bulk"

// slotChanges remembers which slots changed in the last captures, by kind of change.
type slotChanges struct {
	changed  changeLog                   // slots whose entity changed in any way
	replaced changeLog                   // slots that have another tenant or none
	retexted changeLog                   // slots with changed text fields
	owing    changeLog                   // slots whose rows a simulating viewer may be owed
	bodies   [keptCaptures]changedBodies // bodies of the changed slots, by captures back
}

// captureChanges are the sets of slots that one capture fills.
type captureChanges struct {
	changed  *bulk.Bitset
	owing    *bulk.Bitset // slots whose newest state simulating viewers may be owed
	replaced *bulk.Bitset // slots with a new tenant
	retexted *bulk.Bitset // slots with a changed text
}

// captures returns the number of captures made.
func (c *slotChanges) captures() uint64 { return c.changed.captures }

// vacateSlot records that the entity in a slot was destroyed.
func (c *slotChanges) vacateSlot(slot uint32) {
	c.changed.openSet().Set(slot)
	c.replaced.openSet().Set(slot)
}

// noteOwing records that viewers may be owed the rows of slots, even if the rows do not
// change.
func (c *slotChanges) noteOwing(slots []uint32) {
	for _, slot := range slots {
		c.owing.openSet().Set(slot)
	}
}

// beginCapture closes the sets of changes before a capture, and returns them for the
// capture to fill.
func (c *slotChanges) beginCapture() captureChanges {
	return captureChanges{c.changed.closeSet(), c.owing.closeSet(), c.replaced.closeSet(), c.retexted.closeSet()}
}

// shareSince computes the changes since a capture, for the viewers whose last snapshot was of that
// capture. The workers only read the result.
func (c *slotChanges) shareSince(capture uint64, g *grid, slots int) {
	changed, _, _ := c.changedSince(capture)
	c.retextedSince(capture)
	if c.areFew(changed, capture, slots) {
		c.bodiesSince(g, changed, capture)
	}
}

// changedSince returns the slots that changed after a capture, the replaced ones, and the
// slots whose rows simulating viewers may be owed. A nil set means that any slot may be in
// it.
func (c *slotChanges) changedSince(capture uint64) (changed, replaced, owing *bulk.Bitset) {
	return c.changed.changedSince(capture), c.replaced.changedSince(capture), c.owing.changedSince(capture)
}

// retextedSince returns the slots whose text fields changed after a capture, or nil if any
// slot may be among them.
func (c *slotChanges) retextedSince(capture uint64) *bulk.Bitset {
	return c.retexted.changedSince(capture)
}

// areFew reports whether changed, the slots that changed since a capture, are few enough
// for boundaries with a margin.
func (c *slotChanges) areFew(changed *bulk.Bitset, capture uint64, slots int) bool {
	return changed != nil && c.changed.isSmall(capture, fewChangedDivisor, slots)
}

// bodiesSince returns the bodies of the slots in changed: the slots that changed since a
// capture.
func (c *slotChanges) bodiesSince(g *grid, changed *bulk.Bitset, capture uint64) *changedBodies {
	b := &c.bodies[c.captures()-capture]
	if b.capture != c.captures() {
		b.capture = c.captures()
		b.sortByBlock(g, changed)
	}
	return b
}

// keptCaptures bounds the captures between two snapshots of a viewer that examines changed
// rows only. A viewer with rarer snapshots, fewer than 2 a second at 60 ticks a second or
// 32 at 1,000, examines all its rows. Memory: four sets per kept capture, one bit per slot
// each.
const keptCaptures = 32

// changeLog remembers which slots changed in each of the last captures. A viewer gets the
// changes since its own last snapshot, and does not examine dormant rows.
type changeLog struct {
	captures uint64                    // number of captures made
	sets     [keptCaptures]bulk.Bitset // by capture; the entry after the newest collects changes for the next
	unions   [keptCaptures]bulk.Bitset // by captures back
	unionAt  [keptCaptures]uint64      // capture at which each union was computed
	counts   [keptCaptures]int         // sizes of the unions
}

// openSet returns the set that collects changes for the next capture.
func (c *changeLog) openSet() *bulk.Bitset { return &c.sets[c.captures%keptCaptures] }

// closeSet closes the open set and returns it.
func (c *changeLog) closeSet() *bulk.Bitset {
	closed := c.openSet()
	c.captures++
	c.openSet().Reset()
	return closed
}

// changedSince returns the slots that changed after a capture, or nil if any slot may have
// changed.
func (c *changeLog) changedSince(capture uint64) *bulk.Bitset {
	back := c.captures - capture
	if back >= keptCaptures {
		return nil
	}
	union := &c.unions[back]
	if c.unionAt[back] != c.captures {
		c.unionAt[back] = c.captures
		union.Reset()
		for n := range back {
			union.SetOr(union.View(), c.sets[(capture+n)%keptCaptures].View())
		}
		c.counts[back] = union.Count()
	}
	return union
}

// isSmall reports whether at most 1/share of all slots changed after a capture.
// changedSince must have returned a set for it.
func (c *changeLog) isSmall(capture uint64, share, slots int) bool {
	return c.counts[c.captures-capture]*share <= slots
}
