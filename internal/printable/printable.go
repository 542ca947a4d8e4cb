// Package printable makes foreign texts safe to print: names, reasons and messages from the
// network or from a file, in terminals and logs.
package printable

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf16"
)

// Text returns s with each character escaped as in JSON that strconv.IsPrint excludes: line
// ends, escape codes, bells, and marks that change the direction of text. Bytes that are not
// UTF-8 become \ufffd. Backslashes stay, so that Text does not change its own results, or
// printable JSON.
func Text(s string) string {
	if !strings.ContainsFunc(s, unsafe) {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		switch {
		case !unsafe(r):
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\r':
			b.WriteString(`\r`)
		case r == '\t':
			b.WriteString(`\t`)
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			fmt.Fprintf(&b, `\u%04x\u%04x`, high, low)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}

// Lines returns s with each line as Text returns it. Line ends stay.
func Lines(s string) string {
	if !strings.ContainsFunc(s, unsafe) {
		return s
	}
	var b strings.Builder
	for line := range strings.SplitAfterSeq(s, "\n") {
		body, ended := strings.CutSuffix(line, "\n")
		b.WriteString(Text(body))
		if ended {
			b.WriteByte('\n')
		}
	}
	return b.String()
}

// WriteJSON writes v as JSON with a line end, in the form of Lines: the values are the same. Nested
// values are on lines of their own, unless indent is empty.
func WriteJSON(w io.Writer, v any, indent string) error {
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetIndent("", indent)
	if err := e.Encode(v); err != nil {
		return err
	}
	_, err := io.WriteString(w, Lines(text.String()))
	return err
}

func unsafe(r rune) bool { return !unicode.IsPrint(r) || r == unicode.ReplacementChar }
