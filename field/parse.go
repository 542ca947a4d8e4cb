package field

import (
	"fmt"
	"strings"
)

// An effectText is a parsed text: well-formed, but with names and operations not yet
// resolved.
type effectText struct {
	name       string
	params     []Param
	declared   []declaration // of parameters, in order
	functions  []*function
	boxed      bool
	box        Box
	statements []statement
	last       line // the end of the text
}

// A statement is `target = op operand, operand`, or, with an expression, `let target =
// body`, `output += body` or `output -= body`.
type statement struct {
	line     line
	form     statementForm
	target   token
	op       token // the operation or sign
	operands []operandText
	body     *node
}

// A declaration is the position of a parameter's name.
type declaration struct {
	line   line
	column int
}

type statementForm uint8

const (
	formOperation statementForm = iota
	formLet
	formSum
)

// An operandText is a name or a literal.
type operandText struct {
	token token // a word, or the literal's first token
	value Vec4  // of a literal
}

type parser struct {
	text  effectText
	named bool // an effect line was parsed
	place bool // a box or everywhere was parsed
}

// parse parses an effect. An error is a *SyntaxError.
func parse(source string) (*effectText, error) {
	if len(source) > MaxSourceBytes {
		return nil, &SyntaxError{Line: 1, Column: 1, Message: fmt.Sprintf("the effect has %d bytes", len(source)), Expected: fmt.Sprintf("at most %d", MaxSourceBytes)}
	}
	var p parser
	p.text.statements = make([]statement, 0, min(1+strings.Count(source, "\n"), MaxStatements))
	number := 0
	for text := range strings.SplitSeq(source, "\n") {
		number++
		l := line{source: strings.TrimSuffix(text, "\r"), number: number}
		if len(l.source) > MaxLineBytes {
			return nil, l.fail(MaxLineBytes+1, fmt.Sprintf("at most %d", MaxLineBytes), "the line has %d bytes", len(l.source))
		}
		if err := p.line(&l); err != nil {
			return nil, err
		}
		p.text.last = l
	}
	return &p.text, nil
}

const lineForms = `"let name = ...", "output += ...", "name = op a, b", or a header line: effect, param, box, everywhere or def`

func (p *parser) line(l *line) error {
	first, err := l.next()
	if err != nil || first.kind == tokenEnd {
		return err
	}
	if first.kind != tokenWord {
		return l.unexpected(first, lineForms)
	}
	if sign, ok := l.sumSign(); ok {
		return p.sum(l, first, sign)
	}
	after := l.at
	second, err := l.next()
	if err != nil {
		return err
	}
	if second.is("=") {
		return p.statement(l, first)
	}
	l.at = after
	if second.kind == tokenWord {
		switch first.spelling() {
		case "let":
			return p.let(l)
		case "def":
			return p.def(l)
		}
	}
	if first.lane == wholeVector {
		switch first.text {
		case "effect", "param", "box", "everywhere":
			return p.header(l, first)
		}
	}
	return l.fail(first.column, lineForms, "a line can't begin with %q", first.spelling())
}

// statement parses the rest after `target =`.
func (p *parser) statement(l *line, target token) error {
	s := statement{target: target}
	var err error
	if s.op, err = l.next(); err != nil {
		return err
	}
	if s.op.kind != tokenWord || s.op.lane != wholeVector {
		return l.unexpected(s.op, "an operation: "+operationNames+s.target.letHint())
	}
	s.line = *l
	if l.atSign() {
		return l.fail(s.op.column, `"let `+target.text+` = ..."`, "an expression needs a let")
	}
	if _, ok := operationOf(s.op.text); !ok {
		return s.unknownOperation()
	}
	for more := true; more; {
		o, err := l.operand()
		if err != nil {
			return err
		}
		s.operands = append(s.operands, o)
		t, err := l.next()
		if err != nil {
			return err
		}
		if more = t.is(","); !more && t.kind != tokenEnd {
			return l.unexpected(t, `"," and another operand, or the end of the line`)
		}
	}
	return p.append(l, s)
}

func (p *parser) append(l *line, s statement) error {
	if len(p.text.statements) == MaxStatements {
		return l.fail(s.target.column, "", "more than %d assignments", MaxStatements)
	}
	s.line = *l
	p.text.statements = append(p.text.statements, s)
	return nil
}

// operand parses a name, a number or a vector.
func (l *line) operand() (operandText, error) {
	t, err := l.next()
	if err != nil {
		return operandText{}, err
	}
	if t.kind == tokenWord {
		return operandText{token: t}, nil
	}
	v, err := l.literal(t)
	return operandText{t, v}, err
}

// literal parses a number, which stands for four equal lanes, or a vector.
func (l *line) literal(first token) (Vec4, error) {
	switch {
	case first.kind == tokenNumber:
		v := first.value
		return Vec4{v, v, v, v}, nil
	case first.is("("):
		v, err := l.vector(4)
		return Vec4(v[:]), err
	}
	return Vec4{}, l.unexpected(first, "a name, a number or a vector like (1, 2, 3, 0)")
}

