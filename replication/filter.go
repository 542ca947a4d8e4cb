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

// sift adds to what lies around the viewer what it is to see from any distance,
// and takes out what it must not see.
func (v *Viewer) applyRules(s *candidates) {
	r := v.replicator
	s.addSet(&r.bodiless)
	if r.config.Always != nil {
		s.addSet(r.config.Always)
	}
	for _, set := range v.filter.Also {
		s.addSet(set)
	}
	if v.hasRules() {
		s.intersect(v.allowedFunc)
	}
	if r.frame.tenantOf(v.focus) != nil {
		s.add(v.focus.Index()>>6, 1<<(v.focus.Index()&63))
	}
	for word, mask := range v.owned.slots.words() {
		s.add(word, mask)
	}
}

// ruled says whether any rule can hide an entity from the viewer.
func (v *Viewer) hasRules() bool {
	return v.replicator.config.Private != nil || len(v.filter.Only) > 0 || len(v.filter.Not) > 0
}

// allowedOf returns whom of 64 neighbours the rules let the viewer see, what it
// owns left aside.
func (v *Viewer) allowedByRules(word uint32) uint64 {
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
