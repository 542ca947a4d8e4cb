package field

import (
	"slices"
	"strings"
)

// A function names an expression with arguments. Its body can use only these and
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

// letHint suggests a let that was forgotten before a name.
func (t token) letHint() string {
	return `, or "let ` + t.text + ` = ..." for an expression`
}

// sum parses the rest after `output +=`.
func (p *parser) sum(l *line, target, sign token) error {
	if target.text != "output" {
		return l.fail(target.column, `"output `+sign.text+` ..."`, "only output can be added to")
	}
	if target.lane == 3 {
		return l.fail(target.column, "x, y or z", "output has no w")
	}
	body, err := l.expression()
	if err != nil {
		return err
	}
	return p.append(l, statement{form: formSum, target: target, op: sign, body: body})
}

// let parses the rest after `let`.
func (p *parser) let(l *line) error {
	name, err := l.name("the name of a value")
	if err != nil {
		return err
	}
	if err := l.sign("="); err != nil {
		return err
	}
	body, err := l.expression()
	if err != nil {
		return err
	}
	return p.append(l, statement{form: formLet, target: name, body: body})
}

// def parses the rest after `def`: `name(a, b) = body`.
func (p *parser) def(l *line) error {
	f, err := l.function()
	if err != nil {
		return err
	}
	if _, ok := builtinOf(f.name.text); ok {
		return l.fail(f.name.column, "another name", "the function %s is built in", f.name.text)
	}
	for _, g := range p.text.functions {
		if g.name.text == f.name.text {
			return l.fail(f.name.column, "another name", "the function %s is already defined in line %d", f.name.text, g.line.number)
		}
	}
	if len(p.text.functions) == MaxFunctions {
		return l.fail(f.name.column, "", "more than %d functions", MaxFunctions)
	}
	p.text.functions = append(p.text.functions, f)
	return nil
}

// function parses `name(a, b) = body`.
func (l *line) function() (*function, error) {
	name, err := l.name("the function's name")
	if err != nil {
		return nil, err
	}
	f := &function{name: name}
	if err := l.sign("("); err != nil {
		return nil, err
	}
	for more := true; more; {
		a, err := l.name("an argument's name")
		if err != nil {
			return nil, err
		}
		if slices.Contains(f.args, a.text) {
			return nil, l.fail(a.column, "another name", "the argument %s already exists", a.text)
		}
		if len(f.args) == MaxArguments {
			return nil, l.fail(a.column, "", "more than %d arguments", MaxArguments)
		}
		f.args = append(f.args, a.text)
		t, err := l.next()
		if err != nil {
			return nil, err
		}
		if more = t.is(","); !more && !t.is(")") {
			return nil, l.unexpected(t, `"," or ")"`)
		}
	}
	if err := l.sign("="); err != nil {
		return nil, err
	}
	if f.body, err = l.expression(); err != nil {
		return nil, err
	}
	f.line = *l
	return f, nil
}

// sign scans a required sign.
func (l *line) sign(want string) error {
	t, err := l.next()
	if err == nil && !t.is(want) {
		err = l.unexpected(t, `"`+want+`"`)
	}
	return err
}
