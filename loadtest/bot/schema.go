package bot

import (
	"encoding/binary"
	"errors"
	"math"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/internal/scenes/steering"
	"github.com/worldd/worldd/replication/schema"
)

// The types below have the same wire form as the types of package rules on the server,
// which documents them.

// Identity is the component "identity": a number that an entity keeps for life, and its
// last 16 bits, which come with every row.
type Identity struct {
	Value uint64
	Mark  uint16 `net:"always"`
}

// number is the identity as of the newest row, or 0. After a row of another entity it
// matches no identity.
func (i Identity) number() uint64 { return i.Value&^math.MaxUint16 | uint64(i.Mark) }

// Name is the component "name" of avatars.
type Name struct {
	Text string `net:"max=24"`
}

// Rename is the argument of the command "rename".
type Rename struct {
	Name string `net:"max=24"`
}

// Renamed is its answer.
type Renamed struct {
	Player bulk.Handle `net:"ref"`
	Count  uint32
	Name   string `net:"max=24"`
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
	Hit      bulk.Handle `net:"ref"` // the nearest avatar; 0: none
	From     [3]float32  // where the shot began
	Tick     uint16      // low bits of the tick that executed it
	View     uint16      // low bits of the tick at which the others were
	Fraction uint8       // of the tick after View, in 1/256
	Named    bool        // the client named a view moment
}

// Launch is the argument of the command launch. A missile with life 0 is not made.
type Launch struct {
	Aim                 float32     `net:"angle,bits=12"`
	Serial              uint32      // the left missile's is twice this, the right one's the next
	Left, Right         bulk.Handle `net:"ref"` // provisional handles
	LeftLife, RightLife uint8       // ticks
}

// Named is the event of an avatar that has joined or was renamed.
type Named struct {
	Player bulk.Handle `net:"ref"`
	Name   string      `net:"max=24"`
}

// Broken is the event of an entity that a poke breaks.
type Broken struct {
	Entity, By bulk.Handle `net:"ref"`
}

// Scored is the event of a bot's own executed poke.
type Scored struct {
	Entity bulk.Handle `net:"ref"`
	Count  uint32
}

// Flash is the unreliable event of a poke nearby.
type Flash struct {
	At     [2]float32 `net:"range=-1024..1024,step=1/8"`
	Serial uint32
	Tick   uint16
}

// Causes of destruction.
const (
	causeLeft   = 1 // an avatar whose session ended
	causeBroken = 2 // a poke broke the entity
)

// Names of the components that a bot understands.
const (
	bodyName     = "body"
	identityName = "identity"
	nameName     = "name"
)

// NewSchema returns what bots know of the server's schema.
func NewSchema() (*schema.Schema, error) {
	s := schema.New()
	return s, errors.Join(
		schema.Add[schema.Body](s, bodyName),
		schema.Add[Identity](s, identityName),
		schema.Add[Name](s, nameName),
		schema.SetInput[steering.Stick](s),
		schema.AddQuery[Rename, Renamed](s, renameName),
		schema.AddQuery[Describe, Rules](s, "describe"),
		schema.AddQuery[Shoot, Shot](s, "shoot"),
		schema.AddCommand[Launch](s, "launch"),
		schema.AddEvent[Named](s, "named"),
		schema.AddEvent[Broken](s, "broken"),
		schema.AddEvent[Scored](s, "scored"),
		schema.AddUnreliableEvent[Flash](s, "flash"),
	)
}

// Commands that bots send.
const (
	pokeName   = "poke"
	renameName = "rename"
)

// pokeArgs is the argument of a poke: the identity that the bot expects of its target,
// as a msgpack uint64 (0xcf and 8 bytes, big-endian), for the server to compare.
func pokeArgs(identity uint64) []byte {
	return binary.BigEndian.AppendUint64([]byte{0xcf}, identity)
}
