package wire

import "math"

// Refused is the server's answer to a Hello that it does not accept, in place of
// Welcome. The server closes the connection after it.
type Refused struct {
	Code Code
	Text string // for people; cut at MaxText
	Want string // what would be accepted: the server's version, schema, tables or epoch in hexadecimal; may be empty
}

var refusedElements = []element{number("code", math.MaxUint16), text("text", MaxText), text("want", MaxText)}

// Type is TypeRefused.
func (Refused) Type() byte { return TypeRefused }

// Append appends the body.
func (m Refused) Append(b []byte) []byte {
	m.Text, m.Want = clip(m.Text), clip(m.Want)
	return appendBody(b, &m, refusedElements)
}

// ParseRefused reads a body.
func ParseRefused(body []byte) (Refused, error) {
	var m Refused
	if err := decodeBody(body, &m, refusedElements); err != nil {
		return Refused{}, err
	}
	return m, nil
}
