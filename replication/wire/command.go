package wire

import (
	"math"

	"github.com/worldd/worldd/bulk"
)

// Command is a client's one-time request. The server answers it with a Result of the same
// ID.
type Command struct {
	ID     uint32 // chosen by the client, to tell answers apart
	Name   string
	Target bulk.Handle // the entity it concerns; 0: none
	Args   []byte      // one msgpack value, or empty; interpreted by the game
}

var commandElements = []element{
	number("id", math.MaxUint32), text("name", MaxName), handleElement("target"), binaryOf("args", MaxCommandArgs),
}

// Type returns TypeCommand.
func (Command) Type() byte { return TypeCommand }

// Append appends the body.
func (m Command) Append(b []byte) []byte {
	m.Args = notNil(m.Args)
	return appendBody(b, &m, commandElements)
}

// ParseCommand reads a body. Args have passed CheckMsgpack and do not alias the body.
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
	Code    Code        // OK: executed; otherwise nothing changed (H2)
	Target  bulk.Handle // the command's target
	Verdict Verdict     // the target's state, as far as this client may know it
	Text    string      // the game's explanation for the player, or empty; truncated to MaxText
}

var resultElements = []element{
	number("id", math.MaxUint32), number("code", math.MaxUint16), handleElement("target"), number("verdict", uint64(Stale)),
	text("text", MaxText),
}

// Type returns TypeResult.
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
