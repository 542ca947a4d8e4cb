package bot

import (
	"encoding/binary"
	"errors"
	"math"

	"github.com/worldd/worldd/replication/schema"
)

// Identity is the component "identity" of the server's scenes: a number that an entity
// keeps for life, and its last 16 bits, which come with every row. Bots share only its
// wire form.
type Identity struct {
	Value uint64
	Mark  uint16 `net:"always"`
}

// number is the identity as of the newest row, or 0. After a row of another entity it
// matches no identity.
func (i Identity) number() uint64 { return i.Value&^math.MaxUint16 | uint64(i.Mark) }

// Names of the components that a bot understands.
const (
	bodyName     = "body"
	identityName = "identity"
)

// NewSchema returns the bots' schema: bodies and identities.
func NewSchema() (*schema.Schema, error) {
	s := schema.New()
	return s, errors.Join(schema.Add[schema.Body](s, bodyName), schema.Add[Identity](s, identityName))
}

// pokeName is the command that bots send.
const pokeName = "poke"

// pokeArgs is the argument of a poke: the identity that the bot expects of its target,
// as a msgpack uint64 (0xcf and 8 bytes, big-endian), for the server to compare.
func pokeArgs(identity uint64) []byte {
	return binary.BigEndian.AppendUint64([]byte{0xcf}, identity)
}
