package field

import (
	"fmt"
	"strings"
)

// parser reads the text of an effect, line by line, into a graph.
type parser struct {
	graph   graph
	program Program
	names   map[string]vector
	box     bool // a box or everywhere was given
	body    bool // the header is over
}

// Compile makes a program of the text of an effect. An error is a *SyntaxError.
func Compile(source string) (*Program, error) {
	if len(source) > MaxSource {
		return nil, &SyntaxError{Line: 1, Column: 1, Message: fmt.Sprintf("the effect has %d bytes", len(source)), Expected: fmt.Sprintf("at most %d", MaxSource)}
	}
	p := &parser{graph: graph{known: map[node]valueID{}}, names: map[string]vector{}}
	p.predefine()
	last := line{number: 1}
	for i, text := range strings.Split(source, "\n") {
		last = line{source: strings.TrimSuffix(text, "\r"), number: i + 1}
		if err := p.line(&last); err != nil {
			return nil, err
		}
		if len(p.graph.nodes) > maxNodes {
			return nil, last.fail(1, "a shorter effect", "more than %d values", maxNodes)
		}
	}
	if len(p.graph.outputs) == 0 {
		return nil, last.fail(1, `a line like "output = add output, wind"`, "the effect never adds to output, so it does nothing")
	}
	p.program.text = canonical(source)
	if why := p.program.generate(&p.graph); why != "" {
		return nil, last.fail(1, "a simpler effect", "%s", why)
	}
	return &p.program, nil
}

// canonical is the text without comments and stray spaces.
func canonical(source string) string {
	var b strings.Builder
	for text := range strings.SplitSeq(source, "\n") {
		text, _, _ = strings.Cut(text, "#")
		if text = strings.Join(strings.Fields(text), " "); text != "" {
			b.WriteString(text + "\n")
		}
	}
	return b.String()
}

func (p *parser) predefine() {
	g := &p.graph
	for lane := range 3 {
		v := p.names["position"]
		v[lane] = g.add(node{kind: nodePosition, at: uint16(lane)})
		p.names["position"] = v
	}
	v := p.names["position"]
	v[3] = g.constant(0)
	p.names["position"] = v
	p.names["time"] = g.splat(g.add(node{kind: nodeTime}))
}

func (p *parser) line(l *line) error {
	first, err := l.next()
	if err != nil || first.kind == tokenEnd {
		return err
	}
	if first.kind != tokenName {
		return l.fail(first.column, "a name", "%s", first.describe())
	}
	second, err := l.next()
	if err != nil {
		return err
	}
	if second.kind == tokenSign && second.text == "=" {
		p.body = true
		return p.assignment(l, first)
	}
	l.at = second.column - 1 // read it again
	return p.header(l, first)
}

// header reads a line before the body.
func (p *parser) header(l *line, word token) error {
	known := word.text == "effect" || word.text == "param" || word.text == "box" || word.text == "everywhere"
	if known && p.body {
		return l.fail(word.column, "it before the first assignment", "%q belongs to the header", word.text)
	}
	switch word.text {
	case "effect":
		return p.effect(l, word)
	case "param":
		return p.param(l)
	case "box", "everywhere":
		return p.region(l, word)
	}
	return l.fail(word.column, `"name = op a, b", or effect, param, box or everywhere`, "%q begins no line", word.text)
}

func (p *parser) effect(l *line, word token) error {
	if p.program.name != "" {
		return l.fail(word.column, "", "the effect has a name already: %q", p.program.name)
	}
	t, err := l.name("the effect's name")
	if err != nil {
		return err
	}
	p.program.name = t.text
	return l.end()
}

func (p *parser) param(l *line) error {
	t, err := l.name("the parameter's name")
	if err != nil {
		return err
	}
	if _, taken := p.names[t.text]; taken || t.text == "output" {
		return l.fail(t.column, "another name", "%q is taken", t.text)
	}
	if len(p.program.params) == MaxParams {
		return l.fail(t.column, "", "more than %d parameters", MaxParams)
	}
	if err := l.sign("=", "and then the default"); err != nil {
		return err
	}
	v, err := p.literal(l)
	if err != nil {
		return err
	}
	n := len(p.program.params)
	p.program.params = append(p.program.params, Param{Name: t.text, Default: v})
	var lanes vector
	for i := range lanes {
		lanes[i] = p.graph.add(node{kind: nodeParam, at: uint16(4*n + i)})
	}
	p.names[t.text] = lanes
	return l.end()
}

