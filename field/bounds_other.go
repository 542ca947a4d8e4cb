//go:build !amd64 || purego

package field

import "github.com/worldd/worldd/internal/cpu"

func boundsOf(points Planes) bounds { return boundsBy(cpu.Go, points) }

func boundsBy(_ cpu.Kernels, points Planes) bounds { return boundsGo(nowhere, points) }
