package field

import (
	"encoding/binary"
	"fmt"
	"math"
)

// The portable form, all of it little-endian. Its version is the lowest that can
// say what the program is, so that a program has one form and keeps its hash:
//
//	magic "wfld" | version u8 | flags u8 (1: a box) | length of name u8 | params u8
//	literals u16 | preloads u16 | instructions u16
//	name
//	params x { length of name u8 | name | default 4 x f32 }
//	box 6 x f32, if there is one
//	literals x f32
//	instructions x { op u8 | to u8 | operands 4 x u8 | uniform u16 }
const (
	magic       = "wfld"
	newest      = 2 // 2: exp2 and hash
	flagBox     = 1
	headerBytes = 14
	boxBytes    = 24
)

// MarshalBinary returns the portable form, which Load reads. The error is
// always nil.
func (p *Program) MarshalBinary() ([]byte, error) { return p.encode(), nil }

func (p *Program) encode() []byte {
	b := make([]byte, 0, headerBytes+4*len(p.literals)+instructionBytes*len(p.code))
	flags := byte(0)
	if p.boxed {
		flags = flagBox
	}
	b = append(append(b, magic...), p.version(), flags, byte(len(p.name)), byte(len(p.params)))
	for _, n := range []int{len(p.literals), p.preloads, len(p.code)} {
		b = binary.LittleEndian.AppendUint16(b, uint16(n))
	}
	b = append(b, p.name...)
	for _, q := range p.params {
		b = append(append(b, byte(len(q.Name))), q.Name...)
		b = appendFloats(b, q.Default[:])
	}
	if p.boxed {
		b = appendFloats(appendFloats(b, p.box.Min[:]), p.box.Max[:])
	}
	b = appendFloats(b, p.literals)
	for _, in := range p.code {
		b = append(append(b, byte(in.op), in.to), in.operands[:]...)
		b = binary.LittleEndian.AppendUint16(b, in.uniform)
	}
	return b
}

// version is the lowest that has all operations of the program.
func (p *Program) version() byte {
	lowest := byte(1)
	for _, in := range p.code {
		if in.op < opcodes {
			lowest = max(lowest, in.op.since())
		}
	}
	return lowest
}

func appendFloats(b []byte, v []float32) []byte {
	for _, f := range v {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(f))
	}
	return b
}

// Load reads the portable form of a program and verifies it, so the bytes may
// come from anybody. An error is a *VerifyError.
func Load(b []byte) (*Program, error) {
	if len(b) > MaxBinaryBytes {
		return nil, refuse("%d bytes; at most %d are allowed", len(b), MaxBinaryBytes)
	}
	r := reader{rest: b}
	p := r.program()
	switch {
	case r.fault != "":
		return nil, refuse("%s", r.fault)
	case r.short:
		return nil, refuse("the bytes end too early")
	case len(r.rest) > 0:
		return nil, refuse("%d bytes too many", len(r.rest))
	}
	if err := p.verify(); err != nil {
		return nil, err
	}
	return p.seal(), nil
}

// refuse is the error about a program as a whole.
func refuse(format string, args ...any) error {
	return &VerifyError{PC: -1, Reason: fmt.Sprintf(format, args...)}
}

// A reader takes a program apart. Beyond the end there are zeros, and short is
// set.
type reader struct {
	rest  []byte
	short bool
	fault string
}

func (r *reader) program() *Program {
	if string(r.take(len(magic))) != magic {
		r.fault = "it is no program: it does not begin with " + magic
		return nil
	}
	v := r.byte()
	if v == 0 || v > newest {
		r.fault = fmt.Sprintf("version %d; only 1 to %d are known", v, newest)
		return nil
	}
	flags, name, params := r.byte(), int(r.byte()), int(r.byte())
	literals, preloads, code := int(r.uint16()), int(r.uint16()), int(r.uint16())
	switch {
	case flags&^flagBox != 0:
		r.fault = fmt.Sprintf("unknown flags %#x", flags)
		return nil
	case params > MaxParams || literals > MaxLiterals || code > MaxInstructions:
		r.fault = fmt.Sprintf("%d parameters, %d literals, %d instructions; at most %d, %d, %d are allowed",
			params, literals, code, MaxParams, MaxLiterals, MaxInstructions)
		return nil
	}
	p := &Program{name: string(r.take(name)), boxed: flags == flagBox, preloads: preloads}
	for range params {
		q := Param{Name: string(r.take(int(r.byte())))}
		r.floats(q.Default[:])
		p.params = append(p.params, q)
	}
	if p.boxed {
		r.floats(p.box.Min[:])
		r.floats(p.box.Max[:])
	}
	p.literals = make([]float32, literals)
	r.floats(p.literals)
	p.code = make([]instruction, code)
	for i := range p.code {
		in := &p.code[i]
		in.op, in.to = Opcode(r.byte()), r.byte()
		copy(in.operands[:], r.take(len(in.operands)))
		in.uniform = r.uint16()
	}
	if least := p.version(); v != least {
		r.fault = fmt.Sprintf("it says version %d, but is of version %d", v, least)
	}
	return p
}

func (r *reader) take(n int) []byte {
	if n > len(r.rest) {
		r.short, r.rest = true, nil
		return make([]byte, n)
	}
	b := r.rest[:n]
	r.rest = r.rest[n:]
	return b
}

func (r *reader) byte() byte     { return r.take(1)[0] }
func (r *reader) uint16() uint16 { return binary.LittleEndian.Uint16(r.take(2)) }

func (r *reader) floats(v []float32) {
	for i := range v {
		v[i] = math.Float32frombits(binary.LittleEndian.Uint32(r.take(4)))
	}
}
