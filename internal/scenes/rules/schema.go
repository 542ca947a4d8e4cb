package rules

import (
	"errors"

	"github.com/worldd/worldd/internal/scenes"
	"github.com/worldd/worldd/internal/scenes/steering"
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

// Describe is the argument of the command describe, and Rules its answer.
type Describe struct{}

// Rules is how avatars move and shoot, in metres and seconds.
type Rules struct {
	Speed        float32 // at full input
	HalfX, HalfZ float32 // of the world
	Radius       float32 // of avatars
	Range        float32 // of shots
	ViewTicks    uint16  // how far back shots are judged
}

// Shoot is the argument of the command shoot.
type Shoot struct {
	Aim float32 `net:"angle,bits=16"` // 0 is along x, a quarter turn along z
}

// Shot is its answer.
type Shot struct {
	Hit      world.Entity `net:"ref"` // the nearest avatar; 0: none
	From     [3]float32   // where the shot began
	Tick     uint16       // low bits of the tick that executed it
	View     uint16       // low bits of the tick at which the others were
	Fraction uint8        // of the tick after View, in 1/256
	Named    bool         // the client named a view moment
}

// Launch is the argument of the command launch. A missile with life 0 is not made.
type Launch struct {
	Aim                 float32      `net:"angle,bits=12"`
	Serial              uint32       // the left missile's is twice this, the right one's the next
	Left, Right         world.Entity `net:"ref"` // provisional handles
	LeftLife, RightLife uint8        // ticks
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
		schema.SetInput[steering.Stick](s),
		schema.AddQuery[Rename, Renamed](s, "rename"),
		schema.AddQuery[Describe, Rules](s, "describe"),
		schema.AddQuery[Shoot, Shot](s, "shoot"),
		schema.AddCommand[Launch](s, "launch"),
		schema.AddEvent[Named](s, "named"),
		schema.AddEvent[Broken](s, "broken"),
		schema.AddEvent[Scored](s, "scored"),
		schema.AddUnreliableEvent[Flash](s, "flash"),
	)
}
