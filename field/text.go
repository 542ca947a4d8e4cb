package field

import (
	"strconv"
	"strings"
)

// String returns the program as text, one instruction per line. For a program from Compile,
// Compile returns the same program (the same Hash). A hand-made program may contain
// operations that the compiler would omit or cannot express. If its text compiles, the
// result is the same except for the meaning of literal 0 (LANGUAGE.md, Arithmetic).
func (p *Program) String() string {
	w := writer{program: p, prefix: p.registerPrefix()}
	w.header()
	for _, in := range p.code {
		w.instruction(in)
	}
	return w.b.String()
}

// registerPrefix returns a prefix for register names that no parameter has.
func (p *Program) registerPrefix() string {
	prefix := "r"
	for i := 0; i < len(p.params); i++ {
		if rest, ok := strings.CutPrefix(p.params[i].Name, prefix); ok && rest != "" && digits(rest) == len(rest) {
			prefix, i = "_"+prefix, -1
		}
	}
	return prefix
}

type writer struct {
	program *Program
	prefix  string
	spelled [MaxRegisters]string // current text for each register
	b       strings.Builder
}

func (w *writer) header() {
	p := w.program
	if p.name != "" {
		w.b.WriteString("effect " + p.name + "\n")
	}
	for _, q := range p.params {
		w.b.WriteString("param " + q.Name + " = " + q.spellDefault())
		if q.Bounded {
			w.b.WriteString(" in " + spell(q.Min) + between + spell(q.Max))
		}
		w.b.WriteByte('\n')
	}
	if p.boxed {
		w.b.WriteString("box " + spellVector(p.box.Min[:]) + " " + spellVector(p.box.Max[:]) + "\n")
	}
}

func (w *writer) instruction(in instruction) {
	switch in.op {
	case opEnd:
		return
	case opLoad:
		w.spelled[in.to] = w.program.spellUniform(in.uniform)
		return
	}
	w.b.WriteString(w.target(in.to) + " = " + in.op.String())
	for i, plane := range in.operands[:in.op.operands()] {
		separator := ", "
		if i == 0 {
			separator = " "
		}
		w.b.WriteString(separator + w.plane(plane))
	}
	w.b.WriteByte('\n')
	if in.to < MaxRegisters {
		w.spelled[in.to] = w.target(in.to)
	}
}

// target writes a destination plane.
func (w *writer) target(plane uint8) string {
	if plane >= planeOutput {
		return "output." + laneNames[plane-planeOutput:][:1]
	}
	return w.prefix + strconv.Itoa(int(plane))
}

func (w *writer) plane(plane uint8) string {
	switch {
	case plane >= planeOutput:
		return w.target(plane)
	case plane >= planePosition:
		return "position." + laneNames[plane-planePosition:][:1]
	}
	return w.spelled[plane]
}

func (p *Program) spellUniform(number uint16) string {
	i := int(number) - uniformParams
	switch {
	case number == uniformTime:
		return "time"
	case i < 4*len(p.params):
		return p.params[i/4].Name + "." + laneNames[i%4:][:1]
	}
	return spell(p.literals[i-4*len(p.params)])
}

// spell returns the shortest number that parses to the same float32.
func spell(f float32) string { return strconv.FormatFloat(float64(f), 'g', -1, 32) }

func (p Param) spellDefault() string {
	if p.Scalar {
		return spell(p.Default[0])
	}
	return spellVector(p.Default[:])
}

func spellVector(v []float32) string {
	var parts []string
	for _, f := range v {
		parts = append(parts, spell(f))
	}
	return "(" + strings.Join(parts, ", ") + ")"
}