// vector parses the rest of three or four numbers in parentheses. A missing fourth is
// 0.
func (l *line) vector(most int) (v [4]float32, err error) {
	for i := range most {
		t, err := l.next()
		if err != nil {
			return v, err
		}
		if t.kind != tokenNumber {
			return v, l.unexpected(t, "a number")
		}
		v[i] = t.value
		if t, err = l.next(); err != nil {
			return v, err
		}
		switch {
		case t.is(")") && i >= 2:
			return v, nil
		case t.is(",") && i < most-1:
		case i < 2:
			return v, l.unexpected(t, `"," and the next number`)
		default:
			return v, l.unexpected(t, `")"`)
		}
	}
	return v, nil
}

func (p *parser) header(l *line, word token) error {
	if len(p.text.statements) > 0 {
		return l.fail(word.column, "it before the first assignment", "%q belongs to the header", word.text)
	}
	var err error
	switch word.text {
	case "effect":
		err = p.effect(l, word)
	case "param":
		err = p.param(l)
	default:
		err = p.region(l, word)
	}
	if err != nil {
		return err
	}
	t, err := l.next()
	if err != nil {
		return err
	}
	if t.kind != tokenEnd {
		return l.unexpected(t, "the end of the line")
	}
	return nil
}

// name parses a word that will name something.
func (l *line) name(what string) (token, error) {
	t, err := l.next()
	if err == nil && (t.kind != tokenWord || t.lane != wholeVector) {
		err = l.unexpected(t, what)
	}
	return t, err
}

func (p *parser) effect(l *line, word token) error {
	if p.named {
		return l.fail(word.column, "one name", "the effect is already called %q", p.text.name)
	}
	t, err := l.name("the effect's name")
	p.named, p.text.name = true, t.text
	return err
}

func (p *parser) param(l *line) error {
	t, err := l.name("the parameter's name")
	if err != nil {
		return err
	}
	if isReserved(t.text) {
		return l.fail(t.column, "another name", "%q is built in", t.text)
	}
	for _, q := range p.text.params {
		if q.Name == t.text {
			return l.fail(t.column, "another name", "the parameter %q already exists", t.text)
		}
	}
	if len(p.text.params) == MaxParams {
		return l.fail(t.column, "", "more than %d parameters", MaxParams)
	}
	equals, err := l.next()
	if err != nil {
		return err
	}
	if !equals.is("=") {
		return l.unexpected(equals, `"=" and the default`)
	}
	first, err := l.next()
	if err != nil {
		return err
	}
	if first.kind == tokenWord {
		return l.unexpected(first, "a number or a vector like (1, 2, 3, 0)")
	}
	v, err := l.literal(first)
	if err != nil {
		return err
	}
	q := Param{Name: t.text, Default: v, Scalar: first.kind == tokenNumber}
	if err := l.bounds(&q, first); err != nil {
		return err
	}
	p.text.params = append(p.text.params, q)
	p.text.declared = append(p.text.declared, declaration{*l, t.column})
	return nil
}

// bounds parses ` in 0..100` after a default, if present.
func (l *line) bounds(q *Param, first token) error {
	after := l.at
	word, err := l.next()
	if err != nil || word.kind != tokenWord || word.spelling() != "in" {
		l.at = after
		return nil // the caller checks the token
	}
	q.Bounded = true
	if q.Min, err = l.bound(); err != nil {
		return err
	}
	l.skipBlanks()
	if !strings.HasPrefix(l.source[l.at:], between) {
		return l.fail(l.at+1, `".." and the highest value`, "the range has one end")
	}
	l.at += len(between)
	if q.Max, err = l.bound(); err != nil {
		return err
	}
	switch {
	case q.Min > q.Max:
		return l.fail(word.column, "the lowest value, then the highest", "the range %v to %v is empty", q.Min, q.Max)
	case !q.Allows(q.Default):
		return l.fail(first.column, fmt.Sprintf("%v to %v", q.Min, q.Max), "the default is outside of its own range")
	}
	return nil
}

func (l *line) bound() (float32, error) {
	t, err := l.next()
	if err == nil && t.kind != tokenNumber {
		err = l.unexpected(t, "a range like 0..100")
	}
	return t.value, err
}

// region parses `box (x,y,z) (x,y,z)`, with an optional comma, or `everywhere`.
func (p *parser) region(l *line, word token) error {
	if p.place {
		return l.fail(word.column, "one box, or everywhere", "the effect already has a region")
	}
	p.place = true
	if word.text == "everywhere" {
		return nil
	}
	low, err := l.corner(false)
	if err != nil {
		return err
	}
	high, err := l.corner(true)
	if err != nil {
		return err
	}
	for i := range 3 {
		if low[i] > high[i] {
			return l.fail(word.column, "the lowest corner, then the highest", "the box is inside out: %s from %v to %v", laneNames[i:i+1], low[i], high[i])
		}
	}
	p.text.boxed, p.text.box = true, Box{low, high}
	return nil
}

func (l *line) corner(comma bool) (v [3]float32, err error) {
	t, err := l.next()
	if err == nil && comma && t.is(",") {
		t, err = l.next()
	}
	if err != nil {
		return v, err
	}
	if !t.is("(") {
		return v, l.unexpected(t, "a corner like (-5, 0, -5)")
	}
	four, err := l.vector(3)
	return [3]float32(four[:3]), err
}

// isReserved reports whether the language defines the name.
func isReserved(name string) bool {
	return name == "position" || name == "output" || name == "time"
}
