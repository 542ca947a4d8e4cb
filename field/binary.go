package field

import (
	"encoding/binary"
	"fmt"
	"math"
)

// The portable form (PROGRAM.md), all of it little-endian. Its version is the lowest that can represent
// the program, so that each program has one form and keeps its hash:
//
//	magic "wfld" | version u8 | flags u8 (1: a box) | length of name u8 | params u8
//	literals u16 | preloads u16 | instructions u16
//	name
//	params x { length of name u8 | name | default 4 x f32 }, or in version 2
//	params x { length of name u8 | name | kind u8 (1: a number, 2: a range) | default 4 x f32 | range 2 x f32, if there is one }
//	box 6 x f32, if there is one
//	literals x f32
//	instructions x { op u8 | to u8 | operands 4 x u8 | uniform u16 }
const (
	magic       = "wfld"
	newest      = 2 // adds exp2, hash, numbers and ranges
	flagBox     = 1
	kindScalar  = 1 // kinds of parameters, a bitmap
	kindBounded = 2
	headerBytes = 14
	boxBytes    = 24
)

// MarshalBinary returns the portable form, which Load reads. The error is always nil.
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
		if p.version() > 1 {
			b = append(b, q.kind())
		}
		b = appendFloats(b, q.Default[:])
		if q.Bounded {
			b = appendFloats(b, []float32{q.Min, q.Max})
		}
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

func (p Param) kind() (k byte) {
	if p.Scalar {
		k |= kindScalar
	}
	if p.Bounded {
		k |= kindBounded
	}
	return k
}

// version returns the lowest version that can represent the program.
func (p *Program) version() byte {
	lowest := byte(1)
	for _, q := range p.params {
		if q.kind() != 0 {
			lowest = 2
		}
	}
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

// Load decodes and verifies a program in portable form, which may come from an
// untrusted source. An error is a *VerifyError.
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
		return nil, refuse("unexpected end of data")
	case len(r.rest) > 0:
		return nil, refuse("%d bytes of trailing data", len(r.rest))
	}
	if err := p.verify(); err != nil {
		return nil, err
	}
	return p.seal(), nil
}

// refuse returns an error about the program as a whole.
func refuse(format string, args ...any) error {
	return &VerifyError{PC: -1, Reason: fmt.Sprintf(format, args...)}
}

// A reader decodes a program. Past the end it returns zeros and sets short.
type reader struct {
	rest  []byte
	short bool
	fault string
}

func (r *reader) program() *Program {
	if string(r.take(len(magic))) != magic {
		r.fault = "not a program: it does not begin with " + magic
		return nil
	}
	v := r.byte()
	if v == 0 || v > newest {
		r.fault = fmt.Sprintf("version %d; want 1 to %d", v, newest)
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
		p.params = append(p.params, r.param(v))
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
	if least := p.version(); v != least && r.fault == "" && !r.short {
		r.fault = fmt.Sprintf("the header says version %d, but the program needs version %d", v, least)
	}
	return p
}

func (r *reader) param(version byte) Param {
	q := Param{Name: string(r.take(int(r.byte())))}
	if version > 1 {
		kind := r.byte()
		if kind&^(kindScalar|kindBounded) != 0 {
			r.fault = fmt.Sprintf("unknown kind %#x of a parameter", kind)
		}
		q.Scalar, q.Bounded = kind&kindScalar != 0, kind&kindBounded != 0
	}
	r.floats(q.Default[:])
	if q.Bounded {
		var ends [2]float32
		r.floats(ends[:])
		q.Min, q.Max = ends[0], ends[1]
	}
	return q
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
