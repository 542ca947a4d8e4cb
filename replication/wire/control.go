package wire

import (
	"math"

	"github.com/worldd/worldd/bulk"
)

// Control names the entity that a client's inputs steer.
type Control struct {
	Entity bulk.Handle // 0: none
}

var controlElements = []element{handleElement("entity")}

// Type returns TypeControl.
func (Control) Type() byte { return TypeControl }

// Append appends the body.
func (m Control) Append(b []byte) []byte { return appendBody(b, &m, controlElements) }

// ParseControl reads a body.
func ParseControl(body []byte) (Control, error) {
	var m Control
	if err := decodeBody(body, &m, controlElements, exactly); err != nil {
		return Control{}, err
	}
	return m, nil
}

// Resync is a client's request to resend everything in its view, because the fold of a
// State datagram showed that its slots differ from the server's. Its body is empty.
type Resync struct{}

// Type returns TypeResync.
func (Resync) Type() byte { return TypeResync }

// Append appends the body, which is empty.
func (Resync) Append(b []byte) []byte { return b }

// ParseResync reads a body.
func ParseResync(body []byte) (Resync, error) {
	if len(body) > 0 {
		return Resync{}, bad("resync with a body of %d bytes", len(body))
	}
	return Resync{}, nil
}

// Arrived is a client's answer to a Welcome that moves its session to another room: what
// follows it on the stream is of the new room. Its body is empty.
type Arrived struct{}

// Type returns TypeArrived.
func (Arrived) Type() byte { return TypeArrived }

// Append appends the body, which is empty.
func (Arrived) Append(b []byte) []byte { return b }

// ParseArrived reads a body.
func ParseArrived(body []byte) (Arrived, error) {
	if len(body) > 0 {
		return Arrived{}, bad("arrived with a body of %d bytes", len(body))
	}
	return Arrived{}, nil
}

// Bye is a client's last message before it closes the connection.
type Bye struct {
	Code Code
	Text string // for the server's log; truncated to MaxText
}

// Goodbye is a server's last message before it closes the connection. It is sent on the
// stream because a browser never sees the code of a close frame.
type Goodbye struct {
	Code    Code
	Text    string // for people; truncated to MaxText
	Address string // Moved: where to connect instead
	Token   []byte // Moved: what to show there
}

var (
	byeElements     = []element{number("code", math.MaxUint16), text("text", MaxText)}
	goodbyeElements = []element{number("code", math.MaxUint16), text("text", MaxText), text("address", MaxAddress), binaryOf("token", MaxToken)}
)

// Type returns TypeBye.
func (Bye) Type() byte { return TypeBye }

// Append appends the body.
func (m Bye) Append(b []byte) []byte {
	m.Text = clip(m.Text)
	return appendBody(b, &m, byeElements)
}

// ParseBye reads a body.
func ParseBye(body []byte) (Bye, error) {
	var m Bye
	if err := decodeBody(body, &m, byeElements, exactly); err != nil {
		return Bye{}, err
	}
	return m, nil
}

// Type returns TypeGoodbye.
func (Goodbye) Type() byte { return TypeGoodbye }

// Append appends the body.
func (m Goodbye) Append(b []byte) []byte {
	m.Text, m.Token = clip(m.Text), notNil(m.Token)
	return appendBody(b, &m, goodbyeElements)
}

// ParseGoodbye reads a body.
func ParseGoodbye(body []byte) (Goodbye, error) {
	var m Goodbye
	if err := decodeBody(body, &m, goodbyeElements, exactly); err != nil {
		return Goodbye{}, err
	}
	return m, checkMove(m.Code, m.Address, m.Token)
}

// Pad is an empty message in either direction. Some QUIC senders put a pending
// acknowledgement into the packet of a datagram only if it also carries stream data; a Pad
// provides that byte.
type Pad struct{}

// Type returns TypePad.
func (Pad) Type() byte { return TypePad }

// Append appends the body, which is empty.
func (Pad) Append(b []byte) []byte { return b }

// ParsePad reads a body.
func ParsePad(body []byte) (Pad, error) {
	if len(body) > 0 {
		return Pad{}, bad("pad with a body of %d bytes", len(body))
	}
	return Pad{}, nil
}
