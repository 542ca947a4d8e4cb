package field

import (
	"fmt"
	"math/bits"
	"sync"
	"sync/atomic"
	"unsafe"
)

// parallelNanoseconds is the work from which other goroutines help: for less, waking
// them takes a good part of the time saved.
const parallelNanoseconds = 200_000

// EvaluateParallel is Evaluate on as many goroutines as there are scratches, including
// the caller's. Below about 200 us of work the caller runs alone. The results are the
// same (F2). Waking goroutines allocates a little.
//
// It also returns ErrScratch without scratches, and ErrOverlap if two of them overlap.
func (s *Set) EvaluateParallel(points, out Planes, scratches [][]float32) error {
	if len(scratches) == 0 {
		return fmt.Errorf("%w: there are no scratches", ErrScratch)
	}
	for i, scratch := range scratches {
		if err := checkMemory(&points, &out, scratch, s.work); err != nil {
			return err
		}
		for _, other := range scratches[:i] {
			if share(scratch[:s.work], other[:s.work]) {
				return fmt.Errorf("%w: give each goroutine its own scratch", ErrOverlap)
			}
		}
	}
	if len(scratches) > 1 && s.isWorthSharing(&points) {
		s.evaluateBy(&points, &out, scratches)
		return nil
	}
	return s.Evaluate(points, out, scratches[0])
}

// share reports whether two scratches of one length overlap.
func share(a, b []float32) bool {
	if len(a) == 0 {
		return false
	}
	x, y := uintptr(unsafe.Pointer(&a[0])), uintptr(unsafe.Pointer(&b[0]))
	return max(x, y)-min(x, y) < 4*uintptr(len(a))
}

// evaluateBy hands out regions to idle goroutines.
func (s *Set) evaluateBy(points, out *Planes, scratches [][]float32) {
	var next atomic.Int64
	work := func(scratch []float32) {
		for {
			at := int(next.Add(regionPoints)) - regionPoints
			if at >= len(points.X) {
				return
			}
			s.region(points, out, at, scratch)
		}
	}
	var others sync.WaitGroup
	for _, scratch := range scratches[1:] {
		others.Go(func() { work(scratch) })
	}
	work(scratches[0])
	others.Wait()
}

// isWorthSharing estimates whether a set is worth sharing, from one region in four.
func (s *Set) isWorthSharing(points *Planes) bool {
	const step = 4 * regionPoints
	nanoseconds := 0
	for at := 0; at < len(points.X) && nanoseconds <= parallelNanoseconds; at += step {
		regions := (min(step, len(points.X)-at) + regionPoints - 1) / regionPoints
		nanoseconds += regions * s.estimate(points, at)
	}
	return nanoseconds > parallelNanoseconds
}

// estimate returns the time for the region at a point, in nanoseconds.
func (s *Set) estimate(points *Planes, at int) (nanoseconds int) {
	var chunks [regionChunks]bounds
	near := s.findNear(points, at, &chunks)
	count := min(regionChunks, (len(points.X)-at+chunkPoints-1)/chunkPoints)
	for w, word := range near[:(len(s.calls)+63)/64] {
		for ; word != 0; word &= word - 1 {
			i := w<<6 | bits.TrailingZeros64(word)
			for c := range chunks[:count] {
				if !s.areas[i].misses(&chunks[c]) {
					nanoseconds += s.calls[i].blockNanoseconds() * (chunkPoints / BlockPoints)
				}
			}
		}
	}
	return nanoseconds
}
