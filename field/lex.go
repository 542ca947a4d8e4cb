package field

import (
	"fmt"
	"math"
	"strconv"
)

// token is one word, number or sign of a line.
type token struct {
	kind   tokenKind
	text   string
	value  float32 // of a number
	column int     // from 1
}

type tokenKind uint8

const (
	tokenEnd tokenKind = iota
	tokenName
	tokenNumber
	tokenSign // one of = , ( )
)

// describe names the token for an error.
func (t token) describe() string {
	if t.kind == tokenEnd {
		return "the line ends"
	}
	return fmt.Sprintf("unexpected %q", t.text)
}

// line is one line of source being read.
type line struct {
	source string
	number int
	at     int // byte of the next token
}

// fail makes the error of a place in the line.
func (l *line) fail(column int, expected, format string, args ...any) error {
	return &SyntaxError{Line: l.number, Column: column, Source: l.source, Message: fmt.Sprintf(format, args...), Expected: expected}
}

// next reads a token.
func (l *line) next() (token, error) {
	for l.at < len(l.source) && (l.source[l.at] == ' ' || l.source[l.at] == '\t' || l.source[l.at] == '\r') {
		l.at++
	}
	start := l.at
	if start == len(l.source) || l.source[start] == '#' {
		l.at = len(l.source)
		return token{kind: tokenEnd, column: start + 1}, nil
	}
	switch c := l.source[start]; {
	case c == '=' || c == ',' || c == '(' || c == ')':
		l.at++
		return token{kind: tokenSign, text: l.source[start:l.at], column: start + 1}, nil
	case isLetter(c):
		for l.at < len(l.source) && (isLetter(l.source[l.at]) || isDigit(l.source[l.at])) {
			l.at++
		}
		t := token{kind: tokenName, text: l.source[start:l.at], column: start + 1}
		if len(t.text) > MaxName {
			return t, l.fail(t.column, "", "a name of %d bytes, at most %d are allowed", len(t.text), MaxName)
		}
		return t, nil
	case isDigit(c) || c == '-' || c == '+' || c == '.':
		return l.number32(start)
	default:
		return token{}, l.fail(start+1, "a name, a number or a vector", "the character %q means nothing here", rune(c))
	}
}

// number32 reads a number, which must be a finite float32.
func (l *line) number32(start int) (token, error) {
	l.at++
	for l.at < len(l.source) {
		c, before := l.source[l.at], l.source[l.at-1]
		exponentSign := (c == '-' || c == '+') && (before == 'e' || before == 'E')
		if !isDigit(c) && !isLetter(c) && c != '.' && !exponentSign {
			break
		}
		l.at++
	}
	t := token{kind: tokenNumber, text: l.source[start:l.at], column: start + 1}
	v, err := strconv.ParseFloat(t.text, 32)
	if err != nil || math.IsInf(v, 0) || v != v {
		return t, l.fail(t.column, "a number like -1.5 or 2e3, within float32", "%q is not a number that fits", t.text)
	}
	t.value = float32(v)
	return t, nil
}

func isLetter(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_' }
func isDigit(c byte) bool  { return c >= '0' && c <= '9' }

// sign reads one particular sign.
func (l *line) sign(want, after string) error {
	t, err := l.next()
	if err != nil {
		return err
	}
	if t.kind != tokenSign || t.text != want {
		return l.fail(t.column, fmt.Sprintf("%q %s", want, after), "%s", t.describe())
	}
	return nil
}

// end checks that nothing but a comment follows.
func (l *line) end() error {
	t, err := l.next()
	if err != nil {
		return err
	}
	if t.kind != tokenEnd {
		return l.fail(t.column, "the end of the line", "%s", t.describe())
	}
	return nil
}

// name reads a name.
func (l *line) name(what string) (token, error) {
	t, err := l.next()
	if err == nil && t.kind != tokenName {
		err = l.fail(t.column, what, "%s", t.describe())
	}
	return t, err
}

// vector reads the rest of a literal of three or four numbers, after its "(".
// A fourth lane that is left out is 0.
func (l *line) vector(most int) (v [4]float32, err error) {
	for i := range most {
		t, err := l.next()
		if err != nil {
			return v, err
		}
		if t.kind != tokenNumber {
			return v, l.fail(t.column, "a number", "%s", t.describe())
		}
		v[i] = t.value
		sign, err := l.next()
		if err != nil {
			return v, err
		}
		closes := sign.kind == tokenSign && sign.text == ")"
		if closes && i >= 2 {
			return v, nil
		}
		if closes || sign.kind != tokenSign || sign.text != "," || i == most-1 {
			expected := `"," and then the next number`
			if i == most-1 {
				expected = `")"`
			}
			return v, l.fail(sign.column, expected, "%s after %d of %s numbers", sign.describe(), i+1, counts(most))
		}
	}
	return v, nil
}

func counts(most int) string {
	if most == 3 {
		return "3"
	}
	return "3 or 4"
}
