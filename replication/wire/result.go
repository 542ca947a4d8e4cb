package wire

import (
	"math"

	"github.com/worldd/worldd/bulk"
)

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
