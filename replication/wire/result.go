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
	w := appendBody(b, resultElements)
	w.number(uint64(m.ID))
	w.number(uint64(m.Code))
	w.handle(m.Target)
	w.number(uint64(m.Verdict))
	w.text(clip(m.Text))
	return w.end()
}

// ParseResult reads a body.
func ParseResult(body []byte) (Result, error) {
	r := readBody(body, resultElements)
	m := Result{ID: uint32(r.number()), Code: Code(r.number()), Target: r.handle(), Verdict: Verdict(r.number()), Text: r.text()}
	if err := r.end(); err != nil {
		return Result{}, err
	}
	return m, nil
}
