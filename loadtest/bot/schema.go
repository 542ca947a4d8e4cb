package bot

import (
	"encoding/binary"
	"math"

	"github.com/worldd/worldd/replication/wire"
)

// Identity is the component "identity" of the server's scenes: a number that an
// entity carries from its spawn to its end, and its last 16 bits, which come
// with every row. Only its wire form is shared.
type Identity struct {
	Value uint64
	Mark  uint16 `net:"always"`
}

// number is the identity as far as the newest row tells, 0 if there is none: after
// a row of another entity it is nobody's.
func (i Identity) number() uint64 { return i.Value&^math.MaxUint16 | uint64(i.Mark) }

// Names of the two components that a bot understands.
const (
	bodyName     = "body"
	identityName = "identity"
)

// NewSchema makes the schema that bots speak: bodies and identities.
func NewSchema() (*wire.Schema, error) {
	s := wire.NewSchema()
	if err := wire.AddComponent[wire.Body](s, bodyName); err != nil {
		return nil, err
	}
	if err := wire.AddComponent[Identity](s, identityName); err != nil {
		return nil, err
	}
	return s, nil
}

// pokeName is the command that bots send.
const pokeName = "poke"

// pokeArgs is the argument of a poke: the identity that the bot believes its
// target to have, as a msgpack uint64 (0xcf and 8 bytes, big-endian), so that
// the server can compare.
func pokeArgs(identity uint64) []byte {
	return binary.BigEndian.AppendUint64([]byte{0xcf}, identity)
}
