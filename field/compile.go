package field

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Compile compiles the text of an effect: see LANGUAGE.md. An error is a *SyntaxError.
// The time is linear in the text, which may come from an untrusted source.
func Compile(source string) (p *Program, err error) {
	defer catch(&err)
	text := parse(source)
	c := newCompiler(text)
	c.lower(text)
	p, _ = assemble(text, c.graph)
	return p, nil
}

// assemble allocates registers and returns the program, with the graph it used. If
// registers run out, it retries with values recomputed.
func assemble(text *effectText, g *graph) (*Program, *graph) {
	program := func() *Program {
		return &Program{name: text.name, params: text.params, box: text.box, boxed: text.boxed}
	}
	p := program()
	at, why := p.allocate(g)
	if why == "" {
		return p.seal(), g
	}
	g = g.recomputed()
	if g != nil {
		p = program()
		if _, still := p.allocate(g); still == "" {
			return p.seal(), g
		}
	}
	panic(text.lineOf(at).fail(1, "a simpler effect", "%s", why))
}

// lineOf returns a statement's line by number. Faults before the first line concern the
// whole text and are reported at its last line.
func (t *effectText) lineOf(number int32) *line {
	for i := range t.statements {
		if l := &t.statements[i].line; l.number == int(number) {
			return l
		}
	}
	return &t.last
}

// A compiler holds the names defined so far.
type compiler struct {
	graph     *graph
	names     map[string]term
	kinds     map[string]kind // kinds of names, for expressions
	params    map[string]bool
	functions []*function          // defined by the text
	library   map[string]*function // looked up so far; nil if not in the library
	work      int                  // function parts lowered so far
}

func newCompiler(text *effectText) *compiler {
	room := valuesPerStatement * len(text.statements)
	g := &graph{known: make(map[valueKey]valueID, room), values: make([]value, 0, room), lines: make([]int32, 0, room)}
	c := &compiler{graph: g, names: make(map[string]term, len(text.statements)), params: map[string]bool{}, library: map[string]*function{}}
	c.kinds = map[string]kind{"position": kindVector, "time": kindNumber}
	c.names["position"] = term{lanes: vector{g.position(0), g.position(1), g.position(2), g.literal(0)}, reach: givenReach}
	c.names["time"] = number(g.uniform(uniformTime), givenReach)
	for i, p := range text.params {
		c.params[p.Name] = true
		first := uniformParams + 4*i
		if p.Scalar {
			c.names[p.Name], c.kinds[p.Name] = number(g.uniform(first), givenReach), kindNumber
			continue
		}
		var v vector
		for lane := range v {
			v[lane] = g.uniform(first + lane)
		}
		c.names[p.Name], c.kinds[p.Name] = term{lanes: v, reach: givenReach}, kindVector
	}
	return c
}

func (c *compiler) lower(text *effectText) {
	for _, f := range text.functions {
		c.define(f)
	}
	for i := range text.statements {
		c.lowerStatement(&text.statements[i])
	}
	switch {
	case c.graph.sums > 0:
	case c.graph.empty > 0:
		c.graph.addEmptySum()
	default:
		panic(text.last.fail(1, `a line like "output += wind", or "output = add output, wind"`, "the effect never adds to output, so it does nothing"))
	}
}

func (c *compiler) lowerStatement(s *statement) {
	c.graph.line = int32(s.line.number)
	name := s.target.text
	switch {
	case s.form == formSum:
		c.lowerSumExpression(s)
	case name == "output" && s.form == formOperation:
		c.lowerSum(s)
	case isReserved(name):
		panic(s.line.fail(s.target.column, "another name", "%s is built in and can't be assigned to", name))
	case c.params[name]:
		panic(s.line.fail(s.target.column, "another name", "%s is a parameter and can't be assigned to", name))
	case s.form == formLet:
		c.lowerLet(s)
	default:
		c.lowerAssignment(s)
	}
}

