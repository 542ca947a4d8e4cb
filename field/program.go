package field

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/worldd/worldd/internal/cpu"
)

// Box is a region in the effect's own space, in metres, including its faces.
type Box struct{ Min, Max [3]float32 }

// Program is a compiled and verified effect, made by Compile or Load. It is read-only
// and safe for concurrent use.
type Program struct {
	name     string
	params   []Param
	box      Box
	boxed    bool
	literals []float32
	code     []instruction // the first preloads run once per call, the rest once per block
	preloads int

	registers int    // derived from code
	timed     []bool // derived from code: by instruction, whether its result is timed; nil if no result is
	sums      uint8  // derived from code: bitmap of the output's lanes it adds to (F7)
	hash      uint64 // derived from all of the above

	withoutOrigin, withOrigin *bound // derived, for this process's kernels
	interpreted               error  // reason why both are nil
	work, pool                int    // derived: float32s of scratch and of constants for a run
}

// seal computes the derived fields. The program does not change afterwards.
func (p *Program) seal() *Program {
	p.registers, p.sums, p.timed = 0, 0, p.findTimed()
	for _, in := range p.code {
		switch {
		case in.op == opEnd:
		case in.to < MaxRegisters:
			p.registers = max(p.registers, int(in.to)+1)
		default:
			p.sums |= 1 << (in.to - planeOutput)
		}
	}
	sum := sha256.Sum256(p.encode())
	p.hash = binary.LittleEndian.Uint64(sum[:])
	p.bind(cpu.Chosen())
	return p
}

var errNoKernels = errors.New("this process uses no vector kernels")

// bind generates code for some kernels: both variants, or none if one fails or a call
// would exceed MaxScratch.
func (p *Program) bind(k cpu.Kernels) {
	var withoutOrigin, withOrigin error
	p.withoutOrigin, withoutOrigin = bind(p, k, false)
	p.withOrigin, withOrigin = bind(p, k, true)
	p.interpreted = cmp.Or(withoutOrigin, withOrigin)
	if p.interpreted == nil {
		p.measure()
		if p.Scratch() <= MaxScratch {
			return
		}
		p.interpreted = fmt.Errorf("planes and constants take %d float32s of scratch, more than %d", p.Scratch(), MaxScratch)
	}
	p.withoutOrigin, p.withOrigin = nil, nil
	p.measure()
}

// Interpreted returns the reason why vector kernels do not run the program in this process,
// or nil if they do. The interpreter gives the same bits (F1) in about 40 times the time.
func (p *Program) Interpreted() error { return p.interpreted }

// addsTo reports whether an instruction adds to a lane of the output. Otherwise the
// lane keeps its bits (F7).
func (p *Program) addsTo(lane int) bool { return p.sums>>lane&1 != 0 }

// Name is the effect's name in the text, or "".
func (p *Program) Name() string { return p.name }

// Params returns a copy of the parameters in order of declaration.
func (p *Program) Params() []Param { return slices.Clone(p.params) }

// Box returns the effect's region, or false if it acts everywhere. Callers may skip effects
// whose box is elsewhere; the program itself does not clip.
func (p *Program) Box() (Box, bool) { return p.box, p.boxed }

// Len returns the number of instructions, at most MaxInstructions.
func (p *Program) Len() int { return len(p.code) }

// Hash identifies the program by its portable form: name, parameters, box, literals and
// instructions. It is the same on every machine.
func (p *Program) Hash() uint64 { return p.hash }

// Scratch is the number of float32s of scratch that Evaluate needs: at most MaxScratch,
// whatever the number of points (F5).
func (p *Program) Scratch() int { return p.work + p.pool }

// NanosecondsPerPoint estimates the effect's cost per point in this process, with its
// chosen kernels, from the effect's operations. It is accurate to a factor of two or three:
// use it for warnings, and measure for all other purposes.
func (p *Program) NanosecondsPerPoint() float64 {
	if p.withOrigin != nil {
		return float64(p.withOrigin.blockNanoseconds()) / BlockPoints
	}
	sum := 0.0
	for _, in := range p.code[p.preloads:] {
		switch in.op { // measured, without assembly
		case opExp2:
			sum += 16
		case opSin:
			sum += 8
		case opRsqrt:
			sum += 4
		default:
			sum++
		}
	}
	return sum
}
