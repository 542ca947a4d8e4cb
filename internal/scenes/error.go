package scenes

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/worldd/worldd/internal/spelling"
)

// FileError is one mistake in a world file: its position, the fault, and the correct form.
type FileError struct {
	File string // as given to Parse
	// Line and Column count from 1; a column is a character, not a byte. Both are 0 if
	// a program built the scene.
	Line, Column int
	Path         string // "spawns[2].count"; empty if the text is not YAML
	Message      string // the fault
	Expected     string // the correct form; may be empty
	Excerpt      string // the line, shortened; may be empty
	caret        int    // characters of Excerpt before the mistake
}

// Error returns "file:line:column: message", the line with a caret, and the correct form.
func (e *FileError) Error() string {
	var b strings.Builder
	b.WriteString(e.File)
	if e.Line > 0 {
		fmt.Fprintf(&b, ":%d:%d", e.Line, e.Column)
	}
	b.WriteString(": ")
	b.WriteString(e.Message)
	if e.Excerpt != "" {
		gutter := fmt.Sprintf("%5d | ", e.Line)
		fmt.Fprintf(&b, "\n%s%s\n%s%s^", gutter, e.Excerpt, strings.Repeat(" ", len(gutter)-2)+"| ", strings.Repeat(" ", e.caret))
	}
	if e.Expected != "" {
		b.WriteString("\n      expected: ")
		b.WriteString(e.Expected)
	}
	return b.String()
}

// ErrTooMany ends the list when a file has more than MaxComplaints mistakes.
var ErrTooMany = errors.New("more mistakes are not listed")

// excerptRunes is the width of an excerpt: a terminal line without the gutter.
const excerptRunes = 72

// excerpt returns a window of line around column (from 1), and the number of characters
// before the column. Control characters are replaced, which keeps the caret in place
// and escape codes out of logs.
func excerpt(line string, column int) (string, int) {
	runes := []rune(line)
	from := 0
	if column > excerptRunes-8 {
		from = min(column-excerptRunes/2, len(runes))
	}
	to := min(from+excerptRunes, len(runes))
	window := runes[from:to]
	for i, r := range window {
		switch {
		case r == '\t':
			window[i] = ' '
		case !unicode.IsPrint(r) || r == utf8.RuneError:
			window[i] = '?'
		}
	}
	return string(window), min(max(column-1-from, 0), len(window))
}

// complaints collects up to MaxComplaints mistakes.
type complaints struct {
	file    string
	lines   []string
	list    []*FileError
	tooMany bool
}

func (c *complaints) add(p place, path, message, expected string) {
	if len(c.list) >= MaxComplaints {
		c.tooMany = true
		return
	}
	e := &FileError{File: c.file, Line: p.line, Column: p.column, Path: path, Message: message, Expected: expected}
	if p.line > 0 && p.line <= len(c.lines) {
		e.Excerpt, e.caret = excerpt(c.lines[p.line-1], p.column)
	}
	c.list = append(c.list, e)
}

// err returns nil, the only mistake as a *FileError, or all mistakes joined in file order.
// errors.As finds the first.
func (c *complaints) err() error {
	if len(c.list) == 0 {
		return nil
	}
	slices.SortStableFunc(c.list, func(a, b *FileError) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	if len(c.list) == 1 {
		return c.list[0]
	}
	errs := make([]error, 0, len(c.list)+1)
	for _, e := range c.list {
		errs = append(errs, e)
	}
	if c.tooMany {
		errs = append(errs, ErrTooMany)
	}
	return errors.Join(errs...)
}

// suggest describes the expected words for an unknown one: the nearest known word, if any
// is near, and the list of all known words.
func suggest(word string, known []string) string {
	if len(known) == 0 {
		return "nothing: none is defined"
	}
	all := "one of " + strings.Join(known, ", ")
	if best := spelling.Nearest(word, known); best != "" {
		return fmt.Sprintf("%s? (%s)", best, all)
	}
	return all
}
