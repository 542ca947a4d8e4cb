package rules

import (
	"errors"

	"github.com/worldd/worldd/internal/scenes"
	"github.com/worldd/worldd/replication/schema"
	"github.com/worldd/worldd/world"
)

// Rename is the argument of the command rename.
type Rename struct {
	Name string `net:"max=24"`
}

// Renamed is its answer.
type Renamed struct {
	Player world.Entity `net:"ref"` // the session's avatar
	Count  uint32       // how often it was renamed
	Name   string       `net:"max=24"`
}

// Named is the event of an avatar that has joined or was renamed.
type Named struct {
	Player world.Entity `net:"ref"`
	Name   string       `net:"max=24"`
}

// Broken is the event of an entity that a player's poke breaks.
type Broken struct {
	Entity, By world.Entity `net:"ref"`
}

// Scored is the event of an executed poke, for the player who sent it.
type Scored struct {
	Entity world.Entity `net:"ref"`
	Count  uint32
}

// Flash is the unreliable event of a poke near a player.
type Flash struct {
	At     [2]float32 `net:"range=-1024..1024,step=1/8"` // x and z, metres
	Serial uint32
	Tick   uint16 // low bits of the world's tick at the poke
}

// FlashRadius is the distance at which players see a Flash, in metres.
const FlashRadius = 12

// NewSchema returns the wire schema of all scenes.
func NewSchema() (*schema.Schema, error) {
	s := schema.New()
	return s, errors.Join(
		schema.Add[schema.Body](s, schema.BodyComponent),
		schema.Add[scenes.Identity](s, scenes.IdentityName),
		schema.Add[scenes.Name](s, scenes.NameName),
		schema.AddQuery[Rename, Renamed](s, "rename"),
		schema.AddEvent[Named](s, "named"),
		schema.AddEvent[Broken](s, "broken"),
		schema.AddEvent[Scored](s, "scored"),
		schema.AddUnreliableEvent[Flash](s, "flash"),
	)
}
