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
	w := appendBody(b, byeElements)
	w.number(uint64(m.Code))
	w.text(clip(m.Text))
	return w.end()
}

// ParseBye reads a body.
func ParseBye(body []byte) (Bye, error) {
	r := readBody(body, byeElements)
	m := Bye{Code: Code(r.number()), Text: r.text()}
	if err := r.end(); err != nil {
		return Bye{}, err
	}
	return m, nil
}

// Type is TypeGoodbye.
func (Goodbye) Type() byte { return TypeGoodbye }

// Append appends the body.
func (m Goodbye) Append(b []byte) []byte {
	w := appendBody(b, byeElements)
	w.number(uint64(m.Code))
	w.text(clip(m.Text))
	return w.end()
}

// ParseGoodbye reads a body.
func ParseGoodbye(body []byte) (Goodbye, error) {
	r := readBody(body, byeElements)
	m := Goodbye{Code: Code(r.number()), Text: r.text()}
	if err := r.end(); err != nil {
		return Goodbye{}, err
	}
	return m, nil
}
