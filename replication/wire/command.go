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
