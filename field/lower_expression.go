package field

import (
	"fmt"
	"slices"
)

// A typed is an expression's value and kind.
type typed struct {
	term
	kind kind
}

// A scope is an expression being lowered: a statement's, or the body of a called
// function.
type scope struct {
	compiler *compiler
	line     *line
	function *function // the function whose body it is, or nil
	args     []typed
	call     *node  // the call, in the scope above
	above    *scope // nil for a statement
	depth    int    // number of scopes above
}

// fail is line.fail at a place in an expression. Errors inside a library function
// are reported at its call in the text.
func (f *scope) fail(n *node, expected, format string, args ...any) error {
	message := fmt.Sprintf(format, args...)
	for f.function != nil && f.function.library {
		message = "in " + f.function.name.text + ": " + message
		n, f = f.call, f.above
	}
	if f.function != nil && f.above != nil {
		bottom := f
		for bottom.above != nil {
			bottom = bottom.above
		}
		message += fmt.Sprintf(" (called in line %d)", bottom.line.number)
	}
	panic(f.line.fail(n.token.column, expected, "%s", message))
}

// lowerValue lowers an expression of any form.
func (f *scope) lowerValue(n *node) typed {
	if f.above != nil {
		f.spend(n, 1)
	}
	g := f.compiler.graph
	switch n.kind {
	case nodeNumber:
		return typed{g.numberTerm(n.token.value), kindNumber}
	case nodeName:
		return f.lowerName(n)
	case nodeLane:
		of := f.lowerValue(n.args[0])
		return typed{number(of.lanes[n.token.lane], of.reach), kindNumber}
	case nodeNegate:
		of := f.lowerValue(n.args[0])
		return typed{g.operate("neg", of.term), of.kind}
	case nodeBinary:
		return f.lowerBinary(n)
	case nodeVector:
		return f.lowerVector(n)
	case nodeCall:
		return f.lowerCall(n)
	}
	panic(f.comparisonIsNoValue(n))
}

// spend charges the work of functions: a short text can call many.
func (f *scope) spend(n *node, work int) {
	f.compiler.work += work
	if f.compiler.work > MaxWork {
		panic(f.fail(n, "fewer calls", "the effect's functions expand to more than %d parts", MaxWork))
	}
}

// pi converts radians to turns: sin(angle / (2 * pi)).
const pi = 3.1415927

func (f *scope) lowerName(n *node) typed {
	name := n.token.text
	if f.function != nil {
		if i := slices.Index(f.function.args, name); i >= 0 {
			return f.args[i]
		}
	} else if t, ok := f.compiler.names[name]; ok {
		return typed{t, f.compiler.kinds[name]}
	}
	if name == "pi" {
		return typed{f.compiler.graph.numberTerm(pi), kindNumber}
	}
	if name == "output" {
		panic(f.line.outputRead(n.token))
	}
	panic(f.compiler.undefinedName(f.line, n.token))
}

func (f *scope) lowerVector(n *node) typed {
	t := typed{term{lanes: splat(f.compiler.graph.literal(0))}, kindVector}
	for i, arg := range n.args {
		lane := f.lowerValue(arg)
		if lane.kind == kindVector {
			panic(f.fail(arg, "a number, like a.x", "%s of a vector must be a number, but this is a vector", laneNames[i:i+1]))
		}
		t.lanes[i], t.reach = lane.lanes[0], max(t.reach, lane.reach)
	}
	return t
}

// joined returns the kind of a lane-by-lane result. A number combined with a vector stands
// for four equal lanes.
func joined(v ...typed) kind {
	for _, t := range v {
		if t.kind == kindVector {
			return kindVector
		}
	}
	return kindNumber
}

func (f *scope) lowerBinary(n *node) typed {
	a, left := f.lowerFactors(n.args[0])
	b, right := f.lowerFactors(n.args[1])
	g := f.compiler.graph
	r := typed{kind: joined(a, b)}
	subtracted := n.token.text == "-"
	switch {
	case n.token.text == "*":
		r.term = g.operate("mul", a.term, b.term)
	case n.token.text == "/":
		r.term = g.operate("div", a.term, b.term)
	case left != nil && !subtracted:
		r.term = g.operate("mad", left.vector, left.factor, b.term)
	case left != nil && n.args[1].kind == nodeNumber:
		r.term = g.operate("mad", left.vector, left.factor, g.operate("neg", b.term))
	case right != nil && subtracted:
		r.term = g.operate("nmad", right.vector, right.factor, a.term)
	case right != nil:
		r.term = g.operate("mad", right.vector, right.factor, a.term)
	case subtracted:
		r.term = g.operate("sub", a.term, b.term)
	default:
		r.term = g.operate("add", a.term, b.term)
	}
	return r
}

