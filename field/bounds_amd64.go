//go:build !purego

package field

import (
	"math"
	"unsafe"

	"github.com/worldd/worldd/internal/cpu"
)

// boundsAVX512 finds how far whole blocks reach, at least one: for each lane the
// bits of the least number, those of the greatest, and something that is not 0 if
// there is NaN.
//
//go:noescape
func boundsAVX512(x, y, z *float32, blocks int, to *[9]uint32)

// boundsAVX2 is its twin.
//
//go:noescape
func boundsAVX2(x, y, z *float32, blocks int, to *[9]uint32)

func boundsOf(points Planes) bounds { return boundsBy(cpu.Chosen(), points) }

func boundsBy(k cpu.Kernels, points Planes) bounds {
	b := nowhere
	blocks := len(points.X) / BlockPoints
	if blocks == 0 || k == cpu.Go {
		return boundsGo(b, points)
	}
	var found [9]uint32
	x, y, z := unsafe.SliceData(points.X), unsafe.SliceData(points.Y), unsafe.SliceData(points.Z)
	if k == cpu.AVX512 {
		boundsAVX512(x, y, z, blocks, &found)
	} else {
		boundsAVX2(x, y, z, blocks, &found)
	}
	for lane := range b {
		f := found[3*lane:]
		b[lane] = extent{least: math.Float32frombits(f[0]), greatest: math.Float32frombits(f[1]), nan: f[2] != 0}
	}
	return boundsGo(b, points.cut(blocks*BlockPoints, len(points.X)))
}
