package scenes

import (
	"slices"

	"github.com/worldd/worldd/world"
)

// NameName is the name under which Name is registered.
const NameName = "name"

// MaxNameText bounds the name of an avatar, in bytes of UTF-8.
const MaxNameText = 24

// Name is the name of an avatar. Other entities have none.
type Name struct {
	Text string `net:"max=24"`
}

// Causes of destruction. An entity that dies for another reason, such as the end of its
// life, has cause 0.
const (
	CauseLeft   uint8 = 1 // an avatar: its session ended
	CauseBroken uint8 = 2 // a poke broke it
)

// Names returns the component with the names of avatars.
func (s *Scene) Names() *world.Component[Name] { return s.names }

// Rename sets the name of an avatar. It returns false unless e is one and text has at
// most MaxNameText bytes.
func (s *Scene) Rename(e world.Entity, text string) bool {
	if _, ok := s.avatars[e]; !ok || len(text) > MaxNameText {
		return false
	}
	return s.names.Set(e, Name{text})
}

// Break destroys an entity that a poke breaks: one of a kind that emitters make. It
// returns false for others, and for an entity that is dying already.
func (s *Scene) Break(e world.Entity) bool {
	kind, ok := s.World.KindOf(e)
	if !ok || !slices.ContainsFunc(s.emitters, func(m emitter) bool { return m.kind == kind }) {
		return false
	}
	return s.World.DestroyBecause(e, CauseBroken)
}
