package wire

import (
	"cmp"
	"math"
)

// Hello is the client's first message.
type Hello struct {
	Protocol uint16 // Version
	Schema   uint64 // hash of a schema that the client has; 0: none
	Tables   uint32 // Tables.Version; of no account with PlainRows
	Epoch    uint64 // world of the client's handles; 0: any
	// Session and Secret, from the newest Welcome, ask to resume a session whose connection
	// broke. A server that does not know the session starts a new one. With Epoch 0, a
	// server of another epoch also starts a new one. Structure is the number of the newest
	// structure record that the client has applied. Without a Secret all are zero.
	Session   uint64
	Secret    []byte
	Structure uint32
	Token     []byte // the connect token; empty if the server requires none
	Name      string // for logs and other players
	Room      string // room to join, by its name or a RoomQuery; empty: the token's room, or the server's only one
	Abilities Abilities
	Version   string // version of the client's game; empty: unknown
	MinServer string // oldest version of the server's game that the client accepts; empty: any
}

// Abilities is a set of things that a client can do.
type Abilities uint8

const (
	// Simulates: the client computes the motion of clean bodies itself.
	Simulates Abilities = 1 << iota
	// PlainRows: the client has no tables, and receives every row in full.
	PlainRows

	allAbilities = Simulates | PlainRows
)

// Has reports whether a has all of what.
func (a Abilities) Has(what Abilities) bool { return a&what == what }

var helloElements = []element{
	number("protocol", math.MaxUint16), number("schema", math.MaxUint64), number("tables", math.MaxUint32), number("epoch", math.MaxUint64),
	number("session", math.MaxUint64), binaryOf("secret", SecretBytes), number("structure", math.MaxUint32),
	binaryOf("token", MaxToken), text("name", MaxName), text("room", MaxRoomQuery), number("abilities", uint64(allAbilities)),
	text("version", MaxVersion), text("minimum server", MaxVersion),
}

func (Hello) messageType() byte { return TypeHello }

// Append appends the body.
func (m Hello) Append(b []byte) []byte {
	m.Token, m.Secret = notNil(m.Token), notNil(m.Secret)
	return appendBody(b, &m, helloElements)
}

// parse reads only Protocol if it is not Version: every version begins a Hello with its number.
func (m *Hello) parse(body []byte) error {
	if v, ok := firstNumber(body); ok && v != Version && v <= math.MaxUint16 {
		*m = Hello{Protocol: uint16(v)}
		return nil
	}
	if err := decodeBody(body, m, helloElements, exactly); err != nil {
		return err
	}
	if err := checkSecret(m.Secret); err != nil {
		return err
	}
	if err := cmp.Or(CheckVersion(m.Version), CheckVersion(m.MinServer)); err != nil {
		return Malformed(err)
	}
	if len(m.Secret) == 0 && (m.Session != 0 || m.Structure != 0) {
		return bad("session %d and structure record %d without a secret", m.Session, m.Structure)
	}
	return nil
}

// Welcome is the server's first message to a client that it accepts. A later Welcome on the
// same connection moves the session to another room.
type Welcome struct {
	Protocol          uint16 // Version
	Schema            uint64 // Schema.Hash
	Tables            uint32 // Tables.Version
	Epoch             uint64 // identifies this world; handles of another are stale
	GenerationFloor   uint32 // handles with a lower generation are stale (H5)
	GenerationCeiling uint32 // handles with a higher generation are stale too; at least GenerationFloor
	TickHz            uint16 // ticks per second
	SnapshotHz        uint16 // snapshots per second, at most
	MaxSlots          uint32 // slot indices are below this; at most the constant MaxSlots
	Session           uint64 // names the session in the server's log
	Tick              uint32 // the world's tick when this was written
	Resumed           uint8  // 1: the session named in Hello continues; 0: the session is new
	Secret            []byte // resumes this session after its connection breaks; empty: the session cannot be resumed
	Room              string // the room that was joined
	Simulate          uint8  // 1: the session sends exact states and effects, for a client that simulates
	Commands          uint32 // number of the session's commands that the server has received; later ones are lost
	Structure         uint32 // number of the newest structure record before this world's
	Version           string // version of the server's game; empty: unknown
	SchemaText        string // Schema.Text, unless Hello named the hash Schema
}

