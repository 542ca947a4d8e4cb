package replication

import (
	"slices"

	"github.com/worldd/worldd/bulk"
)

// Filter is a rule of the game's about what one viewer may see, in sets of
// slots: the Presence of a component, or sets that the game keeps and several
// viewers share (what a team sees). They are combined 64 entities at a time and
// read at every snapshot; the game changes them between. A set of the game's own
// must be cleared where an entity dies, since the slot's next tenant is another;
// a component's Presence is.
//
// What is left is shown: near or in Also, in all of Only, in none of Not. What
// the viewer owns, and what it sees the world from, is always shown. An entity
// that a rule takes out of sight leaves as hidden by rule.
type Filter struct {
	Only []*bulk.Bitset
	Not  []*bulk.Bitset
	Also []*bulk.Bitset // at any distance
}

// SetFilter replaces the viewer's filter, from the next snapshot on.
func (v *Viewer) SetFilter(f Filter) {
	v.filter = Filter{Only: slices.Clone(f.Only), Not: slices.Clone(f.Not), Also: slices.Clone(f.Also)}
	v.ruleChanged = true
}

// Own makes the viewer an owner of h: it is shown at any distance and through
// any filter, Config.Private included, and is sent those of its fields that only
// owners are. An entity may have several owners. Unless h is live nothing happens:
// a handle that was never issued may be somebody else's one day.
func (v *Viewer) Own(h bulk.Handle) {
	if v.replicator.world.Status(h) != bulk.Live || v.owned.has(h) {
		return
	}
	mine := v.Owns(h) // as its focus, perhaps, which may change
	v.owned.add(h)
	if !mine {
		v.reenter(h)
	}
}

// Disown is the reverse of Own. What the viewer sees the world from stays its own.
func (v *Viewer) Disown(h bulk.Handle) {
	mine := v.Owns(h)
	v.owned.remove(h)
	v.ruleChanged = true
	if mine && !v.Owns(h) {
		v.reenter(h)
	}
}

// reenter has the next snapshots enter h again, and send nothing of it before: it
// became the viewer's own, or ceased to be, so that what the client is sent of it
// is another row (R7).
func (v *Viewer) reenter(h bulk.Handle) {
	if place, ok := v.members.find(h.Index()); ok && v.handles[place] == h {
		v.rows[place].enterTick = 0 // before any shape
		v.members.activate(h.Index())
	}
}

// Owns says whether h is what the viewer sees the world from, or was given to it
// by Own.
func (v *Viewer) Owns(h bulk.Handle) bool {
	return h == v.focus || v.owned.has(h)
}

// sift adds to what lies around the viewer what it is to see from any distance,
// and takes out what it must not see.
func (v *Viewer) sift(s *sweep) {
	r := v.replicator
	s.addSet(&r.unplaced)
	if r.config.Always != nil {
		s.addSet(r.config.Always)
	}
	for _, set := range v.filter.Also {
		s.addSet(set)
	}
	if v.ruled() {
		s.restrict(v.allowed)
	}
	if r.frame.tenantOf(v.focus) != nil {
		s.add(v.focus.Index()>>6, 1<<(v.focus.Index()&63))
	}
	for word, mask := range v.owned.slots.all() {
		s.add(word, mask)
	}
}

// ruled says whether any rule can hide an entity from the viewer.
func (v *Viewer) ruled() bool {
	return v.replicator.config.Private != nil || len(v.filter.Only) > 0 || len(v.filter.Not) > 0
}

// allowedOf returns whom of 64 neighbours the rules let the viewer see, what it
// owns left aside.
func (v *Viewer) allowedOf(word uint32) uint64 {
	mask := ^uint64(0)
	if p := v.replicator.config.Private; p != nil {
		mask &^= p.Word(word)
	}
	for _, set := range v.filter.Only {
		mask &= set.Word(word)
	}
	for _, set := range v.filter.Not {
		mask &^= set.Word(word)
	}
	return mask
}
