package replication

import "github.com/worldd/worldd/bulk"

// changesKept is how many captures back a viewer may have been sent its last
// snapshot and still be told what changed since, instead of looking at all of
// its rows. At 60 ticks a second it serves one a second and more.
const changesKept = 64

// changes remembers which slots changed in each of the last captures: another
// state, another set of components, another tenant or none. Viewers whose turns
// are ticks apart are each told what is new to them, and what is dormant is not
// looked at.
type changes struct {
	captures uint64                   // so far
	sets     [changesKept]bulk.Bitset // by capture; the one after the newest gathers what is not captured yet
	unions   [changesKept]bulk.Bitset // by captures back
	unionAt  [changesKept]uint64      // the capture that a union is of
	counts   [changesKept]int         // of the members of unions
}

// open is the set of the capture to come.
func (c *changes) open() *bulk.Bitset { return &c.sets[c.captures%changesKept] }

// capture closes the open set and returns it.
func (c *changes) capture() *bulk.Bitset {
	closed := c.open()
	c.captures++
	c.open().Reset()
	return closed
}

// since returns the slots that changed after a capture; nil means any.
func (c *changes) since(capture uint64) *bulk.Bitset {
	back := c.captures - capture
	if back >= changesKept {
		return nil
	}
	union := &c.unions[back]
	if c.unionAt[back] != c.captures {
		c.unionAt[back] = c.captures
		union.Reset()
		for n := range back {
			union.SetOr(union, &c.sets[(capture+n)%changesKept])
		}
		c.counts[back] = union.Count()
	}
	return union
}

// few says whether at most one in so many slots is in the set that since returned
// for a capture.
func (c *changes) few(capture uint64, share, slots int) bool {
	return c.counts[c.captures-capture]*share <= slots
}
