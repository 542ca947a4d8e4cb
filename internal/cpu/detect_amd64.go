//go:build !purego

package cpu

import "golang.org/x/sys/cpu"

func detect() Kernels {
	switch x := &cpu.X86; {
	case !x.HasAVX2 || !x.HasFMA:
		return Go
	case x.HasAVX512F && x.HasAVX512DQ && x.HasAVX512VL:
		return AVX512
	}
	return AVX2
}
