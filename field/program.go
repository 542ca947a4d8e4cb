package field

import (
	"fmt"
	"math"
	"strings"
)

// Vec4 is four lanes: x, y, z, w.
type Vec4 = [4]float32

// Param is a parameter of an effect.
type Param struct {
	Name    string
	Default Vec4
}

// Box is where an effect is not zero, in metres, in the effect's own space.
type Box struct{ Min, Max [3]float32 }

// Program is one effect, compiled and verified. It is read-only and may be
// shared by goroutines.
type Program struct {
	name      string
	text      string // canonical source; empty for a loaded program
	params    []Param
	boxed     bool
	box       Box
	constants []constant
	ops       []op
	registers int
}

// constant is an operand that is the same for all points of a call.
type constant struct {
	kind nodeKind // nodeConstant, nodeParam or nodeTime
	at   uint16
	bits uint32
}

// Name is the effect's name; empty if it has none.
func (p *Program) Name() string { return p.name }

// Params returns the parameters in the order of the text. The caller must not
// change them.
func (p *Program) Params() []Param { return p.params }

// Box returns the region outside of which the effect is zero, and false if it
// is everywhere. The program does not clip: the box is for callers that cull.
func (p *Program) Box() (Box, bool) { return p.box, p.boxed }

// Scratch is the number of floats of scratch that Evaluate needs: at most
// MaxScratch, whatever the number of points (M4).
func (p *Program) Scratch() int {
	return (p.registers+tailPlanes)*Lanes + len(p.constants)
}

// Ops is the number of operations.
func (p *Program) Ops() int { return len(p.ops) }

// String is the canonical text, which compiles to the same program. Of a
// program that was loaded from bytes it is the listing of its operations.
func (p *Program) String() string {
	if p.text != "" {
		return p.text
	}
	return p.Listing()
}

// Listing shows the operations of the machine, one a line.
func (p *Program) Listing() string {
	var b strings.Builder
	for _, o := range p.ops {
		info := o.code.info()
		if info.writes {
			fmt.Fprintf(&b, "r%d = ", o.dst)
		}
		b.WriteString(info.name)
		for i, a := range o.args[:info.operands] {
			if i > 0 {
				b.WriteByte(',')
			}
			b.WriteString(" " + p.operandString(a))
		}
		b.WriteByte('\n')
	}
	return b.String()
}

func (p *Program) operandString(a uint8) string {
	switch {
	case a < MaxRegisters:
		return fmt.Sprintf("r%d", a)
	case a < operandConstant:
		return "position." + "xyz"[a-operandX:a-operandX+1]
	}
	c := p.constants[a-operandConstant]
	switch c.kind {
	case nodeParam:
		return p.params[c.at/4].Name + "." + "xyzw"[c.at%4:c.at%4+1]
	case nodeTime:
		return "time"
	}
	return fmt.Sprint(bitsFloat(c.bits))
}

func floatBits(v float32) uint32 { return math.Float32bits(v) }
func bitsFloat(b uint32) float32 { return math.Float32frombits(b) }
