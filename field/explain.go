package field

import (
	"fmt"
	"strings"
)

// Explain shows the stages of compilation: the parsed text; its values over single lanes;
// the values after simplification, sharing and dead-code removal, and after recomputation
// if registers ran out; the instructions; and the bound code of every vector kernel set in
// this build. The output is for people, and its form may change. An error is a
// *SyntaxError, the same as from Compile.
func Explain(source string) (stages string, err error) {
	defer catch(&err)
	text := parse(source)
	raw := newCompiler(text)
	raw.graph.plain = true
	raw.lower(text)
	c := newCompiler(text)
	c.lower(text)
	p, used := assemble(text, c.graph)
	all := make([]bool, len(raw.graph.values))
	for i := range all {
		all[i] = true
	}
	e := explainer{program: p}
	e.text(text)
	e.values("values", raw.graph, all)
	e.values("values, simplified and shared, that are needed", c.graph, c.graph.findLive())
	if used != c.graph {
		e.values("values, some computed again, because registers are short", used, used.findLive())
	}
	e.code()
	e.kernels()
	return e.b.String(), nil
}

type explainer struct {
	program *Program
	b       strings.Builder
}

func (e *explainer) heading(format string, args ...any) {
	if e.b.Len() > 0 {
		e.b.WriteByte('\n')
	}
	fmt.Fprintf(&e.b, "# "+format+"\n", args...)
}

func (e *explainer) text(t *effectText) {
	e.heading("text")
	for _, f := range t.functions {
		fmt.Fprintf(&e.b, "%d: def %s(%s) = %v\n", f.line.number, f.name.text, strings.Join(f.args, ", "), f.body)
	}
	for i := range t.statements {
		fmt.Fprintf(&e.b, "%d: %v\n", t.statements[i].line.number, &t.statements[i])
	}
}

// String returns the statement as parsed.
func (s *statement) String() string {
	switch s.form {
	case formLet:
		return "let " + s.target.text + " = " + s.body.String()
	case formSum:
		return s.target.spelling() + " " + s.op.text + " " + s.body.String()
	}
	operands := make([]string, len(s.operands))
	for i, o := range s.operands {
		switch o.token.kind {
		case tokenWord:
			operands[i] = o.token.spelling()
		case tokenNumber:
			operands[i] = spell(o.value[0])
		default:
			operands[i] = spellVector(o.value[:])
		}
	}
	return s.target.spelling() + " = " + s.op.text + " " + strings.Join(operands, ", ")
}

func (e *explainer) values(what string, g *graph, shown []bool) {
	names := make([]string, len(g.values))
	var lines []string
	for id := range g.values {
		v := &g.values[id]
		switch v.kind {
		case valueLiteral:
			f, _ := g.literalOf(valueID(id))
			names[id] = spell(f)
			continue
		case valueUniform:
			names[id] = e.program.spellUniform(v.uniform)
			continue
		case valuePosition:
			names[id] = "position." + laneNames[v.lane:][:1]
			continue
		}
		if !shown[id] {
			continue
		}
		names[id] = fmt.Sprintf("v%d", len(lines))
		if v.kind == valueSum {
			names[id] = "output." + laneNames[v.lane:][:1]
		}
		operands := make([]string, v.op.operands())
		for i, o := range v.operands[:len(operands)] {
			operands[i] = names[id]
			if o != theOutput {
				operands[i] = names[o]
			}
		}
		lines = append(lines, names[id]+" = "+v.op.String()+" "+strings.Join(operands, ", "))
	}
	e.heading("%d %s", len(lines), what)
	for _, l := range lines {
		e.b.WriteString(l + "\n")
	}
}

func (e *explainer) code() {
	p := e.program
	e.heading("%d instructions, the first %d once a call; %d registers", len(p.code), p.preloads, p.registers)
	w := writer{program: p, prefix: "r"}
	for r := range w.spelled {
		w.spelled[r] = w.target(uint8(r))
	}
	for i, in := range p.code {
		fmt.Fprintf(&e.b, "%d: ", i)
		switch in.op {
		case opEnd:
			e.b.WriteString("end\n")
			continue
		case opLoad:
			fmt.Fprintf(&e.b, "%s = load %s\n", w.target(in.to), p.spellUniform(in.uniform))
			continue
		}
		w.b.Reset()
		w.instruction(in)
		e.b.WriteString(w.b.String())
	}
}

// kernels shows each kernel set's number of steps, or the reason why it has no code.
func (e *explainer) kernels() {
	e.heading("vector kernels")
	if len(kernelsOfBuild) == 0 {
		e.b.WriteString("this build has none: the instructions are interpreted\n")
	}
	for _, k := range kernelsOfBuild {
		p := *e.program
		p.bind(k)
		if p.interpreted != nil {
			fmt.Fprintf(&e.b, "%v: interpreted: %v\n", k, p.interpreted)
			continue
		}
		fmt.Fprintf(&e.b, "%v: %d steps, %d planes\n", k, p.withoutOrigin.steps(), p.withoutOrigin.planes)
	}
}