// lowerAssignment lowers `name = op a, b`.
func (c *compiler) lowerAssignment(s *statement) {
	name := s.target.text
	o, _ := operationOf(s.op.text) // checked by the parser
	s.checkArity(o.operands)
	var operands [4]term
	for i := range s.operands {
		operands[i] = c.lowerOperand(s, i)
	}
	kind := c.kindOf(s)
	result := c.graph.apply(o, operands)
	if lane := s.target.lane; lane != wholeVector {
		old, ok := c.names[name]
		if !ok {
			panic(c.undefinedName(&s.line, s.target))
		}
		old.lanes[lane] = result.lanes[lane]
		result, kind = term{lanes: old.lanes, reach: max(old.reach, result.reach)}, kindVector
	}
	c.names[name], c.kinds[name] = result, kind
}

// lowerSum lowers an assignment to the output. Sums are the only use of the output, so a
// field is the sum of its effects (F4).
func (c *compiler) lowerSum(s *statement) {
	o, ok := accumulates(s.op.text)
	at := o.accumulator()
	if !ok || len(s.operands) > at && (s.operands[at].token.text != "output" || s.operands[at].token.lane != s.target.lane) {
		out := s.target.spelling()
		panic(s.line.fail(s.op.column, fmt.Sprintf(`"%s = add %[1]s, a", sub, or with a product "%[1]s = mad a, b, %[1]s", nmad`, out),
			"%s can only be added to", out))
	}
	s.checkArity(o.operands())
	if s.target.lane == 3 {
		panic(s.line.fail(s.target.column, "x, y or z", "output has no w"))
	}
	var operands [4]term
	for i := range s.operands {
		if i == at {
			operands[i] = term{lanes: splat(theOutput)}
			continue
		}
		operands[i] = c.lowerOperand(s, i)
	}
	c.lowerAccumulation(o, s.target.lane, operands)
}

func (s *statement) unknownOperation() error {
	guess := suggestion(s.op.text, strings.Split(operationNames, ", "))
	return s.line.fail(s.op.column, guess+"one of "+operationNames+s.target.letHint(), "there is no operation %q", s.op.text)
}

// checkArity checks the number of operands.
func (s *statement) checkArity(want int) {
	switch have := len(s.operands); {
	case have > want:
		panic(s.line.fail(s.operands[want].token.column, fmt.Sprintf("%d in all", want), "%s has too many operands", s.op.text))
	case have < want:
		end := len(strings.TrimRight(s.line.source[:s.line.end()], " \t")) + 1
		panic(s.line.fail(end, fmt.Sprintf(`"," and another operand, %d in all`, want), "%s has too few operands", s.op.text))
	}
}

// end is the column of the comment or of the line's end.
func (l *line) end() int {
	if i := strings.IndexByte(l.source, '#'); i >= 0 {
		return i
	}
	return len(l.source)
}

func (c *compiler) lowerOperand(s *statement, i int) term {
	o := &s.operands[i]
	if o.token.kind != tokenWord {
		return c.graph.literalTerm(o.value)
	}
	if o.token.text == "output" {
		panic(s.line.outputRead(o.token))
	}
	v, ok := c.names[o.token.text]
	if !ok {
		panic(c.undefinedName(&s.line, o.token))
	}
	if o.token.lane != wholeVector {
		v = number(v.lanes[o.token.lane], v.reach)
	}
	return v
}

// outputRead is the error for reading the output.
func (l *line) outputRead(t token) error {
	return l.fail(t.column, "a name, a number or a vector", "output can't be read: effects are independent of each other")
}

// undefinedName is the error for an undefined name.
func (c *compiler) undefinedName(l *line, t token) error {
	const most = 12
	known := slices.Sorted(maps.Keys(c.names))
	guess := suggestion(t.text, known)
	if len(known) > most {
		known = append(known[:most], "...")
	}
	return l.fail(t.column, guess+"a name that a line above defines: "+strings.Join(known, ", "), "%s is not defined", t.text)
}
