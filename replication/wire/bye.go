package wire

import "math"

// Bye is a client's last message: it closes the connection after it.
type Bye struct {
	Code Code
	Text string // for the server's log; cut at MaxText
}

// Goodbye is a server's last message before it closes the connection. It comes
// on the stream because a browser never sees the code of a close frame.
type Goodbye struct {
	Code Code
	Text string // for people; cut at MaxText
}

var byeElements = []element{number("code", math.MaxUint16), text("text", MaxText)}

// Type is TypeBye.
func (Bye) Type() byte { return TypeBye }

// Append appends the body.
func (m Bye) Append(b []byte) []byte {
	m.Text = clip(m.Text)
	return appendBody(b, &m, byeElements)
}

// ParseBye reads a body.
func ParseBye(body []byte) (Bye, error) {
	var m Bye
	if err := decodeBody(body, &m, byeElements); err != nil {
		return Bye{}, err
	}
	return m, nil
}

// Type is TypeGoodbye.
func (Goodbye) Type() byte { return TypeGoodbye }

// Append appends the body.
func (m Goodbye) Append(b []byte) []byte {
	m.Text = clip(m.Text)
	return appendBody(b, &m, byeElements)
}

// ParseGoodbye reads a body.
func ParseGoodbye(body []byte) (Goodbye, error) {
	var m Goodbye
	if err := decodeBody(body, &m, byeElements); err != nil {
		return Goodbye{}, err
	}
	return m, nil
}
