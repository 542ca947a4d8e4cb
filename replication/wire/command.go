package wire

import (
	"math"

	"github.com/worldd/worldd/bulk"
)

// Command is what a client asks for once. It is answered by a Result with the
// same ID.
type Command struct {
	ID     uint32 // chosen by the client, to tell answers apart
	Name   string
	Target bulk.Handle // the entity it is about; 0: none
	Args   []byte      // one msgpack value, or empty; its meaning is the game's affair
}

var commandElements = []element{
	number("id", math.MaxUint32), text("name", MaxName), handleElement("target"), binaryOf("args", MaxCommandArgs),
}

// Type is TypeCommand.
func (Command) Type() byte { return TypeCommand }

// Append appends the body.
func (m Command) Append(b []byte) []byte {
	m.Args = notNil(m.Args)
	return appendBody(b, &m, commandElements)
}

// ParseCommand reads a body. Args have passed CheckMsgpack, and alias nothing.
func ParseCommand(body []byte) (Command, error) {
	var m Command
	if err := decodeBody(body, &m, commandElements); err != nil {
		return Command{}, err
	}
	if m.Name == "" {
		return Command{}, bad("command without a name")
	}
	if len(m.Args) > 0 {
		if err := CheckMsgpack(m.Args); err != nil {
			return Command{}, err
		}
	}
	return m, nil
}

// Result answers a Command.
type Result struct {
	ID      uint32
	Code    Code        // OK: executed; else nothing was touched (H2)
	Target  bulk.Handle // the command's
	Verdict Verdict     // what became of the target as far as this client may know
	Text    string      // why, for the player; empty unless the game says so; cut at MaxText
}

var resultElements = []element{
	number("id", math.MaxUint32), number("code", math.MaxUint16), handleElement("target"), number("verdict", uint64(Stale)),
	text("text", MaxText),
}

// Type is TypeResult.
func (Result) Type() byte { return TypeResult }

// Append appends the body.
func (m Result) Append(b []byte) []byte {
	m.Text = clip(m.Text)
	return appendBody(b, &m, resultElements)
}

// ParseResult reads a body.
func ParseResult(body []byte) (Result, error) {
	var m Result
	if err := decodeBody(body, &m, resultElements); err != nil {
		return Result{}, err
	}
	return m, nil
}
