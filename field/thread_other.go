//go:build !amd64 || purego

package field

import "github.com/worldd/worldd/internal/cpu"

// On this platform the portable instructions run: nothing is ever bound.
type bound struct {
	planes   int
	literals []float32
}

var kernelsOfBuild []cpu.Kernels // none

func bind(*Program, cpu.Kernels, bool) (*bound, error) { return nil, errNoKernels }

func (*bound) fill([]float32, *Program, *Env) {}

func (*bound) run(_, _ *Planes, _, _ int, _, _ []float32, _ bool) {}

func (*bound) steps() int { panic("field: no bound code on this platform") }

func (*bound) blockNanoseconds() int { panic("field: no bound code on this platform") }

func boundsFast([]bounds, Planes) int { return 0 }

func boundsBy(cpu.Kernels, []bounds, Planes) int { return 0 }