// lowerFactors returns an expression's value and, if it is a product, its factors: a sum
// with it then becomes a mad.
func (f *scope) lowerFactors(n *node) (typed, *product) {
	if n.kind != nodeBinary || n.token.text != "*" {
		t := f.lowerValue(n)
		return t, t.of
	}
	a, b := f.lowerValue(n.args[0]), f.lowerValue(n.args[1])
	t := typed{f.compiler.graph.operate("mul", a.term, b.term), joined(a, b)}
	if t.of != nil {
		return t, t.of
	}
	return t, &product{a.term, b.term}
}

func (f *scope) lowerCall(n *node) typed {
	name := n.token.text
	if name == "select" {
		return f.lowerSelect(n)
	}
	fn := f.resolveCallee(n)
	args := make([]typed, len(n.args))
	for i, a := range n.args {
		args[i] = f.lowerValue(a)
	}
	if b, ok := builtinOf(name); ok {
		return f.lowerBuiltin(n, b, args)
	}
	if f.depth == MaxCalls {
		panic(f.fail(n, "", "function calls are nested deeper than %d", MaxCalls))
	}
	below := &scope{compiler: f.compiler, line: &fn.line, function: fn, args: args, call: n, above: f, depth: f.depth + 1}
	return below.lowerValue(fn.body)
}

func (f *scope) lowerBuiltin(n *node, b builtin, args []typed) typed {
	var v [4]term
	r := typed{kind: b.resultKind}
	for i, a := range args {
		if b.operandKind == kindVector && a.kind != kindVector {
			panic(f.fail(n.args[i], "a vector like (x, y, z)", "%s takes vectors, but this is a number", n.token.text))
		}
		v[i] = a.term
	}
	if r.kind == kindEither {
		r.kind = joined(args...)
	}
	f.spend(n, b.work)
	r.term = b.lower(f.compiler.graph, v)
	return r
}

// lowerSelect lowers select(a < b, this, that).
func (f *scope) lowerSelect(n *node) typed {
	parts := f.selectParts(n)
	var v [4]typed
	for i, p := range parts {
		v[i] = f.lowerValue(p)
	}
	sign, operation := n.args[0].token.text, "select_ge"
	if sign == ">" || sign == "<=" {
		v[0], v[1] = v[1], v[0]
	}
	if sign == "<" || sign == ">" {
		operation = "select_lt"
	}
	return typed{f.compiler.graph.operate(operation, v[0].term, v[1].term, v[2].term, v[3].term), joined(v[:]...)}
}

// selectParts returns the two compared and the two selected expressions.
func (f *scope) selectParts(n *node) [4]*node {
	const form = "select(a < b, this, that); or >, <=, >="
	if len(n.args) != 3 {
		panic(f.fail(n, form, "select has %d arguments", len(n.args)))
	}
	compare := n.args[0]
	if compare.kind != nodeCompare {
		panic(f.fail(compare, form, "select must begin with a comparison"))
	}
	return [4]*node{compare.args[0], compare.args[1], n.args[1], n.args[2]}
}

func (f *scope) comparisonIsNoValue(n *node) error {
	return f.fail(n, "select(a < b, this, that)", "a comparison is not a value")
}

// resolveCallee resolves a called name to a function of the text, a function of the library,
// or (nil) a builtin, and checks the number of arguments.
func (f *scope) resolveCallee(n *node) *function {
	name := n.token.text
	b, isBuiltin := builtinOf(name)
	want := b.operands
	var fn *function
	if !isBuiltin {
		fn = f.compiler.function(name, f.function)
		if fn == nil {
			panic(f.fail(n, f.compiler.suggestFunction(name), "there is no function %s", name))
		}
		want = len(fn.args)
	}
	if have := len(n.args); have != want {
		panic(f.fail(n, fmt.Sprintf("%d", want), "%s has %d arguments", name, have))
	}
	return fn
}
