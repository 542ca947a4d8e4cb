package field

import (
	"slices"
	"strings"
)

// A function names an expression with arguments. Its body can use only its arguments and
// earlier functions, so it means the same in every effect.
type function struct {
	name    token
	line    line
	args    []string
	body    *node
	library bool // from the library, not the text
}

// sumSign scans += or -=, if it is next.
func (l *line) sumSign() (token, bool) {
	l.skipBlanks()
	t := token{kind: tokenSign, lane: wholeVector, column: l.at + 1}
	for _, t.text = range []string{"+=", "-="} {
		if strings.HasPrefix(l.source[l.at:], t.text) {
			l.at += len(t.text)
			return t, true
		}
	}
	return t, false
}

// atSign reports whether an expression follows rather than an operation: a parenthesis
// at once, or a separate sign.
func (l *line) atSign() bool {
	if strings.HasPrefix(l.source[l.at:], "(") {
		return true
	}
	rest := strings.TrimLeft(l.source[l.at:], " \t")
	if rest == "" || strings.IndexByte("+-*/", rest[0]) < 0 {
		return false
	}
	return rest[0] == '*' || rest[0] == '/' || len(rest) > 1 && !isDigit(rest[1]) && rest[1] != '.'
}

// letHint suggests the missing let before a name.
func (t token) letHint() string {
	return `, or "let ` + t.text + ` = ..." for an expression`
}

// sum parses the rest after `output +=`.
func (p *parser) sum(l *line, target, sign token) {
	if target.text != "output" {
		panic(l.fail(target.column, `"output `+sign.text+` ..."`, "only output can be added to"))
	}
	if target.lane == 3 {
		panic(l.fail(target.column, "x, y or z", "output has no w"))
	}
	p.append(l, statement{form: formSum, target: target, op: sign, body: l.expression()})
}

// let parses the rest after `let`.
func (p *parser) let(l *line) {
	name := l.name("the name of a value")
	l.sign("=")
	p.append(l, statement{form: formLet, target: name, body: l.expression()})
}

// def parses the rest after `def`: `name(a, b) = body`.
func (p *parser) def(l *line) {
	f := l.function()
	if _, ok := builtinOf(f.name.text); ok {
		panic(l.fail(f.name.column, "another name", "the function %s is built in", f.name.text))
	}
	for _, g := range p.text.functions {
		if g.name.text == f.name.text {
			panic(l.fail(f.name.column, "another name", "the function %s is already defined in line %d", f.name.text, g.line.number))
		}
	}
	if len(p.text.functions) == MaxFunctions {
		panic(l.fail(f.name.column, "", "more than %d functions", MaxFunctions))
	}
	p.text.functions = append(p.text.functions, f)
}

// function parses `name(a, b) = body`.
func (l *line) function() *function {
	f := &function{name: l.name("the function's name")}
	l.sign("(")
	for more := true; more; {
		a := l.name("an argument's name")
		if slices.Contains(f.args, a.text) {
			panic(l.fail(a.column, "another name", "the argument %s already exists", a.text))
		}
		if len(f.args) == MaxArguments {
			panic(l.fail(a.column, "", "more than %d arguments", MaxArguments))
		}
		f.args = append(f.args, a.text)
		t := l.next()
		more = t.is(",")
		if !more && !t.is(")") {
			panic(l.unexpected(t, `"," or ")"`))
		}
	}
	l.sign("=")
	f.body = l.expression()
	f.line = *l
	return f
}

// sign scans a required sign.
func (l *line) sign(want string) {
	if t := l.next(); !t.is(want) {
		panic(l.unexpected(t, `"`+want+`"`))
	}
}