var welcomeElements = []element{
	number("protocol", math.MaxUint16), number("schema", math.MaxUint64), number("tables", math.MaxUint32), number("epoch", math.MaxUint64),
	number("generation floor", math.MaxUint32), number("generation ceiling", math.MaxUint32), number("tick rate", math.MaxUint16), number("snapshot rate", math.MaxUint16),
	number("max slots", MaxSlots), number("session", math.MaxUint64), number("tick", math.MaxUint32),
	number("resumed", 1), binaryOf("secret", SecretBytes), text("room", MaxRoom), number("simulate", 1),
	number("commands", math.MaxUint32), number("structure", math.MaxUint32), text("version", MaxVersion), text("schema text", MaxSchemaText),
}

func (Welcome) messageType() byte { return TypeWelcome }

// Append appends the body.
func (m Welcome) Append(b []byte) []byte {
	m.Secret = notNil(m.Secret)
	return appendBody(b, &m, welcomeElements)
}

func (m *Welcome) parse(body []byte) error {
	if err := decodeBody(body, m, welcomeElements, exactly); err != nil {
		return err
	}
	if err := checkSecret(m.Secret); err != nil {
		return err
	}
	if err := CheckVersion(m.Version); err != nil {
		return Malformed(err)
	}
	if m.TickHz == 0 || m.SnapshotHz == 0 || m.SnapshotHz > m.TickHz {
		return bad("%d ticks and %d snapshots per second, want at least 1, and no more snapshots than ticks", m.TickHz, m.SnapshotHz)
	}
	if m.GenerationCeiling < m.GenerationFloor {
		return bad("generations %d to %d", m.GenerationFloor, m.GenerationCeiling)
	}
	return nil
}

// Refused is the server's answer, in place of Welcome, to a Hello that it rejects. The server
// then closes the connection.
type Refused struct {
	Code    Code
	Text    string // for people; truncated to MaxText
	Want    string // value that would be accepted, like "tables 5fe2b89e"; may be empty
	Address string // Moved: address of the server to connect to instead
	Token   []byte // Moved: connect token for that server
}

var refusedElements = []element{
	number("code", math.MaxUint16), text("text", MaxText), text("want", MaxText), text("address", MaxAddress), binaryOf("token", MaxToken),
}

func (Refused) messageType() byte { return TypeRefused }

// Append appends the body.
func (m Refused) Append(b []byte) []byte {
	m.Text, m.Want, m.Token = clip(m.Text), clip(m.Want), notNil(m.Token)
	return appendBody(b, &m, refusedElements)
}

// parse ignores elements after those it knows, so that a client can tell what a server of a
// later version wants.
func (m *Refused) parse(body []byte) error {
	if err := decodeBody(body, m, refusedElements, orMore); err != nil {
		return err
	}
	return checkMove(m.Code, m.Address, m.Token)
}

// checkMove checks that c has an address if and only if it is Moved.
func checkMove(c Code, address string, token []byte) error {
	if c == Moved != (address != "") || c != Moved && len(token) > 0 {
		return bad("code %v with the address %q and a token of %d bytes", c, address, len(token))
	}
	return nil
}

// checkSecret checks the length of a resume secret, which may be empty.
func checkSecret(secret []byte) error {
	if n := len(secret); n != 0 && n != SecretBytes {
		return bad("secret of %d bytes, want %d or none", n, SecretBytes)
	}
	return nil
}

// notNil replaces nil with an empty slice: msgpack encodes nil differently.
func notNil(b []byte) []byte {
	if b == nil {
		return []byte{}
	}
	return b
}
