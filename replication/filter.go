package replication

import (
	"slices"

	"github.com/worldd/worldd/bulk"
)

// Filter is a game's rule about what one viewer may see. Each set of slots is the Presence
// of a component, or the View of a bulk.Bitset that the game keeps, for example for all
// viewers of a team. Every snapshot reads the sets, 64 slots at a time. The game changes
// its own sets between snapshots, and must clear a slot when its entity dies: the next
// tenant is another entity. A component's Presence needs no clearing.
//
// A viewer sees an entity that is near or in Also, in every set of Only, and in no set of
// Not. The viewer's owned entities and its focus are always visible. An entity hidden by a
// rule leaves with wire.HiddenByRule.
type Filter struct {
	Only []bulk.BitsetView
	Not  []bulk.BitsetView
	Also []bulk.BitsetView // visible at any distance
}

// SetFilter replaces the viewer's filter, from the next snapshot on.
func (in *interest) SetFilter(f Filter) {
	in.filter = Filter{Only: slices.Clone(f.Only), Not: slices.Clone(f.Not), Also: slices.Clone(f.Also)}
	in.fullQuery = true
}

// applyRules adds the candidates that are visible at any distance, and removes the
// candidates that rules hide.
func (in *interest) applyRules(r *Replicator, s *candidates) {
	s.addSet(r.bodiless.View())
	if r.config.Always.Valid() {
		s.addSet(r.config.Always)
	}
	for _, set := range in.filter.Also {
		s.addSet(set)
	}
	if in.hasRules(&r.config) {
		s.keepOnly(func(word uint32) uint64 { return in.allowedByRules(&r.config, word) })
	}
	if r.frame.tenantOf(in.focus) != nil {
		s.addConfirmed(in.focus.Index()>>6, 1<<(in.focus.Index()&63))
	}
	for word, mask := range in.owned.slots.words() {
		s.addConfirmed(word, mask)
	}
}

// hasRules reports whether any rule can hide an entity from the viewer.
func (in *interest) hasRules(c *Config) bool {
	return c.Private.Valid() || len(in.filter.Only) > 0 || len(in.filter.Not) > 0
}

// allowedByRules returns the slots of a word that no rule hides. It does not consider
// ownership.
func (in *interest) allowedByRules(c *Config, word uint32) uint64 {
	mask := ^uint64(0)
	if c.Private.Valid() {
		mask &^= c.Private.Word(word)
	}
	for _, set := range in.filter.Only {
		mask &= set.Word(word)
	}
	for _, set := range in.filter.Not {
		mask &^= set.Word(word)
	}
	return mask
}
