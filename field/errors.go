package field

import (
	"errors"
	"fmt"
	"strings"
)

// SyntaxError says what is wrong with the text of an effect, and where.
type SyntaxError struct {
	Line, Column int    // from 1; the column counts bytes
	Source       string // the line
	Message      string // what is wrong
	Expected     string // what would be right; may be empty
}

// Error shows the place, the line and a caret below the fault.
func (e *SyntaxError) Error() string {
	text := fmt.Sprintf("effect:%d:%d: %s", e.Line, e.Column, e.Message)
	if e.Expected != "" {
		text += "; expected " + e.Expected
	}
	pad := strings.Map(func(r rune) rune {
		if r == '\t' {
			return r
		}
		return ' '
	}, e.Source[:min(max(e.Column-1, 0), len(e.Source))])
	return text + "\n" + e.Source + "\n" + pad + "^"
}

// VerifyError says why bytecode was refused. It is the fault of whoever made
// the bytes.
type VerifyError struct {
	PC     int    // index of the operation; -1 if it is about the whole
	Opcode Opcode // the operation
	Reason string
}

// Error names the operation and the reason.
func (e *VerifyError) Error() string {
	if e.PC < 0 {
		return "field: bytecode refused: " + e.Reason
	}
	return fmt.Sprintf("field: bytecode refused at op %d (%v): %s", e.PC, e.Opcode, e.Reason)
}

// Errors of Evaluate: the caller's fault.
var (
	ErrPlanes  = errors.New("field: planes differ in length")
	ErrScratch = errors.New("field: scratch is too small")
	ErrParams  = errors.New("field: wrong number of parameters")
)
