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
	last       line // last line of the text
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

// A declaration is a parameter's name and its position.
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

func parse(source string) *effectText {
	if len(source) > MaxSourceBytes {
		panic(&SyntaxError{Line: 1, Column: 1, Message: fmt.Sprintf("the effect has %d bytes", len(source)), Expected: fmt.Sprintf("at most %d", MaxSourceBytes)})
	}
	var p parser
	p.text.statements = make([]statement, 0, min(1+strings.Count(source, "\n"), MaxStatements))
	number := 0
	for text := range strings.SplitSeq(source, "\n") {
		number++
		l := line{source: strings.TrimSuffix(text, "\r"), number: number}
		if len(l.source) > MaxLineBytes {
			panic(l.fail(MaxLineBytes+1, fmt.Sprintf("at most %d", MaxLineBytes), "the line has %d bytes", len(l.source)))
		}
		p.line(&l)
		p.text.last = l
	}
	return &p.text
}

const lineForms = `"let name = ...", "output += ...", "name = op a, b", or a header line: effect, param, box, everywhere or def`

func (p *parser) line(l *line) {
	first := l.next()
	if first.kind == tokenEnd {
		return
	}
	if first.kind != tokenWord {
		panic(l.unexpected(first, lineForms))
	}
	if sign, ok := l.sumSign(); ok {
		p.sum(l, first, sign)
		return
	}
	after := l.at
	second := l.next()
	if second.is("=") {
		p.statement(l, first)
		return
	}
	l.at = after
	switch name := first.spelling(); {
	case name == "let" && second.kind == tokenWord:
		p.let(l)
	case name == "def" && second.kind == tokenWord:
		p.def(l)
	case name == "effect" || name == "param" || name == "box" || name == "everywhere":
		p.header(l, first)
	default:
		panic(l.fail(first.column, lineForms, "a line can't begin with %q", name))
	}
}

// statement parses the rest after `target =`.
func (p *parser) statement(l *line, target token) {
	s := statement{target: target, op: l.next()}
	if s.op.kind != tokenWord || s.op.lane != wholeVector {
		panic(l.unexpected(s.op, "an operation: "+operationNames+s.target.letHint()))
	}
	s.line = *l
	if l.atSign() {
		panic(l.fail(s.op.column, `"let `+target.text+` = ..."`, "an expression needs a let"))
	}
	if _, ok := operationOf(s.op.text); !ok {
		panic(s.unknownOperation())
	}
	for more := true; more; {
		s.operands = append(s.operands, l.operand())
		t := l.next()
		more = t.is(",")
		if !more && t.kind != tokenEnd {
			panic(l.unexpected(t, `"," and another operand, or the end of the line`))
		}
	}
	p.append(l, s)
}

func (p *parser) append(l *line, s statement) {
	if len(p.text.statements) == MaxStatements {
		panic(l.fail(s.target.column, "", "more than %d assignments", MaxStatements))
	}
	s.line = *l
	p.text.statements = append(p.text.statements, s)
}

func (l *line) operand() operandText {
	t := l.next()
	if t.kind == tokenWord {
		return operandText{token: t}
	}
	return operandText{t, l.literal(t)}
}

// literal parses a number, which stands for four equal lanes, or a vector.
func (l *line) literal(first token) Vec4 {
	switch {
	case first.kind == tokenNumber:
		v := first.value
		return Vec4{v, v, v, v}
	case first.is("("):
		return l.vector(4)
	}
	panic(l.unexpected(first, "a name, a number or a vector like (1, 2, 3, 0)"))
}

// vector parses the rest of three or four numbers in parentheses. A missing fourth is
// 0.
func (l *line) vector(most int) (v Vec4) {
	for i := range most {
		t := l.next()
		if t.kind != tokenNumber {
			panic(l.unexpected(t, "a number"))
		}
		v[i] = t.value
		t = l.next()
		switch {
		case t.is(")") && i >= 2:
			return v
		case t.is(",") && i < most-1:
		case i < 2:
			panic(l.unexpected(t, `"," and the next number`))
		default:
			panic(l.unexpected(t, `")"`))
		}
	}
	return v
}

