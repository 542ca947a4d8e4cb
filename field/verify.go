package field

import "fmt"

// verify checks everything that the machine relies on (F3): a verified program accesses
// only the call's planes and reads only registers that it has written, and it terminates.
func (p *Program) verify() error {
	if err := p.verifyHeader(); err != nil {
		return err
	}
	v := verifier{program: p, uniforms: uniformParams + 4*len(p.params) + len(p.literals)}
	for pc, in := range p.code {
		if reason := v.instruction(pc, in); reason != "" {
			return &VerifyError{PC: pc, Opcode: in.op, Reason: reason}
		}
	}
	if !v.sums {
		return refuse("the effect does nothing: it never adds to the output")
	}
	return nil
}

func (p *Program) verifyHeader() error {
	if p.name != "" && !isName(p.name) {
		return refuse("the effect's name %q is not a valid name", p.name)
	}
	seen := map[string]bool{}
	for i, q := range p.params {
		switch {
		case !isName(q.Name) || isReserved(q.Name):
			return refuse("the name of parameter %d, %q, is not valid", i, q.Name)
		case seen[q.Name]:
			return refuse("two parameters are called %q", q.Name)
		case !allFinite(q.Default[:]):
			return refuse("the default of parameter %q is not finite", q.Name)
		case q.Scalar && !q.isNumber():
			return refuse("parameter %q is a number, but the lanes of its default differ", q.Name)
		case q.Bounded && (!allFinite([]float32{q.Min, q.Max}) || q.Min > q.Max):
			return refuse("the range of parameter %q is invalid", q.Name)
		case !q.Allows(q.Default):
			return refuse("the default of parameter %q is outside of its range", q.Name)
		}
		seen[q.Name] = true
	}
	if !allFinite(p.box.Min[:]) || !allFinite(p.box.Max[:]) {
		return refuse("the box is not finite")
	}
	for i := range 3 {
		if p.box.Min[i] > p.box.Max[i] {
			return refuse("the box is inside out")
		}
	}
	if !allFinite(p.literals) {
		return refuse("a literal is not finite")
	}
	if len(p.code) == 0 {
		return refuse("no instructions")
	}
	if p.preloads > len(p.code) {
		return refuse("%d of %d instructions are preloads", p.preloads, len(p.code))
	}
	return nil
}

// A verifier tracks the registers and outputs written before the current instruction.
type verifier struct {
	program  *Program
	uniforms int
	written  uint32 // written registers
	resident uint32 // written by preloads
	sums     bool   // some instruction has added to the output
}

// instruction checks an instruction. It returns the reason to reject it, or "".
func (v *verifier) instruction(pc int, in instruction) string {
	last := pc == len(v.program.code)-1
	switch {
	case in.op == opNone || in.op >= opcodes:
		return "no such operation"
	case last != (in.op == opEnd):
		return "end must be the last instruction, and only that"
	case pc < v.program.preloads && in.op != opLoad:
		return "only loads can be preloads"
	case in.op != opLoad && in.uniform != 0:
		return "it names a uniform, but is not a load"
	case in.op == opLoad && int(in.uniform) >= v.uniforms:
		return fmt.Sprintf("uniform %d of %d", in.uniform, v.uniforms)
	case in.op == opLoad && v.laneOfNumber(int(in.uniform)):
		return fmt.Sprintf("uniform %d is y, z or w of a number", in.uniform)
	}
	for i, plane := range in.operands {
		if reason := v.operand(in, i, plane); reason != "" {
			return reason
		}
	}
	return v.destination(pc, in)
}

// laneOfNumber reports whether a uniform is a lane other than x of a parameter that is a number.
func (v *verifier) laneOfNumber(uniform int) bool {
	i := uniform - uniformParams
	return i >= 0 && i < 4*len(v.program.params) && i%4 != 0 && v.program.params[i/4].Scalar
}

func (v *verifier) operand(in instruction, i int, plane uint8) string {
	sums := in.to >= planeOutput && in.to < planeCount && i == in.op.accumulator()
	switch {
	case i >= in.op.operands():
		if plane != 0 {
			return fmt.Sprintf("operand %d is set, but it takes %d", i+1, in.op.operands())
		}
	case sums && plane != in.to:
		return "it writes the output without adding to it"
	case sums:
	case plane >= planeOutput:
		return fmt.Sprintf("operand %d is plane %d, which can't be read", i+1, plane)
	case plane < MaxRegisters && v.written>>plane&1 == 0:
		return fmt.Sprintf("operand %d is register %d, which has not been written", i+1, plane)
	}
	return ""
}

func (v *verifier) destination(pc int, in instruction) string {
	switch {
	case in.op == opEnd:
		if in.to != 0 {
			return "it names a destination but writes nothing"
		}
	case in.to < MaxRegisters:
		bit := uint32(1) << in.to
		if v.resident&bit != 0 {
			return fmt.Sprintf("register %d was preloaded and must keep its value", in.to)
		}
		v.written |= bit
		if pc < v.program.preloads {
			v.resident |= bit
		}
	case in.to < planeOutput || in.to >= planeCount || in.op.accumulator() < 0:
		return fmt.Sprintf("it can't write plane %d", in.to)
	default:
		v.sums = true
	}
	return ""
}

// isName reports whether s is a valid name in a text.
func isName(s string) bool {
	if s == "" || len(s) > MaxNameBytes || !isLetter(s[0]) {
		return false
	}
	for i := range len(s) {
		if !isLetter(s[i]) && !isDigit(s[i]) {
			return false
		}
	}
	return true
}

func allFinite(v []float32) bool {
	for _, f := range v {
		if !isFinite(f) {
			return false
		}
	}
	return true
}
