package field

import (
	"fmt"
	"slices"
	"strings"
)

// Compile makes a program of the text of an effect; the package comment has the
// language. An error is a *SyntaxError. It takes time in proportion to the text,
// which may come from anybody.
func Compile(source string) (*Program, error) {
	text, err := parse(source)
	if err != nil {
		return nil, err
	}
	c := newCompiler(text)
	for i := range text.statements {
		if err := c.statement(&text.statements[i]); err != nil {
			return nil, err
		}
	}
	if c.graph.sums == 0 {
		return nil, text.last.fail(1, `a line like "output = add output, wind"`, "the effect never adds to output, so it does nothing")
	}
	p := &Program{name: text.name, params: text.params, box: text.box, boxed: text.boxed}
	if at, why := p.allocate(c.graph); why != "" {
		l := text.lineOf(at)
		return nil, l.fail(1, "a simpler effect", "%s", why)
	}
	return p.seal(), nil
}

// lineOf finds the line of a statement by its number. What was there before the
// first line is the fault of the whole text: its last line stands for that.
func (t *effectText) lineOf(number int32) *line {
	for i := range t.statements {
		if l := &t.statements[i].line; l.number == int(number) {
			return l
		}
	}
	return &t.last
}

// A compiler knows what the names mean at the place that it has come to.
type compiler struct {
	graph  *graph
	names  map[string]term
	params map[string]bool
}

func newCompiler(text *effectText) *compiler {
	g := &graph{known: map[value]valueID{}}
	c := &compiler{graph: g, names: map[string]term{}, params: map[string]bool{}}
	c.names["position"] = term{lanes: vector{g.position(0), g.position(1), g.position(2), g.literal(0)}, reach: givenReach}
	c.names["time"] = number(g.uniform(uniformTime), givenReach)
	for i, p := range text.params {
		var v vector
		for lane := range v {
			v[lane] = g.uniform(uniformParams + 4*i + lane)
		}
		c.names[p.Name], c.params[p.Name] = term{lanes: v, reach: givenReach}, true
	}
	return c
}

func (c *compiler) statement(s *statement) error {
	c.graph.line = int32(s.line.number)
	name := s.target.text
	switch {
	case name == "output":
		return c.sum(s)
	case isReserved(name):
		return s.line.fail(s.target.column, "another name", "%s is given and can't be assigned to", name)
	case c.params[name]:
		return s.line.fail(s.target.column, "another name", "%s is a parameter and can't be assigned to", name)
	}
	o, ok := operationOf(s.op.text)
	if !ok {
		return s.unknownOperation()
	}
	if err := s.arity(o.operands); err != nil {
		return err
	}
	var operands [4]term
	for i := range s.operands {
		var err error
		if operands[i], err = c.operand(s, i); err != nil {
			return err
		}
	}
	result := c.graph.apply(o, operands)
	if lane := s.target.lane; lane != wholeVector {
		old, ok := c.names[name]
		if !ok {
			return c.unknown(s, s.target)
		}
		old.lanes[lane] = result.lanes[lane]
		result = term{lanes: old.lanes, reach: max(old.reach, result.reach)}
	}
	c.names[name] = result
	return nil
}

// sum lowers an assignment to the output. That nothing else can be done with
// the output is what makes a field the sum of its effects (F4).
func (c *compiler) sum(s *statement) error {
	if _, ok := operationOf(s.op.text); !ok {
		return s.unknownOperation()
	}
	o, ok := accumulates(s.op.text)
	at := o.accumulator()
	if !ok || len(s.operands) > at && (s.operands[at].token.text != "output" || s.operands[at].token.lane != s.target.lane) {
		out := s.target.spelling()
		return s.line.fail(s.op.column, fmt.Sprintf(`"%s = add %[1]s, a", sub, or with a product "%[1]s = mad a, b, %[1]s", nmad`, out),
			"%s can only be added to", out)
	}
	if err := s.arity(o.operands()); err != nil {
		return err
	}
	if s.target.lane == 3 {
		return s.line.fail(s.target.column, "x, y or z", "output has no w")
	}
	var operands [4]term
	for i := range s.operands {
		if i == at {
			operands[i] = term{lanes: splat(theOutput)}
			continue
		}
		var err error
		if operands[i], err = c.operand(s, i); err != nil {
			return err
		}
	}
	o, operands = c.graph.sinkSum(o, operands)
	for lane := range 3 {
		if s.target.lane == wholeVector || s.target.lane == lane {
			c.graph.sum(o, lane, [4]valueID{operands[0].lanes[lane], operands[1].lanes[lane], operands[2].lanes[lane]})
		}
	}
	return nil
}

func (s *statement) unknownOperation() error {
	return s.line.fail(s.op.column, "one of "+operationNames, "there is no operation %q", s.op.text)
}

// arity checks the number of operands.
func (s *statement) arity(want int) error {
	switch have := len(s.operands); {
	case have > want:
		return s.line.fail(s.operands[want].token.column, fmt.Sprintf("%d in all", want), "%s has too many operands", s.op.text)
	case have < want:
		end := len(strings.TrimRight(s.line.source[:s.line.end()], " \t")) + 1
		return s.line.fail(end, fmt.Sprintf(`"," and another operand, %d in all`, want), "%s has too few operands", s.op.text)
	}
	return nil
}

// end is where the comment begins, or the line ends.
func (l *line) end() int {
	if i := strings.IndexByte(l.source, '#'); i >= 0 {
		return i
	}
	return len(l.source)
}

func (c *compiler) operand(s *statement, i int) (term, error) {
	o := &s.operands[i]
	if o.token.kind != tokenWord {
		return c.graph.literalTerm(o.value), nil
	}
	if o.token.text == "output" {
		return term{}, s.line.fail(o.token.column, "a name, a number or a vector", "output can't be read: an effect does not know what others add")
	}
	v, ok := c.names[o.token.text]
	if !ok {
		return term{}, c.unknown(s, o.token)
	}
	if o.token.lane != wholeVector {
		v = number(v.lanes[o.token.lane], v.reach)
	}
	return v, nil
}

// unknown is the error of a name that means nothing yet.
func (c *compiler) unknown(s *statement, t token) error {
	const most = 12
	var known []string
	for name := range c.names {
		known = append(known, name)
	}
	slices.Sort(known)
	if len(known) > most {
		known = append(known[:most], "...")
	}
	return s.line.fail(t.column, "a name that a line above defines: "+strings.Join(known, ", "), "%s is not defined", t.text)
}
