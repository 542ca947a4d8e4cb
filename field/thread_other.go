//go:build !amd64 || purego

package field

import "github.com/worldd/worldd/internal/cpu"

// bind makes nothing: here the portable instructions run as they are.
func bind(*Program, cpu.Kernels, bool) *bound { return nil }

func (*bound) run(_, _ *Planes, _, _ int, _, _ []float32, _ bool) {
	panic("field: there is no bound code here")
}