func (p *parser) header(l *line, word token) {
	if len(p.text.statements) > 0 {
		panic(l.fail(word.column, "it before the first assignment", "%q belongs to the header", word.text))
	}
	switch word.text {
	case "effect":
		p.effect(l, word)
	case "param":
		p.param(l)
	default:
		p.region(l, word)
	}
	t := l.next()
	if t.kind != tokenEnd {
		panic(l.unexpected(t, "the end of the line"))
	}
}

// name parses a word that will name something.
func (l *line) name(what string) token {
	t := l.next()
	if t.kind != tokenWord || t.lane != wholeVector {
		panic(l.unexpected(t, what))
	}
	return t
}

func (p *parser) effect(l *line, word token) {
	if p.named {
		panic(l.fail(word.column, "one name", "the effect is already called %q", p.text.name))
	}
	p.named, p.text.name = true, l.name("the effect's name").text
}

func (p *parser) param(l *line) {
	t := l.name("the parameter's name")
	if isReserved(t.text) {
		panic(l.fail(t.column, "another name", "%q is built in", t.text))
	}
	for _, q := range p.text.params {
		if q.Name == t.text {
			panic(l.fail(t.column, "another name", "the parameter %q already exists", t.text))
		}
	}
	if len(p.text.params) == MaxParams {
		panic(l.fail(t.column, "", "more than %d parameters", MaxParams))
	}
	equals := l.next()
	if !equals.is("=") {
		panic(l.unexpected(equals, `"=" and the default`))
	}
	first := l.next()
	if first.kind == tokenWord {
		panic(l.unexpected(first, "a number or a vector like (1, 2, 3, 0)"))
	}
	v := l.literal(first)
	q := Param{Name: t.text, Default: v, Scalar: first.kind == tokenNumber}
	l.bounds(&q, first)
	p.text.params = append(p.text.params, q)
	p.text.declared = append(p.text.declared, declaration{*l, t.column})
}

// bounds parses ` in 0..100` after a default, if present.
func (l *line) bounds(q *Param, first token) {
	after := l.at
	word := l.next()
	if word.kind != tokenWord || word.spelling() != "in" {
		l.at = after
		return // no range: the caller checks the token
	}
	q.Bounded = true
	q.Min = l.bound()
	l.skipBlanks()
	if !strings.HasPrefix(l.source[l.at:], between) {
		panic(l.fail(l.at+1, `".." and the highest value`, "the range has one end"))
	}
	l.at += len(between)
	q.Max = l.bound()
	switch {
	case q.Min > q.Max:
		panic(l.fail(word.column, "the lowest value, then the highest", "the range %v to %v is empty", q.Min, q.Max))
	case !q.Allows(q.Default):
		panic(l.fail(first.column, fmt.Sprintf("%v to %v", q.Min, q.Max), "the default is outside of its own range"))
	}
}

func (l *line) bound() float32 {
	t := l.next()
	if t.kind != tokenNumber {
		panic(l.unexpected(t, "a range like 0..100"))
	}
	return t.value
}

// region parses `box (x,y,z) (x,y,z)`, with an optional comma, or `everywhere`.
func (p *parser) region(l *line, word token) {
	if p.place {
		panic(l.fail(word.column, "one box, or everywhere", "the effect already has a region"))
	}
	p.place = true
	if word.text == "everywhere" {
		return
	}
	low, high := l.corner(false), l.corner(true)
	for i := range 3 {
		if low[i] > high[i] {
			panic(l.fail(word.column, "the lowest corner, then the highest", "the box is inside out: %s from %v to %v", laneNames[i:i+1], low[i], high[i]))
		}
	}
	p.text.boxed, p.text.box = true, Box{low, high}
}

func (l *line) corner(comma bool) [3]float32 {
	t := l.next()
	if comma && t.is(",") {
		t = l.next()
	}
	if !t.is("(") {
		panic(l.unexpected(t, "a corner like (-5, 0, -5)"))
	}
	v := l.vector(3)
	return [3]float32(v[:])
}

// isReserved reports whether the language defines the name.
func isReserved(name string) bool {
	return name == "position" || name == "output" || name == "time"
}
