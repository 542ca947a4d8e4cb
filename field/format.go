package field

import (
	"fmt"
	"strings"
)

// Format returns an effect's text in canonical layout: single spaces, none inside
// parentheses and before lanes, and no consecutive empty lines. It keeps comments,
// names, numbers, parentheses and meaning: Compile returns the same program. It is
// idempotent. An error is a *SyntaxError: the text is malformed, or formatting makes a
// line too long.
func Format(source string) (formatted string, err error) {
	defer catch(&err)
	parse(source)
	var lines []string
	number := 0
	for text := range strings.SplitSeq(source, "\n") {
		number++
		l := line{source: strings.TrimSuffix(text, "\r"), number: number}
		laidOut := l.format()
		if laidOut != "" || len(lines) > 0 && lines[len(lines)-1] != "" {
			lines = append(lines, laidOut)
		}
	}
	formatted = strings.TrimRight(strings.Join(lines, "\n"), "\n") + "\n"
	if len(formatted) > MaxSourceBytes {
		l := line{number: number}
		panic(l.fail(1, fmt.Sprintf("at most %d", MaxSourceBytes), "the formatted effect has %d bytes", len(formatted)))
	}
	return formatted, nil
}

func (l *line) format() string {
	var tokens []token
	for t := l.nextInExpression(); t.kind != tokenEnd; t = l.nextInExpression() {
		tokens = append(tokens, t)
	}
	form := spacingOf(tokens)
	var b strings.Builder
	for i, t := range tokens {
		if form == spacingBox && t.is(",") && tokens[i-1].is(")") {
			continue // between the corners
		}
		if i > 0 && form.spaced(tokens, i) {
			b.WriteByte(' ')
		}
		b.WriteString(t.spelling())
	}
	if comment := strings.TrimRight(l.source[l.end():], " \t\r"); comment != "" {
		if b.Len() > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(comment)
	}
	if b.Len() > MaxLineBytes {
		panic(l.fail(1, fmt.Sprintf("at most %d: give a part of it a name", MaxLineBytes), "the formatted line has %d bytes", b.Len()))
	}
	return b.String()
}

// A spacing is a rule for blanks.
type spacing uint8

const (
	spacingPlain      spacing = iota // an operation or a header
	spacingBox                       // of the header
	spacingExpression                // let, def and sums
)

func spacingOf(tokens []token) spacing {
	if len(tokens) < 2 || tokens[0].kind != tokenWord {
		return spacingPlain
	}
	first, second := tokens[0].spelling(), tokens[1]
	switch {
	case second.is("+=") || second.is("-="):
		return spacingExpression
	case (first == "let" || first == "def") && second.kind == tokenWord:
		return spacingExpression
	case first == "box" && second.is("("):
		return spacingBox
	}
	return spacingPlain
}

// spaced reports whether a space precedes token i > 0.
func (f spacing) spaced(tokens []token, i int) bool {
	before, t := tokens[i-1], tokens[i]
	switch {
	case t.is(between):
		return strings.HasSuffix(before.text, ".") // 0. ..1, since 0...1 would parse as 0 to .1
	case t.is(",") || t.is(")") || t.is("."):
		return false
	case before.is("(") || before.is(".") || before.is(between):
		return false
	case t.is("("):
		return f != spacingExpression || before.kind != tokenWord // calls have no space
	case before.is("-") || before.is("+"):
		return !f.unary(tokens, i-1)
	}
	return true
}

func (f spacing) unary(tokens []token, i int) bool {
	before := tokens[i-1]
	return f != spacingExpression || before.kind == tokenSign && !before.is(")")
}
