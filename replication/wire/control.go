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

func (Control) messageType() byte { return TypeControl }

// Append appends the body.
func (m Control) Append(b []byte) []byte { return appendBody(b, &m, controlElements) }

func (m *Control) parse(body []byte) error {
	return decodeBody(body, m, controlElements, exactly)
}

// Resync is a client's request to resend everything in its view, because the fold of a
// State datagram showed that its slots differ from the server's. Its body is empty.
type Resync struct{}

func (Resync) messageType() byte { return TypeResync }

// Append appends the body, which is empty.
func (Resync) Append(b []byte) []byte { return b }

func (*Resync) parse(body []byte) error {
	if len(body) > 0 {
		return bad("resync with a body of %d bytes", len(body))
	}
	return nil
}

// Arrived is a client's answer to a Welcome that moves its session to another room: later
// messages on the stream are meant for the new room. Its body is empty.
type Arrived struct{}

func (Arrived) messageType() byte { return TypeArrived }

// Append appends the body, which is empty.
func (Arrived) Append(b []byte) []byte { return b }

func (*Arrived) parse(body []byte) error {
	if len(body) > 0 {
		return bad("arrived with a body of %d bytes", len(body))
	}
	return nil
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
	Address string // Moved: address of the server to connect to instead
	Token   []byte // Moved: connect token for that server
}

var (
	byeElements     = []element{number("code", math.MaxUint16), text("text", MaxText)}
	goodbyeElements = []element{number("code", math.MaxUint16), text("text", MaxText), text("address", MaxAddress), binaryOf("token", MaxToken)}
)

func (Bye) messageType() byte { return TypeBye }

// Append appends the body.
func (m Bye) Append(b []byte) []byte {
	m.Text = clip(m.Text)
	return appendBody(b, &m, byeElements)
}

func (m *Bye) parse(body []byte) error {
	return decodeBody(body, m, byeElements, exactly)
}

func (Goodbye) messageType() byte { return TypeGoodbye }

// Append appends the body.
func (m Goodbye) Append(b []byte) []byte {
	m.Text, m.Token = clip(m.Text), notNil(m.Token)
	return appendBody(b, &m, goodbyeElements)
}

func (m *Goodbye) parse(body []byte) error {
	if err := decodeBody(body, m, goodbyeElements, exactly); err != nil {
		return err
	}
	return checkMove(m.Code, m.Address, m.Token)
}

// Pad is an empty message in either direction. Some QUIC senders put a pending
// acknowledgement into the packet of a datagram only if it also carries stream data; a Pad
// provides that byte.
type Pad struct{}

func (Pad) messageType() byte { return TypePad }

// Append appends the body, which is empty.
func (Pad) Append(b []byte) []byte { return b }

func (*Pad) parse(body []byte) error {
	if len(body) > 0 {
		return bad("pad with a body of %d bytes", len(body))
	}
	return nil
}
