package scenes

import (
	"slices"

	"github.com/worldd/worldd/internal/scenes/messages"
	"github.com/worldd/worldd/world"
)

// Rename sets the name of an avatar. It returns false unless e is an avatar and text has at
// most messages.MaxNameText bytes.
func (s *Scene) Rename(e world.Entity, text string) bool {
	if _, ok := s.avatars[e]; !ok || len(text) > messages.MaxNameText {
		return false
	}
	return s.names.Set(e, messages.Name{Text: text})
}

// Break destroys an entity that a poke breaks: an entity of a kind that emitters spawn. It
// returns false for other entities, and for an entity that is doomed already.
func (s *Scene) Break(e world.Entity) bool {
	kind, ok := s.World.KindOf(e)
	if !ok || !slices.ContainsFunc(s.emitters, func(m emitter) bool { return m.kind == kind }) {
		return false
	}
	return s.World.DestroyBecause(e, messages.CauseBroken)
}
