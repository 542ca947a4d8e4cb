package bot

import (
	"fmt"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/replication/wire"
)

// told is what a bot was last told of a handle, on the ordered lane.
type told uint8

const (
	toldNothing   told = iota
	toldShown          // entered, and not left since
	toldHidden         // left
	toldDestroyed      // destroyed; final
)

func (t told) String() string {
	return [...]string{"never shown", "shown", "hidden", "destroyed"}[t]
}

// memory is all that a bot knows of one handle.
type memory struct {
	handle   bulk.Handle
	identity uint64 // 0: destroyed before it was ever shown
	told     told
	doubted  bool // the server called it stale before it said so in structure
}

// oracle remembers what one bot was told and holds every answer against it. It
// knows nothing of the replica: what goes in is what was told and answered.
type oracle struct {
	bot     int
	floor   uint32                 // the Welcome's: lower generations were never issued
	slots   uint32                 // the Welcome's: nor were indices from here on
	tick    uint32                 // the newest seen
	known   []memory               // of all handles that are remembered, as a ring from the oldest
	oldest  int                    // in known, once it is full
	limit   int                    // of known
	tenants tenants                // the newest ones, and where they are in known
	former  map[bulk.Handle]uint32 // where all others are in known
	owner   map[uint64]bulk.Handle // identity -> the handle that it was seen under
	doubts  []doubt

	forgotten  uint64
	confusions uint64
	recorded   []Confusion
}

// doubt is a handle that the server called stale in an answer; the structure
// that says so must follow (B5).
type doubt struct {
	handle    bulk.Handle
	structure uint32 // records applied when the answer came
}

func newOracle(bot, limit int, floor, slots uint32) *oracle {
	return &oracle{
		bot: bot, limit: limit, floor: floor, slots: slots,
		former: map[bulk.Handle]uint32{}, owner: map[uint64]bulk.Handle{},
	}
}

// find returns what is remembered of h, or nil. It is valid until more is.
func (o *oracle) find(h bulk.Handle) *memory {
	t := o.tenants.of(h.Index())
	switch g := h.Generation(); {
	case g == t.generation && t.memory != 0:
		return &o.known[t.memory-1]
	case g < t.generation:
		if place, ok := o.former[h]; ok {
			return &o.known[place]
		}
	}
	return nil
}

func (o *oracle) confuse(h bulk.Handle, seen uint64, format string, args ...any) {
	o.confusions++
	if len(o.recorded) == recordedConfusions {
		return
	}
	c := Confusion{Bot: o.bot, Tick: o.tick, Handle: h, Seen: seen, What: fmt.Sprintf(format, args...)}
	if m := o.find(h); m != nil {
		c.Remembered = m.identity
	}
	o.recorded = append(o.recorded, c)
}

// entered: h is shown, with that identity.
func (o *oracle) entered(h bulk.Handle, identity uint64) {
	m := o.find(h)
	switch {
	case m == nil:
		if newest := o.tenants.of(h.Index()).generation; !o.issuable(h) {
			o.confuse(h, identity, "B6: shown, and is no handle of this run")
		} else if newest > h.Generation() {
			o.confuse(h, identity, "B2: shown after generation %d of its slot", newest)
		}
		m = o.remember(h)
	case o.fate(m) == toldDestroyed:
		o.confuse(h, identity, "B2: shown after its end")
	case m.doubted:
		o.confuse(h, identity, "B5: shown after the server had called it stale")
	}
	o.identify(m, identity)
	m.told = toldShown
}

// updated: newer state of h was applied, in a row with that identity.
func (o *oracle) updated(h bulk.Handle, identity uint64) {
	m := o.find(h)
	if m == nil {
		o.confuse(h, identity, "B3: updated and never shown")
		return
	}
	if fate := o.fate(m); fate != toldShown {
		o.confuse(h, identity, "B2: updated while %v", fate)
	}
	o.identify(m, identity)
}

// left: h went out of view.
func (o *oracle) left(h bulk.Handle) {
	m := o.find(h)
	if m == nil || o.fate(m) != toldShown {
		o.confuse(h, 0, "B3: left while %v", o.fate(m))
		return
	}
	m.told = toldHidden
}

// destroyed: h is gone for good.
func (o *oracle) destroyed(h bulk.Handle) {
	m := o.find(h)
	if m == nil {
		m = o.remember(h)
	}
	m.told = toldDestroyed
}

// identify holds the identity that came with h against memory (B1).
func (o *oracle) identify(m *memory, identity uint64) {
	switch {
	case identity == 0:
		o.confuse(m.handle, identity, "B1: shown without an identity")
	case m.identity == 0:
		if other, ok := o.owner[identity]; ok && other != m.handle {
			o.confuse(m.handle, identity, "B1: has the identity of %v", other)
		}
		m.identity = identity
		o.owner[identity] = m.handle
	case m.identity != identity:
		o.confuse(m.handle, identity, "B1: its identity has changed")
	}
}

// remember makes a memory of h.
func (o *oracle) remember(h bulk.Handle) *memory {
	t := o.tenants.at(h.Index())
	if h.Generation() > t.generation {
		if t.memory != 0 {
			o.former[o.known[t.memory-1].handle] = t.memory - 1
		}
		*t = tenant{generation: h.Generation()}
	}
	place := o.room()
	o.known[place] = memory{handle: h}
	if h.Generation() == t.generation {
		t.memory = uint32(place) + 1
	} else {
		o.former[h] = uint32(place)
	}
	return &o.known[place]
}

// room is a place for a memory: that of the oldest that is not shown, if there are as
// many as may be.
func (o *oracle) room() int {
	if len(o.known) >= o.limit {
		for range o.known {
			place := o.oldest
			o.oldest = (o.oldest + 1) % len(o.known)
			if m := &o.known[place]; o.fate(m) != toldShown {
				o.forget(m)
				return place
			}
		}
	} // or more is shown than the limit holds
	o.known = append(o.known, memory{})
	return len(o.known) - 1
}

func (o *oracle) forget(m *memory) {
	if t := o.tenants.at(m.handle.Index()); m.handle.Generation() == t.generation {
		t.memory = 0
	} else {
		delete(o.former, m.handle)
	}
	if o.owner[m.identity] == m.handle {
		delete(o.owner, m.identity)
	}
	o.forgotten++
}

// fate is what was told of m, or follows from a later tenant of its slot, at whom it
// looks only if that says more.
func (o *oracle) fate(m *memory) told {
	switch {
	case m == nil:
		return toldNothing
	case m.told != toldDestroyed && o.tenants.of(m.handle.Index()).generation > m.handle.Generation():
		return toldDestroyed
	}
	return m.told
}

// fateOf is fate for any handle at all. sure is false for one that may have
// been forgotten: nothing can be said of it then.
func (o *oracle) fateOf(h bulk.Handle) (fate told, sure bool) {
	if m := o.find(h); m != nil {
		return o.fate(m), true
	}
	switch newest := o.tenants.of(h.Index()).generation; {
	case newest == h.Generation():
		return toldNothing, newest == 0
	case newest > h.Generation():
		return toldDestroyed, true
	}
	return toldNothing, true
}

// issuable says whether h may come to life in this run of the world.
func (o *oracle) issuable(h bulk.Handle) bool {
	return h.Valid() && h.Generation() >= o.floor && h.Index() < o.slots
}

// verdictOf is what Resolve must answer of a handle with that fate (B3).
func (t told) verdictOf() wire.Verdict {
	switch t {
	case toldShown:
		return wire.Live
	case toldHidden:
		return wire.Hidden
	case toldDestroyed:
		return wire.Stale
	}
	return wire.Pending
}
