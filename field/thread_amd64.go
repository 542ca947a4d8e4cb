//go:build !purego

package field

import (
	"math"
	"unsafe"

	"github.com/worldd/worldd/internal/cpu"
)

//go:generate go -C _asm run .

// A handler is an assembly routine, by number. It processes a block and jumps to the
// handler of the next instruction.
type handler uint16

// A frame is a call's data for handlers, which access its fields by offset.
type frame struct {
	points  [3]unsafe.Pointer // 0: the current block
	out     [3]unsafe.Pointer // 24: output being written
	code    unsafe.Pointer    // 48
	scratch unsafe.Pointer    // 56
	pool    unsafe.Pointer    // 64
	bytes   uintptr           // 72: remaining bytes of each plane
	masked  uintptr           // 80: 1 if points outside of lanes, or outside of the box, keep their output
	target  [3]unsafe.Pointer // 88: final destination of the output, if AVX2 is masked
	clip    uintptr           // 112: 1 if points outside of the box keep their output
	lanes   uint64            // 120: bitmap of the block's points
	tail    uintptr           // 128: byte offset of the block masked by lanes; 0 if there is none (AVX-512)
}

// Handler addresses by number; 0: the path has no such handler. The assembler fills them
// in; they never change.
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

// run executes bound code on points[from:to], at least one block. A partial last block
// starts earlier, and changes only the output of points that no other block covers. It runs
// first, so that it does not wait for the stores of the previous block. The scratch is
// aligned.
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

// thread makes one call of assembly.
func (b *bound) thread(f *frame, points, out *Planes, at int, scratch []float32) {
	// Field by field: loads wider than the preceding stores would stall.
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

// boundsAVX512 computes the bounds of whole chunks, at least one.
//
//go:noescape
func boundsAVX512(x, y, z *float32, chunks int, to *[9]uint32)

// boundsAVX2 is its twin.
//
//go:noescape
func boundsAVX2(x, y, z *float32, chunks int, to *[9]uint32)

func boundsFast(to []bounds, points Planes) int { return boundsBy(cpu.Chosen(), to, points) }

// minPadded is the minimum number of points at which padding a partial chunk for the kernel
// pays off.
const minPadded = 32

// boundsBy computes the bounds of the first chunks, and returns their number.
func boundsBy(k cpu.Kernels, to []bounds, points Planes) int {
	if k == cpu.Go {
		return 0
	}
	chunks := len(points.X) / chunkPoints
	if chunks > 0 {
		boundsWhole(k, to[:chunks], points)
	}
	from := chunks * chunkPoints
	if len(points.X)-from < minPadded {
		return chunks
	}
	// Repeat the points, which changes no bound. Single stores of the rest would stall the
	// kernel's wide loads.
	var padded [3][chunkPoints]float32
	for lane, plane := range points.lanes() {
		for n := 0; n < chunkPoints; n += copy(padded[lane][n:], plane[from:]) {
		}
	}
	boundsWhole(k, to[chunks:chunks+1], Planes{X: padded[0][:], Y: padded[1][:], Z: padded[2][:]})
	return chunks + 1
}

// boundsWhole computes the bounds of whole chunks, at least one.
func boundsWhole(k cpu.Kernels, to []bounds, points Planes) {
	x, y, z := unsafe.SliceData(points.X), unsafe.SliceData(points.Y), unsafe.SliceData(points.Z)
	first := (*[9]uint32)(unsafe.Pointer(&to[0])) // a bounds is nine words
	if k == cpu.AVX512 {
		boundsAVX512(x, y, z, len(to), first)
	} else {
		boundsAVX2(x, y, z, len(to), first)
	}
}
