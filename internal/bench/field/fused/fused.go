//go:build yardstick && cgo && amd64 && linux

package fused

/*
#cgo CFLAGS: -O3 -std=c11 -mtune=native
#include "effects.h"
void fused_512(const planes *, const scene *, int id, int times);
void fused_256(const planes *, const scene *, int id, int times);
*/
import "C"

import (
	"runtime"
	"unsafe"
)

// Effect holds an effect's numbers: centre (Z of a wind is its strength along z), strength,
// size (explosion and updraft: radius squared; whirl: -1/radius), and turns per metre.
type Effect struct{ X, Y, Z, Strength, Size, Waves float32 }

// Scene holds sixteen effects, with the layout of scene in effects.h. A single effect is
// the first of its kind.
type Scene struct {
	Time       float32
	Explosions [8]Effect
	Whirls     [4]Effect
	Winds      [2]Effect
	Updrafts   [2]Effect
}

// Effects to evaluate.
const (
	Explosion = C.effect_explosion
	Whirl     = C.effect_whirl
	Sixteen   = C.effect_sixteen
)

// Planes are the planes of a call, points then output, all of one length.
type Planes [6][]float32

// WithPinned pins the planes' memory and passes them to call as planes of effects.h.
func (p *Planes) WithPinned(call func(planes unsafe.Pointer)) {
	var pin runtime.Pinner
	defer pin.Unpin()
	a := C.planes{n: C.size_t(len(p[0]))}
	for i, to := range [6]**C.float{&a.x, &a.y, &a.z, &a.out_x, &a.out_y, &a.out_z} {
		pin.Pin(&p[i][0])
		*to = (*C.float)(unsafe.Pointer(&p[i][0]))
	}
	call(unsafe.Pointer(&a))
}

// Run adds the effect to the output times times, with 16 lanes (AVX-512) or 8 (AVX2). The
// CPU must support them.
func Run(lanes int, p *Planes, s *Scene, effect, times int) {
	p.WithPinned(func(a unsafe.Pointer) {
		planes, scene := (*C.planes)(a), (*C.scene)(unsafe.Pointer(s))
		if lanes == 16 {
			C.fused_512(planes, scene, C.int(effect), C.int(times))
			return
		}
		C.fused_256(planes, scene, C.int(effect), C.int(times))
	})
}
