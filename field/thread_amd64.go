//go:build !purego

package field

import (
	"math"
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
	bytes   uintptr           // 72: of each plane, to do
	masked  uintptr           // 80: 1 if points that lanes leaves out, or that are clipped, keep their output
	target  [3]unsafe.Pointer // 88: where the output belongs, if AVX2 is masked
	clip    uintptr           // 112: 1 if points outside of the box keep their output
	lanes   uint64            // 120: a bit for each point of a block
	tail    uintptr           // 128: where the block that is masked by lanes begins, in bytes; 0 if there is none (AVX-512)
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

// run executes bound code on points, from from to to, at least a block of them. A
// last block that is not whole begins further in front, and changes the output of
// those points alone that no other block gets to. It comes first, or it would have to
// wait until what it reads of the one before has been written. The scratch is aligned.
func (b *bound) run(points, out *Planes, from, to int, pool, scratch []float32, clip bool) {
	raceRead(points.X[from:to], points.Y[from:to], points.Z[from:to])
	raceWrite(out.X[from:to], out.Y[from:to], out.Z[from:to])
	f := frame{
		code:    unsafe.Pointer(unsafe.SliceData(b.code)),
		scratch: unsafe.Pointer(unsafe.SliceData(scratch)),
		pool:    unsafe.Pointer(unsafe.SliceData(pool)),
		lanes:   math.MaxUint64,
	}
	if clip {
		f.masked, f.clip = 1, 1
	}
	if rest := (to - from) % BlockPoints; rest > 0 {
		f.masked, f.lanes = 1, math.MaxUint64<<(BlockPoints-rest)
		if b.kernels == cpu.AVX512 {
			f.tail = uintptr(4 * (to - BlockPoints - from))
		} else {
			f.bytes = planeBytes
			b.thread(&f, points, out, to-BlockPoints, scratch)
			f.masked, f.lanes = f.clip, math.MaxUint64
		}
		to -= rest
	}
	for step := b.blocks * BlockPoints; from < to; from += step {
		f.bytes = uintptr(4 * min(step, to-from))
		b.thread(&f, points, out, from, scratch)
	}
}

// thread is one call of assembly.
func (b *bound) thread(f *frame, points, out *Planes, at int, scratch []float32) {
	// One by one: what is copied in larger pieces than it was stored in has to wait
	// for the stores.
	f.points[0], f.points[1], f.points[2] = unsafe.Pointer(&points.X[at]), unsafe.Pointer(&points.Y[at]), unsafe.Pointer(&points.Z[at])
	f.out[0], f.out[1], f.out[2] = unsafe.Pointer(&out.X[at]), unsafe.Pointer(&out.Y[at]), unsafe.Pointer(&out.Z[at])
	switch {
	case b.kernels == cpu.AVX512:
		threadAVX512(f)
	case f.masked != 0:
		sum, lanes := spare(scratch, 3), scratch[BlockPoints:][:BlockPoints]
		for i := range lanes {
			lanes[i] = math.Float32frombits(-uint32(f.lanes >> i & 1))
		}
		f.target = f.out
		f.out = [3]unsafe.Pointer{unsafe.Pointer(&sum.X[0]), unsafe.Pointer(&sum.Y[0]), unsafe.Pointer(&sum.Z[0])}
		threadAVX2(f)
	default:
		threadAVX2(f)
	}
}
