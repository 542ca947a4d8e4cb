//go:build !purego

package columns

import (
	"unsafe"

	"github.com/worldd/worldd/internal/cpu"
)

// addScaledChunk bounds one call to a few microseconds: assembly cannot be preempted.
const addScaledChunk = 1 << 14

func addScaledFast(to, from []float32, k float32) int {
	if cpu.Chosen() < cpu.AVX2 {
		return 0
	}
	whole := len(to) &^ 7
	for done := 0; done < whole; done += addScaledChunk {
		addScaledAVX(unsafe.SliceData(to[done:]), unsafe.SliceData(from[done:]), min(whole-done, addScaledChunk), k)
	}
	return whole
}
