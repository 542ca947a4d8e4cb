package wire

import (
	"math"

	"github.com/worldd/worldd/bulk"
)

// Command is a client's one-time request. The server answers it with a Result of the same
// ID.
type Command struct {
	ID     uint32 // chosen by the client, to match Results
	Name   string
	Target bulk.Handle // target entity; 0: none
	Args   []byte      // as the schema declares the command: a message body, or one msgpack value or none
	// Provisionals is the number of provisional handles that the command names, for
	// entities that it would create. Their indexes are consecutive from FirstProvisional.
	// Indexes ascend over the session.
	FirstProvisional uint32
	Provisionals     uint8
	// View is the world time that the client displayed, in 1/256 ticks; 0: not given.
	View uint64
}

var commandElements = []element{
	number("id", math.MaxUint32), text("name", MaxName), handleElement("target"), binaryOf("args", MaxCommandArgs),
	number("provisional", math.MaxUint32), number("provisionals", MaxProvisionals), number("view", 1<<40-1),
}

func (Command) messageType() byte { return TypeCommand }

// Append appends the body.
func (m Command) Append(b []byte) []byte {
	m.Args = notNil(m.Args)
	return appendBody(b, &m, commandElements)
}

// parse does not check Args, which the schema defines.
func (m *Command) parse(body []byte) error {
	if err := decodeBody(body, m, commandElements, exactly); err != nil {
		return err
	}
	if m.Name == "" {
		return bad("command without a name")
	}
	if m.Provisionals == 0 && m.FirstProvisional != 0 || uint64(m.FirstProvisional)+uint64(m.Provisionals) > math.MaxUint32 {
		return bad("%d provisional handles from index %d", m.Provisionals, m.FirstProvisional)
	}
	return nil
}

// Result answers a Command.
type Result struct {
	ID      uint32
	Code    Code        // OK: executed; otherwise nothing changed (H2)
	Target  bulk.Handle // the command's target
	Verdict Verdict     // the target's state, as far as this client may know it
	Text    string      // the game's explanation for the player, or empty; truncated to MaxText
	Answer  []byte      // the command's answer as the schema declares it; empty unless Code is OK
}

var resultElements = []element{
	number("id", math.MaxUint32), number("code", math.MaxUint16), handleElement("target"), number("verdict", uint64(Stale)),
	text("text", MaxText), binaryOf("answer", MaxAnswer),
}

func (Result) messageType() byte { return TypeResult }

// Append appends the body.
func (m Result) Append(b []byte) []byte {
	m.Text, m.Answer = clip(m.Text), notNil(m.Answer)
	return appendBody(b, &m, resultElements)
}

func (m *Result) parse(body []byte) error {
	if err := decodeBody(body, m, resultElements, exactly); err != nil {
		return err
	}
	if m.Code != OK && len(m.Answer) > 0 {
		return bad("answer of %d bytes with code %v", len(m.Answer), m.Code)
	}
	return nil
}
