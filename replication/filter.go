package replication

import (
	"slices"

	"github.com/worldd/worldd/bulk"
)

// Filter is a game's rule about what one viewer may see, as sets of slots: the Presence
// of a component, or the View of a bulk.Bitset that the game keeps and viewers may share,
// for example of what a team sees. Sets are combined 64 slots at a time and read at every
// snapshot; the game changes its own in between, and must clear a slot when the entity
// dies, since the slot's next tenant is another entity. A component's Presence does so
// itself.
//
// A viewer sees an entity that is near or in Also, in all of Only, and in none of Not.
// Its owned entities and its focus are always visible. An entity hidden by a rule
// leaves with wire.HiddenByRule.
type Filter struct {
	Only []bulk.BitsetView
	Not  []bulk.BitsetView
	Also []bulk.BitsetView // visible at any distance
}

// SetFilter replaces the viewer's filter, from the next snapshot on.
func (v *Viewer) SetFilter(f Filter) {
	v.filter = Filter{Only: slices.Clone(f.Only), Not: slices.Clone(f.Not), Also: slices.Clone(f.Also)}
	v.ruleChanged = true
}

// applyRules adds to the candidates what the viewer sees at any distance, and removes
// what it must not see.
func (v *Viewer) applyRules(s *candidates) {
	r := v.replicator
	s.addSet(r.bodiless.View())
	if r.config.Always.Valid() {
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

// hasRules reports whether any rule can hide an entity from the viewer.
func (v *Viewer) hasRules() bool {
	return v.replicator.config.Private.Valid() || len(v.filter.Only) > 0 || len(v.filter.Not) > 0
}

// allowedByRules returns the slots of a word that the rules let the viewer see.
// Ownership is not considered.
func (v *Viewer) allowedByRules(word uint32) uint64 {
	mask := ^uint64(0)
	if p := v.replicator.config.Private; p.Valid() {
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
