package wire

import "math"

// Hello is the client's first message.
type Hello struct {
	Protocol uint16 // Version
	Schema   uint64 // Schema.Hash
	Tables   uint32 // Tables.Version
	Epoch    uint64 // the world that the client's handles are of; 0: any
	// Session and Secret, from the newest Welcome, ask to resume a session whose
	// connection broke. A server that does not know the session begins a new one; with
	// Epoch 0 also a server of another epoch does. Structure is the number of the newest structure
	// record that the client has applied in it. Without a Secret all are zero.
	Session   uint64
	Secret    []byte
	Structure uint32
	Token     []byte // the connect token; empty if the server wants none
	Name      string // for logs and other players
}

var helloElements = []element{
	number("protocol", math.MaxUint16), number("schema", math.MaxUint64), number("tables", math.MaxUint32), number("epoch", math.MaxUint64),
	number("session", math.MaxUint64), binaryOf("secret", SecretBytes), number("structure", math.MaxUint32),
	binaryOf("token", MaxToken), text("name", MaxName),
}

// Type is TypeHello.
func (Hello) Type() byte { return TypeHello }

// Append appends the body.
func (m Hello) Append(b []byte) []byte {
	m.Token, m.Secret = notNil(m.Token), notNil(m.Secret)
	return appendBody(b, &m, helloElements)
}

// ParseHello reads a body. The result does not alias it.
func ParseHello(body []byte) (Hello, error) {
	var m Hello
	if err := decodeBody(body, &m, helloElements); err != nil {
		return Hello{}, err
	}
	if err := checkSecret(m.Secret); err != nil {
		return Hello{}, err
	}
	if len(m.Secret) == 0 && (m.Session != 0 || m.Structure != 0) {
		return Hello{}, bad("session %d and structure record %d without a secret", m.Session, m.Structure)
	}
	return m, nil
}

// checkSecret says whether a resume secret has its length, if there is one.
func checkSecret(secret []byte) error {
	if n := len(secret); n != 0 && n != SecretBytes {
		return bad("secret of %d bytes, want %d or none", n, SecretBytes)
	}
	return nil
}

// notNil makes nil an empty slice, since msgpack has another form for nil.
func notNil(b []byte) []byte {
	if b == nil {
		return []byte{}
	}
	return b
}
