package wire

import "math"

// Hello is the client's first message.
type Hello struct {
	Protocol uint16 // Version
	Schema   uint64 // Schema.Hash
	Tables   uint32 // Tables.Version
	Epoch    uint64 // the world that the client's handles are of; 0: any
	Token    []byte // the connect token; empty if the server wants none
	Name     string // for logs and other players
}

var helloElements = []element{
	number("protocol", math.MaxUint16), number("schema", math.MaxUint64), number("tables", math.MaxUint32), number("epoch", math.MaxUint64),
	binaryOf("token", MaxToken), text("name", MaxName),
}

// Type is TypeHello.
func (Hello) Type() byte { return TypeHello }

// Append appends the body.
func (m Hello) Append(b []byte) []byte {
	m.Token = notNil(m.Token)
	return appendBody(b, &m, helloElements)
}

// ParseHello reads a body. The result does not alias it.
func ParseHello(body []byte) (Hello, error) {
	var m Hello
	if err := decodeBody(body, &m, helloElements); err != nil {
		return Hello{}, err
	}
	return m, nil
}

// notNil makes nil an empty slice, since msgpack has another form for nil.
func notNil(b []byte) []byte {
	if b == nil {
		return []byte{}
	}
	return b
}
