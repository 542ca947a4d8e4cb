package field

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// A token is a word, number or sign of a line.
type token struct {
	kind   tokenKind
	text   string  // without the lane
	value  float32 // of a number
	lane   int     // lane of a word like position.x: 0 to 3; otherwise wholeVector
	column int     // from 1
}

type tokenKind uint8

const (
	tokenEnd tokenKind = iota // end of line
	tokenWord
	tokenNumber
	tokenSign // one of = , ( )
)

const (
	between     = ".." // between the bounds of a range
	laneNames   = "xyzw"
	wholeVector = -1
)

func (t token) describe() string {
	if t.kind == tokenEnd {
		return "the line ends here"
	}
	return fmt.Sprintf("%q does not belong here", t.spelling())
}

func (t token) spelling() string {
	if t.lane != wholeVector {
		return t.text + "." + laneNames[t.lane:t.lane+1]
	}
	return t.text
}

func (t token) is(sign string) bool { return t.kind == tokenSign && t.text == sign }

// A line is a source line being scanned.
type line struct {
	source string
	number int // from 1
	at     int // offset of the next token
}

// catch recovers the error that ends parsing or lowering: a *SyntaxError.
func catch(err *error) {
	switch e := recover().(type) {
	case nil:
	case *SyntaxError:
		*err = e
	default:
		panic(e)
	}
}

// fail returns an error at a column of the line, to panic with: see catch.
func (l *line) fail(column int, expected, format string, args ...any) error {
	return &SyntaxError{
		Line: l.number, Column: column, Source: l.source[:min(len(l.source), MaxLineBytes)],
		Message: fmt.Sprintf(format, args...), Expected: expected,
	}
}

// unexpected is the error for a misplaced token.
func (l *line) unexpected(t token, expected string) error {
	return l.fail(t.column, expected, "%s", t.describe())
}

func (l *line) next() token {
	l.skipBlanks()
	start := l.at
	if start == len(l.source) || l.source[start] == '#' {
		l.at = len(l.source)
		return token{kind: tokenEnd, lane: wholeVector, column: start + 1}
	}
	switch c := l.source[start]; {
	case c == '=' || c == ',' || c == '(' || c == ')':
		l.at++
		return token{kind: tokenSign, text: l.source[start:l.at], lane: wholeVector, column: start + 1}
	case isLetter(c):
		return l.word(start)
	case isDigit(c) || c == '-' || c == '+' || c == '.':
		return l.numeral(start)
	}
	if strings.HasPrefix(l.source[start:], "//") {
		panic(l.fail(start+1, `"#"`, `"//" does not begin a comment`))
	}
	r, _ := utf8.DecodeRuneInString(l.source[start:])
	panic(l.fail(start+1, "a name, a number or a vector like (1, 2, 3, 0)", "unexpected character %q", r))
}

func (l *line) word(start int) token {
	for l.at < len(l.source) && (isLetter(l.source[l.at]) || isDigit(l.source[l.at])) {
		l.at++
	}
	t := token{kind: tokenWord, text: l.source[start:l.at], lane: wholeVector, column: start + 1}
	if len(t.text) > MaxNameBytes {
		panic(l.fail(t.column, "", "a name of %d bytes; at most %d are allowed", len(t.text), MaxNameBytes))
	}
	if l.at == len(l.source) || l.source[l.at] != '.' {
		return t
	}
	dot := l.at
	for l.at++; l.at < len(l.source) && (isLetter(l.source[l.at]) || isDigit(l.source[l.at])); {
		l.at++
	}
	lane := l.source[dot+1 : l.at]
	t.lane = laneOf(lane)
	if t.lane < 0 {
		panic(l.fail(dot+1, "x, y, z or w after the dot", "%q has no lane %q", t.text, lane))
	}
	return t
}

// numeral scans a decimal number, which must fit a float32: finite, and not rounded to
// zero.
func (l *line) numeral(start int) token {
	for l.at++; l.at < len(l.source); l.at++ {
		c, before := l.source[l.at], l.source[l.at-1]|0x20
		if strings.HasPrefix(l.source[l.at:], between) {
			break // 0..100 is two numbers
		}
		if !isDigit(c) && !isLetter(c) && c != '.' && (c != '-' && c != '+' || before != 'e') {
			break
		}
	}
	t := token{kind: tokenNumber, text: l.source[start:l.at], lane: wholeVector, column: start + 1}
	if !isDecimal(t.text) {
		panic(l.fail(t.column, "a number like 50, -1.5 or 2e3", "%q is not a number", t.text))
	}
	v, err := strconv.ParseFloat(t.text, 32)
	if err != nil {
		panic(l.fail(t.column, "at most 3.4028235e+38", "%s is too large for a float32", t.text))
	}
	if v == 0 && strings.ContainsAny(mantissa(t.text), "123456789") {
		panic(l.fail(t.column, "0, or at least 1e-45", "%s is too small for a float32", t.text))
	}
	t.value = float32(v)
	return t
}

// isDecimal reports whether s is [sign] digits [. digits] [e [sign] digits], where one
// of the first two groups may be missing. The language excludes ParseFloat's other
// forms (hexadecimal, underscores, inf).
func isDecimal(s string) bool {
	s = s[signs(s):]
	whole, fraction := digits(s), 0
	s = s[whole:]
	if s != "" && s[0] == '.' {
		fraction = digits(s[1:])
		s = s[1+fraction:]
	}
	if whole+fraction == 0 || s == "" {
		return whole+fraction > 0
	}
	if s[0] != 'e' && s[0] != 'E' {
		return false
	}
	s = s[1:]
	s = s[signs(s):]
	return s != "" && digits(s) == len(s)
}

func digits(s string) int { return len(s) - len(strings.TrimLeft(s, "0123456789")) }

func signs(s string) int {
	if s != "" && (s[0] == '+' || s[0] == '-') {
		return 1
	}
	return 0
}

func mantissa(s string) string {
	if i := strings.IndexAny(s, "eE"); i >= 0 {
		return s[:i]
	}
	return s
}

func isLetter(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_' }
func isDigit(c byte) bool  { return c >= '0' && c <= '9' }
