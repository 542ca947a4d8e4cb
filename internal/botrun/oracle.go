package botrun

import (
	"fmt"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/internal/recent"
	"github.com/worldd/worldd/loadtest/bot"
	"github.com/worldd/worldd/replication/wire"
)

// status is the newest information about a handle from the ordered stream.
type status uint8

const (
	statusUnknown   status = iota
	statusShown            // entered, and has not left since
	statusHidden           // left
	statusDestroyed        // destroyed; final
)

func (t status) String() string {
	return [...]string{"never shown", "shown", "hidden", "destroyed"}[t]
}

// memory is everything that a bot knows about one handle.
type memory struct {
	handle   bulk.Handle
	identity uint64 // 0: destroyed before it was shown
	status   status
}

// oracle remembers what the server sent to one bot, and compares every answer with it. It does
// not depend on the replica: its inputs are callbacks and answers.
type oracle struct {
	bot     int
	floor   uint32                  // from the Welcome: lower generations were never issued
	slots   uint32                  // from the Welcome: indices from here on were never issued
	tick    uint32                  // newest seen
	known   []memory                // all remembered handles: a ring buffer
	oldest  int                     // index in known, once it is full
	limit   int                     // length of known from which handles that are not shown are forgotten
	tenants tenants                 // newest tenants, with their indices in known
	former  map[bulk.Handle]uint32  // indices in known of all others
	owner   map[uint64]bulk.Handle  // identity -> the handle that has it
	taught  recent.Set[bulk.Handle] // handles that reliable events and answers named
	unsure  bool                    // some that the server may have named are not in taught

	forgotten  uint64
	confusions uint64
	recorded   []bot.Confusion
}

func newOracle(bot, limit int, floor, slots uint32) *oracle {
	return &oracle{
		bot: bot, limit: limit, floor: floor, slots: slots,
		former: map[bulk.Handle]uint32{}, owner: map[uint64]bulk.Handle{}, taught: recent.NewSet[bulk.Handle](taughtHandles),
	}
}

// find returns the memory of h, or nil. It is valid until the next rememberHandle.
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

func (o *oracle) reportConfusion(h bulk.Handle, seen uint64, format string, args ...any) {
	o.confusions++
	if len(o.recorded) == recordedConfusions {
		return
	}
	c := bot.Confusion{Bot: o.bot, Tick: o.tick, Handle: h, Seen: seen, What: fmt.Sprintf(format, args...)}
	if m := o.find(h); m != nil {
		c.Remembered = m.identity
	}
	o.recorded = append(o.recorded, c)
}

// checkEntered records that h is shown, with an identity.
func (o *oracle) checkEntered(h bulk.Handle, identity uint64) {
	m := o.find(h)
	switch {
	case m == nil:
		if newest := o.tenants.of(h.Index()).generation; !o.issuable(h) {
			o.reportConfusion(h, identity, "B6: shown, but is not a handle of this run")
		} else if newest > h.Generation() {
			o.reportConfusion(h, identity, "B2: shown after generation %d of its slot", newest)
		}
		m = o.rememberHandle(h)
	case o.fate(m) == statusDestroyed:
		o.reportConfusion(h, identity, "B2: shown after its end")
	}
	o.checkIdentity(m, identity)
	m.status = statusShown
}

// checkUpdated records that newer state of h was applied, from a row with an identity.
func (o *oracle) checkUpdated(h bulk.Handle, identity uint64) {
	m := o.find(h)
	if m == nil {
		o.reportConfusion(h, identity, "B3: updated, but never shown")
		return
	}
	if fate := o.fate(m); fate != statusShown {
		o.reportConfusion(h, identity, "B2: updated while %v", fate)
	}
	o.checkIdentity(m, identity)
}

// checkLeft records that h went out of view.
func (o *oracle) checkLeft(h bulk.Handle) {
	m := o.find(h)
	if m == nil || o.fate(m) != statusShown {
		o.reportConfusion(h, 0, "B3: left while %v", o.fate(m))
		return
	}
	m.status = statusHidden
}

// noteDestroyed records that h is gone for good.
func (o *oracle) noteDestroyed(h bulk.Handle) {
	m := o.find(h)
	if m == nil {
		m = o.rememberHandle(h)
	}
	m.status = statusDestroyed
}

// checkIdentity compares the identity that came with h with memory (B1).
func (o *oracle) checkIdentity(m *memory, identity uint64) {
	switch {
	case identity == 0:
		o.reportConfusion(m.handle, identity, "B1: shown without an identity")
	case m.identity == 0:
		if other, ok := o.owner[identity]; ok && other != m.handle {
			o.reportConfusion(m.handle, identity, "B1: has the identity of %v", other)
		}
		m.identity = identity
		o.owner[identity] = m.handle
	case m.identity != identity:
		o.reportConfusion(m.handle, identity, "B1: its identity has changed")
	}
}

