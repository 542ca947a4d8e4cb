//go:build yardstick && cgo && amd64 && linux

package fastmath

/*
#cgo CFLAGS: -O3 -march=native -ffast-math
#include "../fused/effects.h"
void plain_any(const planes *, const scene *, int id, int times);
void plain_512(const planes *, const scene *, int id, int times);
void copy_planes(const planes *, int times);
void add_planes(const planes *, int times);
*/
import "C"

import (
	"unsafe"

	"github.com/worldd/worldd/internal/bench/field/fused"
)

// Run adds the effect to the output times times, with vectors of the width that gcc
// prefers, or of 512 bits if wide.
func Run(wide bool, p *fused.Planes, s *fused.Scene, effect, times int) {
	p.WithPinned(func(a unsafe.Pointer) {
		planes, scene := (*C.planes)(a), (*C.scene)(unsafe.Pointer(s))
		if wide {
			C.plain_512(planes, scene, C.int(effect), C.int(times))
			return
		}
		C.plain_any(planes, scene, C.int(effect), C.int(times))
	})
}

// Copy copies the points to the output times times: 24 bytes of memory traffic per point.
func Copy(p *fused.Planes, times int) {
	p.WithPinned(func(a unsafe.Pointer) { C.copy_planes((*C.planes)(a), C.int(times)) })
}

// Add adds the points to the output times times: 36 bytes of memory traffic per point, as
// for an effect.
func Add(p *fused.Planes, times int) {
	p.WithPinned(func(a unsafe.Pointer) { C.add_planes((*C.planes)(a), C.int(times)) })
}
