package bot

import (
	"encoding/binary"

	"github.com/worldd/worldd/replication/wire"
)

// Identity is the component "identity" of the server's scenes: a number that an
// entity carries from its spawn to its end. Only its wire form is shared.
type Identity struct {
	Value uint64 `net:"always"`
}

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
