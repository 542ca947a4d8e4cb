//go:build !amd64 || purego

package field

import "github.com/worldd/worldd/internal/cpu"

func boundsFast([]bounds, Planes) int { return 0 }

func boundsBy(cpu.Kernels, []bounds, Planes) int { return 0 }
