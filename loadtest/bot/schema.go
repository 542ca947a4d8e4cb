package bot

import (
	"encoding/binary"
	"errors"
	"math"

	"github.com/worldd/worldd/bulk"
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
		schema.AddQuery[Rename, Renamed](s, renameName),
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
