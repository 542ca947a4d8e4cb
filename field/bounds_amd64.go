//go:build !purego

package field

import (
	"unsafe"

	"github.com/worldd/worldd/internal/cpu"
)

// boundsAVX512 finds how far whole chunks reach, at least one.
//
//go:noescape
func boundsAVX512(x, y, z *float32, chunks int, to *[9]uint32)

// boundsAVX2 is its twin.
//
//go:noescape
func boundsAVX2(x, y, z *float32, chunks int, to *[9]uint32)

func boundsFast(to []bounds, points Planes) int { return boundsBy(cpu.Chosen(), to, points) }

// boundsBy computes the bounds of the whole chunks and returns how many it did.
func boundsBy(k cpu.Kernels, to []bounds, points Planes) int {
	chunks := len(points.X) / chunkPoints
	if chunks == 0 || k == cpu.Go {
		return 0
	}
	x, y, z := unsafe.SliceData(points.X), unsafe.SliceData(points.Y), unsafe.SliceData(points.Z)
	first := (*[9]uint32)(unsafe.Pointer(&to[:chunks][0])) // a bounds is nine words
	if k == cpu.AVX512 {
		boundsAVX512(x, y, z, chunks, first)
	} else {
		boundsAVX2(x, y, z, chunks, first)
	}
	return chunks
}
