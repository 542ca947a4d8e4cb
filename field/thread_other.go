//go:build !amd64 || purego

package field

import "github.com/worldd/worldd/internal/cpu"

// Here the portable instructions run as they are: nothing is ever bound, so that
// there is no bound to call a method of.
type bound struct {
	planes   int
	literals []float32
}

var kernelsOfBuild []cpu.Kernels // there are none

func bind(*Program, cpu.Kernels, bool) (*bound, error) { return nil, errNoKernels }

func (*bound) fill([]float32, *Program, *Env) {}

func (*bound) run(_, _ *Planes, _, _ int, _, _ []float32, _ bool) {}

func (*bound) steps() int { panic("field: there is no bound code here") }

func (*bound) blockNanoseconds() int { panic("field: there is no bound code here") }