// literal reads a number or a vector of four.
func (p *parser) literal(l *line) (Vec4, error) {
	const want = "a number, or a vector like (1,2,3,0)"
	t, err := l.next()
	switch {
	case err != nil:
		return Vec4{}, err
	case t.kind == tokenNumber:
		return Vec4{t.value, t.value, t.value, t.value}, nil
	case t.kind == tokenSign && t.text == "(":
		return l.vector(4)
	}
	return Vec4{}, l.fail(t.column, want, "%s", t.describe())
}

func (p *parser) region(l *line, word token) error {
	if p.box {
		return l.fail(word.column, "", "the effect has a box already")
	}
	p.box = true
	if word.text == "everywhere" {
		return l.end()
	}
	var corners [2][4]float32
	for i := range corners {
		before := l.at
		if t, err := l.next(); i == 0 || err != nil || t.text != "," {
			l.at = before // a comma may stand between the corners
		}
		if err := l.sign("(", "and then a corner like (-5,-5,-5)"); err != nil {
			return err
		}
		v, err := l.vector(3)
		if err != nil {
			return err
		}
		corners[i] = v
	}
	p.program.boxed = true
	p.program.box = Box{Min: [3]float32(corners[0][:3]), Max: [3]float32(corners[1][:3])}
	for i := range 3 {
		if p.program.box.Min[i] > p.program.box.Max[i] {
			return l.fail(word.column, "the lower corner first", "the box is inside out in lane %d", i)
		}
	}
	return l.end()
}

// assignment reads `name = op a, b`, after the "=".
func (p *parser) assignment(l *line, target token) error {
	if target.text == "position" || target.text == "time" {
		return l.fail(target.column, "another name", "%q can't be assigned to", target.text)
	}
	word, err := l.name("an operation: " + formNames)
	if err != nil {
		return err
	}
	f, ok := formOf(word.text)
	if !ok {
		return l.fail(word.column, "one of "+formNames, "there is no operation %q", word.text)
	}
	if target.text == "output" {
		return p.output(l, word)
	}
	args := make([]vector, f.operands)
	for i := range args {
		if i > 0 {
			if err := l.sign(",", fmt.Sprintf("and then operand %d of %d of %q", i+1, f.operands, word.text)); err != nil {
				return err
			}
		}
		if args[i], err = p.operand(l); err != nil {
			return err
		}
	}
	p.names[target.text] = f.lower(&p.graph, args)
	return l.end()
}

// output reads the rest of `output = add output, a`. That output can only be
// added to is what makes effects sum (M3).
func (p *parser) output(l *line, word token) error {
	const want = `"output = add output, a"`
	t, err := l.next()
	if err != nil {
		return err
	}
	if word.text != "add" || t.kind != tokenName || t.text != "output" {
		return l.fail(word.column, want, "output can only be added to")
	}
	if err := l.sign(",", "and then what to add"); err != nil {
		return err
	}
	v, err := p.operand(l)
	if err != nil {
		return err
	}
	for lane := range 3 {
		p.graph.outputs = append(p.graph.outputs, output{lane, v[lane]})
	}
	return l.end()
}

// operand reads a name, a number or a vector.
func (p *parser) operand(l *line) (vector, error) {
	start := l.at
	t, err := l.next()
	if err != nil {
		return vector{}, err
	}
	if t.kind == tokenName {
		if t.text == "output" {
			return vector{}, l.fail(t.column, "another name", "output can only be added to, not read")
		}
		v, ok := p.names[t.text]
		if !ok {
			return vector{}, l.fail(t.column, "a name that a line above defines", "%q is not defined", t.text)
		}
		return v, nil
	}
	l.at = start
	lanes, err := p.literal(l)
	if err != nil {
		return vector{}, err
	}
	var v vector
	for i := range v {
		v[i] = p.graph.constant(lanes[i])
	}
	return v, nil
}
