//go:build yardstick && cgo && amd64 && linux

package fused

/*
#cgo CFLAGS: -O3 -std=c11 -mtune=native
#include "effects.h"
void fused_512(const planes *, const scene *, int what, int times);
void fused_256(const planes *, const scene *, int what, int times);
*/
import "C"

import (
	"runtime"
	"unsafe"
)

// Effect is one effect's numbers: the centre, how strong, how large (an explosion
// and an updraft: the square of the radius; a whirl: -1/radius), and turns a metre.
// The z of a wind is its strength along z.
type Effect struct{ X, Y, Z, Strength, Size, Waves float32 }

// Scene is all sixteen. A single effect is the first of its kind. The layout is
// that of effects.h.
type Scene struct {
	Time       float32
	Explosions [8]Effect
	Whirls     [4]Effect
	Winds      [2]Effect
	Updrafts   [2]Effect
}

// What to evaluate.
const (
	Explosion = C.what_explosion
	Whirl     = C.what_whirl
	Sixteen   = C.what_sixteen
)

// Planes are the six of a call, points and then output, all of one length.
type Planes [6][]float32

// Pinned calls with the planes of effects.h, whose memory stays where it is for
// the length of the call.
func (p *Planes) Pinned(call func(planes unsafe.Pointer)) {
	var pin runtime.Pinner
	defer pin.Unpin()
	a := C.planes{n: C.size_t(len(p[0]))}
	for i, to := range [6]**C.float{&a.x, &a.y, &a.z, &a.out_x, &a.out_y, &a.out_z} {
		pin.Pin(&p[i][0])
		*to = (*C.float)(unsafe.Pointer(&p[i][0]))
	}
	call(unsafe.Pointer(&a))
}

// Run adds the effect to the output so many times, with 16 lanes (AVX-512) or 8
// (AVX2). Whether the machine has them is the caller's to know.
func Run(lanes int, p *Planes, s *Scene, what, times int) {
	p.Pinned(func(a unsafe.Pointer) {
		planes, scene := (*C.planes)(a), (*C.scene)(unsafe.Pointer(s))
		if lanes == 16 {
			C.fused_512(planes, scene, C.int(what), C.int(times))
			return
		}
		C.fused_256(planes, scene, C.int(what), C.int(times))
	})
}