func (o *oracle) rememberHandle(h bulk.Handle) *memory {
	t := o.tenants.at(h.Index())
	if h.Generation() > t.generation {
		if t.memory != 0 {
			o.former[o.known[t.memory-1].handle] = t.memory - 1
		}
		*t = tenant{generation: h.Generation()}
	}
	place := o.freeMemory()
	o.known[place] = memory{handle: h}
	if h.Generation() == t.generation {
		t.memory = uint32(place) + 1
	} else {
		o.former[h] = uint32(place)
	}
	return &o.known[place]
}

// learnHandle records that a reliable event or an answer named h: the server must know that
// (H3).
func (o *oracle) learnHandle(h bulk.Handle) {
	if h == 0 {
		return
	}
	if !o.issuable(h) {
		o.reportConfusion(h, 0, "B5: an event or an answer names it, which is not a handle of this run")
		return
	}
	if !o.taught.Has(h) {
		o.unsure = o.unsure || o.taught.IsFull()
		o.taught.Add(h)
	}
}

// freeMemory returns an index for a new memory. If known is full, it forgets the oldest handle
// that is not shown. It examines only a few handles, so known grows if these are all shown.
func (o *oracle) freeMemory() int {
	if len(o.known) >= o.limit {
		for range examined {
			place := o.oldest
			o.oldest = (o.oldest + 1) % len(o.known)
			if m := &o.known[place]; o.fate(m) != statusShown {
				o.forgetMemory(m)
				return place
			}
		}
	}
	o.known = append(o.known, memory{})
	return len(o.known) - 1
}

func (o *oracle) forgetMemory(m *memory) {
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

// fate returns the status of m, or the status implied by a later tenant of its slot.
func (o *oracle) fate(m *memory) status {
	switch {
	case m == nil:
		return statusUnknown
	case m.status != statusDestroyed && o.tenants.of(m.handle.Index()).generation > m.handle.Generation():
		return statusDestroyed
	}
	return m.status
}

// fateOf is fate for any handle. sure is false if h may have been forgotten: then the result
// proves nothing.
func (o *oracle) fateOf(h bulk.Handle) (fate status, sure bool) {
	if m := o.find(h); m != nil {
		return o.fate(m), true
	}
	switch newest := o.tenants.of(h.Index()).generation; {
	case newest == h.Generation():
		return statusUnknown, newest == 0
	case newest > h.Generation():
		return statusDestroyed, true
	}
	return statusUnknown, true
}

// issuable reports whether h can be issued in this run of the world.
func (o *oracle) issuable(h bulk.Handle) bool {
	return h.Valid() && h.Generation() >= o.floor && h.Index() < o.slots
}

// verdictOf returns the verdict that Resolve must give for a status (B3).
func (t status) verdictOf() wire.Verdict {
	switch t {
	case statusShown:
		return wire.Live
	case statusHidden:
		return wire.Hidden
	case statusDestroyed:
		return wire.Stale
	}
	return wire.Pending
}

// tenant is the newest known tenant of a slot.
type tenant struct {
	generation uint32
	memory     uint32 // 1 + index in oracle.known; 0: forgotten or unknown
}

// tenantPage is the number of slots allocated at once: 512 bytes.
const tenantPage = 64

// tenants holds the newest tenant per slot, and is the only data kept for ever. A lookup
// touches one cache line: with many bots per process, each lookup misses the cache.
type tenants struct {
	pages []*[tenantPage]tenant
}

// at returns a slot's tenant for writing.
func (t *tenants) at(slot uint32) *tenant {
	page := int(slot / tenantPage)
	if page >= len(t.pages) {
		t.pages = append(t.pages, make([]*[tenantPage]tenant, page+1-len(t.pages))...)
	}
	if t.pages[page] == nil {
		t.pages[page] = new([tenantPage]tenant)
	}
	return &t.pages[page][slot%tenantPage]
}

// of returns a slot's tenant; generation 0 means that none is known.
func (t *tenants) of(slot uint32) tenant {
	if page := int(slot / tenantPage); page < len(t.pages) && t.pages[page] != nil {
		return t.pages[page][slot%tenantPage]
	}
	return tenant{}
}

func (t *tenants) highestGeneration() (generation uint32) {
	for _, page := range t.pages {
		for i := 0; page != nil && i < tenantPage; i++ {
			generation = max(generation, page[i].generation)
		}
	}
	return generation
}
