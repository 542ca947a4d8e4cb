//go:build !purego

package field

import (
	"unsafe"

	"github.com/worldd/worldd/internal/cpu"
)

//go:generate go -C _asm run .

// A handler is one of the machine's by its number. It is assembly that works on a
// block and goes on to the handler of the next instruction.
type handler uint16

// A frame is what handlers know of a call. They find its fields by their offsets.
type frame struct {
	points  [3]unsafe.Pointer // 0: the block at hand
	out     [3]unsafe.Pointer // 24: what they work on
	code    unsafe.Pointer    // 48
	scratch unsafe.Pointer    // 56
	pool    unsafe.Pointer    // 64
	blocks  uintptr           // 72: to do
	clip    uintptr           // 80: 1 if points outside of the box keep their output
	target  [3]unsafe.Pointer // 88: where the output belongs, if AVX2 clips
}

// The addresses of the handlers, by number; 0 for those that a path does not have.
// They are filled in by the assembler and never change.
var (
	handlersAVX2   [handlers]uintptr
	handlersAVX512 [handlers]uintptr
)

// threadAVX2 runs the code of a frame over its blocks.
//
//go:noescape
func threadAVX2(f *frame)

// threadAVX512 is its twin.
//
//go:noescape
func threadAVX512(f *frame)

func handlersOf(k cpu.Kernels) *[handlers]uintptr {
	if k == cpu.AVX512 {
		return &handlersAVX512
	}
	return &handlersAVX2
}

// run executes bound code on whole blocks: all slices have a multiple of
// BlockPoints. The scratch is aligned.
func (b *bound) run(points, out Planes, pool, scratch []float32, clip bool) {
	f := frame{
		points: planePointers(points), out: planePointers(out),
		code:    unsafe.Pointer(unsafe.SliceData(b.code)),
		scratch: unsafe.Pointer(unsafe.SliceData(scratch)),
		pool:    unsafe.Pointer(unsafe.SliceData(pool)),
	}
	raceRead(points)
	raceWrite(out)
	for n := len(points.X) / BlockPoints; n > 0; {
		blocks := min(n, b.blocks)
		f.blocks = uintptr(blocks)
		if clip {
			f.clip = 1
		}
		if b.kernels == cpu.AVX512 {
			threadAVX512(&f)
		} else {
			if clip {
				f.target = f.out
				f.out = planePointers(spare(scratch, 3))
			}
			threadAVX2(&f)
			if clip {
				f.out = f.target
			}
		}
		n -= blocks
		if n > 0 {
			points, out = points.from(blocks*BlockPoints), out.from(blocks*BlockPoints)
			f.points, f.out = planePointers(points), planePointers(out)
		}
	}
}

func planePointers(p Planes) [3]unsafe.Pointer {
	return [3]unsafe.Pointer{unsafe.Pointer(unsafe.SliceData(p.X)), unsafe.Pointer(unsafe.SliceData(p.Y)), unsafe.Pointer(unsafe.SliceData(p.Z))}
}
