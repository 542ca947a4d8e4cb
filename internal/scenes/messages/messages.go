// Package messages declares the messages between scenes and their clients: components other
// than bodies, commands with their answers, events, and causes of destruction. Package
// rules documents their behaviour.
package messages

import (
	"math"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/internal/scenes/steering"
	"github.com/worldd/worldd/replication/schema"
)

// Schema declares the messages on the wire.
var Schema = schema.NewWithBody()

// The items of Schema.
var (
	Identities = schema.Define[Identity](Schema, "identity")
	Names      = schema.Define[Name](Schema, "name")

	Stick = schema.DefineInput[steering.Stick](Schema)

	RenameCommand   = schema.DefineQuery[Rename, Renamed](Schema, "rename")
	DescribeCommand = schema.DefineQuery[Describe, Rules](Schema, "describe")
	ShootCommand    = schema.DefineQuery[Shoot, Shot](Schema, "shoot")
	LaunchCommand   = schema.DefineCommand[Launch](Schema, "launch")

	NamedEvent  = schema.DefineEvent[Named](Schema, "named")
	BrokenEvent = schema.DefineEvent[Broken](Schema, "broken")
	ScoredEvent = schema.DefineEvent[Scored](Schema, "scored")
	FlashEvent  = schema.DefineUnreliableEvent[Flash](Schema, "flash")
)

// PokeCommand is a command with raw arguments.
const PokeCommand = "poke"

// Identity is a number that an entity keeps for life. Mark repeats its last 16 bits in
// every row: a row applied to the wrong tenant leaves a Value and a Mark that do not match.
// Tests and bots thus miss only one such row in 65,536, at a cost of two bytes per row that
// a game would not spend.
type Identity struct {
	Value uint64
	Mark  uint16 `net:"always"`
}

// NewIdentity returns the identity with this number.
func NewIdentity(number uint64) Identity { return Identity{number, uint16(number)} }

// Number returns the identity in the newest row. If Mark belongs to another entity, the
// number matches no identity.
func (i Identity) Number() uint64 { return i.Value&^math.MaxUint16 | uint64(i.Mark) }

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
	CauseBroken uint8 = 2 // a poke broke the entity
)

// Rename is the argument of RenameCommand.
type Rename struct {
	Name string `net:"max=24"`
}

// Renamed is the answer of RenameCommand.
type Renamed struct {
	Player bulk.Handle `net:"ref"` // the session's avatar
	Count  uint32      // number of renames
	Name   string      `net:"max=24"`
}

// Describe is the argument of DescribeCommand.
type Describe struct{}

// Rules is the answer of DescribeCommand: constants of motion and of shots, in metres and
// seconds.
type Rules struct {
	Speed        float32 // at full input
	HalfX, HalfZ float32 // of the world
	Radius       float32 // of avatars
	Range        float32 // of shots
	ViewTicks    uint16  // maximum age of a shot's view moment
}

// Shoot is the argument of ShootCommand.
type Shoot struct {
	Aim float32 `net:"angle,bits=16"` // 0 is along x, a quarter turn along z
}

// Shot is the answer of ShootCommand.
type Shot struct {
	Hit      bulk.Handle `net:"ref"` // the nearest avatar; 0: none
	From     [3]float32  // origin of the shot
	Tick     uint16      // low bits of the tick that executed it
	View     uint16      // low bits of the tick of the other avatars' positions
	Fraction uint8       // fraction of the tick after View, in 1/256
	Named    bool        // the client named a view moment
}

// Launch is the argument of LaunchCommand. A missile with life 0 is not spawned.
type Launch struct {
	Aim                 float32     `net:"angle,bits=12"`
	Serial              uint32      // the left missile's serial is twice this, the right missile's one more
	Left, Right         bulk.Handle `net:"ref"` // provisional handles
	LeftLife, RightLife uint8       // ticks
}

// Named is the event of an avatar that has joined or was renamed.
type Named struct {
	Player bulk.Handle `net:"ref"`
	Name   string      `net:"max=24"`
}

// Broken is the event of an entity that a player's poke breaks.
type Broken struct {
	Entity, By bulk.Handle `net:"ref"`
}

// Scored is the event of an executed poke, for the player who sent it.
type Scored struct {
	Entity bulk.Handle `net:"ref"`
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
