//go:build race

package field

import (
	"runtime"
	"unsafe"
)

// The race detector does not see what assembly does, so it is told.

func raceRead(p Planes) {
	for _, plane := range [3][]float32{p.X, p.Y, p.Z} {
		runtime.RaceReadRange(unsafe.Pointer(unsafe.SliceData(plane)), 4*len(plane))
	}
}

func raceWrite(p Planes) {
	for _, plane := range [3][]float32{p.X, p.Y, p.Z} {
		runtime.RaceWriteRange(unsafe.Pointer(unsafe.SliceData(plane)), 4*len(plane))
	}
}
