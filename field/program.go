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

// Box is a region in the effect's own space, in metres, faces included.
type Box struct{ Min, Max [3]float32 }

// Program is an effect, compiled and verified. It is made by Compile or Load, is
// read-only, and may be evaluated by many goroutines at once.
type Program struct {
	name     string
	params   []Param
	box      Box
	boxed    bool
	literals []float32
	code     []instruction // the first preloads of them run once a call, the rest once a block
	preloads int

	registers int    // derived from code
	sums      uint8  // derived from it too: the lanes of the output that it adds to, a bit each (F7)
	hash      uint64 // derived from all of the above

	here, placed *bound // derived too, for the kernels of this process: without and with an origin
	interpreted  error  // why there are none
	work, pool   int    // derived of those: float32s of scratch that a run wants, and of constants
}

// seal computes what is derived. The program does not change after it.
func (p *Program) seal() *Program {
	p.registers, p.sums = 0, 0
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

// bind makes the code that some kernels run: both variants, or none if one of them
// cannot be made or a call might need more scratch than MaxScratch.
func (p *Program) bind(k cpu.Kernels) {
	var here, placed error
	p.here, here = bind(p, k, false)
	p.placed, placed = bind(p, k, true)
	if p.interpreted = cmp.Or(here, placed); p.interpreted == nil {
		if p.measure(); p.Scratch() <= MaxScratch {
			return
		}
		p.interpreted = fmt.Errorf("planes and constants take %d numbers of scratch, more than %d", p.Scratch(), MaxScratch)
	}
	p.here, p.placed = nil, nil
	p.measure()
}

// Interpreted returns why no vector kernels run the program in this process, or nil
// if they do. The interpreter gives the same bits (F1) in some 40 times the time.
func (p *Program) Interpreted() error { return p.interpreted }

// addsTo says whether an instruction adds to a lane of the output. One to which none
// does keeps its bits (F7).
func (p *Program) addsTo(lane int) bool { return p.sums>>lane&1 != 0 }

// Name is what the text calls the effect; empty if it does not.
func (p *Program) Name() string { return p.name }

// Params returns the parameters in the order of their declaration. The slice is
// the caller's.
func (p *Program) Params() []Param { return slices.Clone(p.params) }

// Box returns the region that the author says the effect acts in, and false if
// it is everywhere. It is for callers that leave out effects which can't matter;
// the program itself does not clip.
func (p *Program) Box() (Box, bool) { return p.box, p.boxed }

// Hash names the program by its portable form: name, parameters, box, literals
// and instructions. It is the same on every machine.
func (p *Program) Hash() uint64 { return p.hash }

// Scratch is the number of float32s of scratch that Evaluate wants: at most
// MaxScratch, whatever the number of points (F5).
func (p *Program) Scratch() int { return p.work + p.pool }
