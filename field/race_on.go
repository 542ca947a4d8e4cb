//go:build race && amd64 && !purego

package field

import (
	"runtime"
	"unsafe"
)

// The race detector does not see accesses in assembly: report them.

func raceRead(x, y, z []float32) {
	for _, plane := range [3][]float32{x, y, z} {
		runtime.RaceReadRange(unsafe.Pointer(unsafe.SliceData(plane)), 4*len(plane))
	}
}

func raceWrite(x, y, z []float32) {
	for _, plane := range [3][]float32{x, y, z} {
		runtime.RaceWriteRange(unsafe.Pointer(unsafe.SliceData(plane)), 4*len(plane))
	}
}
