package wire

import "math"

// Welcome is the server's first message to a client that it takes in.
type Welcome struct {
	Protocol        uint16 // Version
	Schema          uint64 // Schema.Hash
	Tables          uint32 // Tables.Version
	Epoch           uint64 // names this world; handles of another are stale
	GenerationFloor uint32 // handles with a lower generation are stale (H5)
	TickHz          uint16 // steps a second
	SnapshotHz      uint16 // snapshots a second, at most
	MaxSlots        uint32 // slot indices are below this, and this at most MaxSlots
	Session         uint64 // names the session in the server's log
	Tick            uint32 // the world's tick when this was written
	Resumed         uint8  // 1: the session goes on that Hello asked for; 0: this one is new
	Secret          []byte // to go on with this session after its connection broke; empty: it cannot be
}

var welcomeElements = []element{
	number("protocol", math.MaxUint16), number("schema", math.MaxUint64), number("tables", math.MaxUint32), number("epoch", math.MaxUint64),
	number("generation floor", math.MaxUint32), number("tick rate", math.MaxUint16), number("snapshot rate", math.MaxUint16),
	number("max slots", MaxSlots), number("session", math.MaxUint64), number("tick", math.MaxUint32),
	number("resumed", 1), binaryOf("secret", SecretBytes),
}

// Type is TypeWelcome.
func (Welcome) Type() byte { return TypeWelcome }

// Append appends the body.
func (m Welcome) Append(b []byte) []byte {
	m.Secret = notNil(m.Secret)
	return appendBody(b, &m, welcomeElements)
}

// ParseWelcome reads a body.
func ParseWelcome(body []byte) (Welcome, error) {
	var m Welcome
	if err := decodeBody(body, &m, welcomeElements); err != nil {
		return Welcome{}, err
	}
	if err := checkSecret(m.Secret); err != nil {
		return Welcome{}, err
	}
	if m.TickHz == 0 || m.SnapshotHz == 0 || m.SnapshotHz > m.TickHz {
		return Welcome{}, bad("%d ticks and %d snapshots a second", m.TickHz, m.SnapshotHz)
	}
	return m, nil
}
