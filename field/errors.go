package field

import (
	"errors"
	"fmt"
	"strings"
)

// SyntaxError says what is wrong with the text of an effect, and where. The
// fault is the author's.
type SyntaxError struct {
	Line, Column int    // from 1; the column counts bytes
	Source       string // the line, cut at MaxLineBytes
	Message      string // what is wrong
	Expected     string // what belongs there; may be empty
}

// Error shows the place, the fault, the line and a caret below the fault.
func (e *SyntaxError) Error() string {
	text := fmt.Sprintf("effect:%d:%d: %s", e.Line, e.Column, e.Message)
	if e.Expected != "" {
		text += "; expected " + e.Expected
	}
	if e.Source == "" {
		return text
	}
	source := strings.Map(printable, e.Source)
	before := strings.Map(blank, e.Source[:min(max(e.Column-1, 0), len(e.Source))])
	return text + "\n\t" + source + "\n\t" + before + "^"
}

// printable keeps a stranger's text from commanding the terminal that it is
// shown on.
func printable(r rune) rune {
	if r < ' ' && r != '\t' || r == 0x7f || r >= 0x80 && r < 0xa0 {
		return '?'
	}
	return r
}

func blank(r rune) rune {
	if r == '\t' {
		return r
	}
	return ' '
}

// VerifyError says why bytecode was refused. The fault is with whoever made the
// bytes.
type VerifyError struct {
	PC     int    // number of the instruction; -1 when it is about the program as a whole
	Opcode Opcode // of that instruction; 0 when PC is -1
	Reason string
}

// Error names the instruction and the reason.
func (e *VerifyError) Error() string {
	if e.PC < 0 {
		return "field: bytecode refused: " + e.Reason
	}
	return fmt.Sprintf("field: bytecode refused at instruction %d (%v): %s", e.PC, e.Opcode, e.Reason)
}

// What Evaluate returns, wrapped with the figures. All of them are the caller's
// fault, and nothing has been written.
var (
	ErrPlanes  = errors.New("field: the six planes of points and out differ in length")
	ErrOverlap = errors.New("field: memory that is written overlaps other memory of the call")
	ErrScratch = errors.New("field: the scratch is too small")
	ErrParams  = errors.New("field: wrong number of parameters")
)
