package field

import (
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"math/bits"
)

// The portable form: magic, counts, then the parts of fixed size and the names.
//
//	"wfp1" | params u8 | boxed u8 | constants u16 | ops u32
//	box: 6 x f32, if boxed
//	param: f32 x 4 | length u8 | name
//	constant: kind u8 | 0 u8 | at u16 | bits u32
//	op: code u8 | dst u8 | operand u8 x 4 | 0 u16
//
// All little-endian. The name of the effect and its text are not part of it.
const magic = "wfp1"

// MarshalBinary returns the portable form.
func (p *Program) MarshalBinary() ([]byte, error) {
	b := append([]byte(magic), byte(len(p.params)), 0)
	if p.boxed {
		b[5] = 1
	}
	b = binary.LittleEndian.AppendUint16(b, uint16(len(p.constants)))
	b = binary.LittleEndian.AppendUint32(b, uint32(len(p.ops)))
	if p.boxed {
		b = appendFloats(b, p.box.Min[:])
		b = appendFloats(b, p.box.Max[:])
	}
	for _, q := range p.params {
		b = appendFloats(b, q.Default[:])
		b = append(append(b, byte(len(q.Name))), q.Name...)
	}
	for _, c := range p.constants {
		b = append(b, byte(c.kind), 0)
		b = binary.LittleEndian.AppendUint16(b, c.at)
		b = binary.LittleEndian.AppendUint32(b, c.bits)
	}
	for _, o := range p.ops {
		b = append(b, byte(o.code), o.dst)
		b = append(append(b, o.args[:]...), 0, 0)
	}
	return b, nil
}

func appendFloats(b []byte, v []float32) []byte {
	for _, f := range v {
		b = binary.LittleEndian.AppendUint32(b, floatBits(f))
	}
	return b
}

// Hash tells programs apart: FNV-1a of the portable form.
func (p *Program) Hash() uint64 {
	b, _ := p.MarshalBinary()
	h := fnv.New64a()
	h.Write(b)
	return h.Sum64()
}

// Load verifies the portable form of a program and makes it ready to run. An
// error is a *VerifyError. Any bytes may be given.
func Load(b []byte) (*Program, error) {
	r := &byteReader{rest: b}
	p := &Program{}
	if string(r.take(4)) != magic {
		return nil, refused("it does not begin with %q", magic)
	}
	params, boxed := int(r.byte()), r.byte()
	constants, ops := int(r.uint16()), int(r.uint32())
	switch {
	case r.short || params > MaxParams || constants > MaxConstants || ops > MaxOps:
		return nil, refused("%d parameters, %d constants, %d operations: more than are allowed, or cut short", params, constants, ops)
	case boxed > 1:
		return nil, refused("box flag %d", boxed)
	}
	if p.boxed = boxed == 1; p.boxed {
		r.floats(p.box.Min[:])
		r.floats(p.box.Max[:])
	}
	for range params {
		var q Param
		r.floats(q.Default[:])
		q.Name = string(r.take(int(r.byte())))
		p.params = append(p.params, q)
	}
	for range constants {
		kind, zero := nodeKind(r.byte()), r.byte()
		c := constant{kind: kind, at: r.uint16(), bits: r.uint32()}
		if zero != 0 {
			return nil, refused("padding of a constant is not zero")
		}
		p.constants = append(p.constants, c)
	}
	for range ops {
		o := op{code: Opcode(r.byte()), dst: r.byte()}
		copy(o.args[:], r.take(4))
		if r.uint16() != 0 {
			return nil, refused("padding of an operation is not zero")
		}
		p.ops = append(p.ops, o)
	}
	if r.short || len(r.rest) > 0 {
		return nil, refused("its length does not fit its counts")
	}
	if err := p.verify(); err != nil {
		return nil, err
	}
	return p, nil
}

func refused(format string, args ...any) error {
	return &VerifyError{PC: -1, Reason: fmt.Sprintf(format, args...)}
}

// byteReader reads untrusted bytes; reading past the end gives zeros and sets
// short.
type byteReader struct {
	rest  []byte
	short bool
}

func (r *byteReader) take(n int) []byte {
	if n > len(r.rest) {
		r.short, r.rest = true, nil
		return make([]byte, min(n, 8))
	}
	b := r.rest[:n]
	r.rest = r.rest[n:]
	return b
}

func (r *byteReader) byte() byte     { return r.take(1)[0] }
func (r *byteReader) uint16() uint16 { return binary.LittleEndian.Uint16(r.take(2)) }
func (r *byteReader) uint32() uint32 { return binary.LittleEndian.Uint32(r.take(4)) }

func (r *byteReader) floats(v []float32) {
	for i := range v {
		v[i] = bitsFloat(r.uint32())
	}
}

func lowestBit(w uint64) uint8 { return uint8(bits.TrailingZeros64(w)) }
