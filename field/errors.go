package field

import (
	"errors"
	"fmt"
	"strings"
)

// SyntaxError describes an error in an effect's text and its position. The author of the
// text is at fault.
type SyntaxError struct {
	Line, Column int    // from 1; the column counts bytes
	Source       string // the line, cut at MaxLineBytes
	Message      string // the fault
	Expected     string // the correct form; may be empty
}

// Error shows the position, the message, and the line with a caret.
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

// printable replaces runes by which untrusted text could control a terminal.
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

// VerifyError is the reason why bytecode was rejected. The producer of the bytes is at
// fault.
type VerifyError struct {
	PC     int    // instruction index; -1 for the program as a whole
	Opcode Opcode // of that instruction; 0 when PC is -1
	Reason string
}

// Error names the instruction and the reason.
func (e *VerifyError) Error() string {
	if e.PC < 0 {
		return "field: bytecode rejected: " + e.Reason
	}
	return fmt.Sprintf("field: bytecode rejected at instruction %d (%v): %s", e.PC, e.Opcode, e.Reason)
}

// Errors that Evaluate wraps with details. The caller is at fault, and out is unchanged.
var (
	ErrPlanes  = errors.New("field: the six planes of points and out differ in length")
	ErrOverlap = errors.New("field: written memory overlaps other memory of the call")
	ErrScratch = errors.New("field: the scratch is too small")
	ErrParams  = errors.New("field: wrong number of parameters")
)
