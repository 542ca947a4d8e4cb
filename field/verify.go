package field

import (
	"fmt"
	"math"
)

// verify checks everything that the machine relies on (M2), so that the machine
// checks nothing: opcodes known, operands in range and written before they are
// read, exactly one end, at the end. It finds the number of registers.
func (p *Program) verify() error {
	if err := p.verifyTables(); err != nil {
		return err
	}
	var written uint64
	for pc, o := range p.ops {
		fail := func(format string, args ...any) error {
			return &VerifyError{PC: pc, Opcode: o.code, Reason: fmt.Sprintf(format, args...)}
		}
		if o.code >= opcodes {
			return fail("unknown operation")
		}
		if last := pc == len(p.ops)-1; (o.code == opEnd) != last {
			return fail("end must be the last operation and no other")
		}
		info := o.code.info()
		for i, a := range o.args {
			switch {
			case i >= info.operands:
				if a != 0 {
					return fail("operand %d of %d is not zero", i+1, info.operands)
				}
			case a < MaxRegisters:
				if written>>a&1 == 0 {
					return fail("register %d is read before it is written", a)
				}
			case a >= operandConstant && int(a-operandConstant) >= len(p.constants):
				return fail("constant %d of %d", a-operandConstant, len(p.constants))
			}
		}
		switch {
		case info.writes && o.dst >= MaxRegisters:
			return fail("register %d of %d", o.dst, MaxRegisters)
		case !info.writes && o.dst != 0:
			return fail("it writes no register, but names register %d", o.dst)
		case info.writes:
			written |= 1 << o.dst
			p.registers = max(p.registers, int(o.dst)+1)
		}
	}
	return nil
}

// verifyTables checks what the operations refer to.
func (p *Program) verifyTables() error {
	if len(p.ops) == 0 {
		return refused("no operations")
	}
	for i, q := range p.params {
		if q.Name == "" || len(q.Name) > MaxName || !isLetter(q.Name[0]) {
			return refused("parameter %d has the name %q", i, q.Name)
		}
		for j := range len(q.Name) {
			if !isLetter(q.Name[j]) && !isDigit(q.Name[j]) {
				return refused("parameter %d has the name %q", i, q.Name)
			}
		}
		for _, v := range q.Default {
			if !finite(v) {
				return refused("parameter %q has the default %v", q.Name, v)
			}
		}
	}
	for i := range 3 {
		if !finite(p.box.Min[i]) || !finite(p.box.Max[i]) || p.box.Min[i] > p.box.Max[i] {
			return refused("box from %v to %v", p.box.Min, p.box.Max)
		}
	}
	for i, c := range p.constants {
		known := c.kind == nodeConstant && c.at == 0 || c.kind == nodeTime && c.at == 0 && c.bits == 0 ||
			c.kind == nodeParam && int(c.at) < 4*len(p.params) && c.bits == 0
		if !known {
			return refused("constant %d is of kind %d, at %d", i, c.kind, c.at)
		}
	}
	return nil
}

func finite(v float32) bool {
	return v == v && !math.IsInf(float64(v), 0)
}
