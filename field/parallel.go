package field

import (
	"fmt"
	"math/bits"
	"sync"
	"sync/atomic"
)

// parallelNanoseconds is the work from which on others help: to wake them takes a
// good part of what two could save on less.
const parallelNanoseconds = 200_000

// EvaluateParallel is Evaluate by as many goroutines as there are scratches, the
// caller's among them, if there is enough to do: about 200 us. Otherwise the caller
// does it alone. The results are the same (F2). Waking others allocates a little.
//
// The error is ErrScratch, too, if there are no scratches, and ErrOverlap, if two of
// them overlap.
func (s *Set) EvaluateParallel(points, out Planes, scratches [][]float32) error {
	if len(scratches) == 0 {
		return fmt.Errorf("%w: there is none", ErrScratch)
	}
	for i, scratch := range scratches {
		if err := checkMemory(points, out, scratch, s.work); err != nil {
			return err
		}
		for _, other := range scratches[:i] {
			if overlap(scratch, other) {
				return fmt.Errorf("%w: give each goroutine scratch of its own", ErrOverlap)
			}
		}
	}
	if len(scratches) > 1 && s.isMuch(points) {
		s.share(points, out, scratches)
		return nil
	}
	return s.Evaluate(points, out, scratches[0])
}

// share hands out regions to whoever is free.
func (s *Set) share(points, out Planes, scratches [][]float32) {
	var next atomic.Int64
	work := func(scratch []float32) {
		for r := int(next.Add(1)) - 1; r < regions(points); r = int(next.Add(1)) - 1 {
			s.region(region(points, r), region(out, r), scratch)
		}
	}
	var others sync.WaitGroup
	for _, scratch := range scratches[1:] {
		others.Go(func() { work(scratch) })
	}
	work(scratches[0])
	others.Wait()
}

// isMuch estimates whether a set is worth sharing: it looks at one region in
// four, and counts the effects that are somewhere in it.
func (s *Set) isMuch(points Planes) bool {
	const step = 4
	nanoseconds, n := 0, regions(points)
	for r := 0; r < n && nanoseconds <= parallelNanoseconds; r += step {
		nanoseconds += min(step, n-r) * s.estimate(region(points, r))
	}
	return nanoseconds > parallelNanoseconds
}

// estimate is what a region takes, in nanoseconds.
func (s *Set) estimate(points Planes) (nanoseconds int) {
	var chunks [regionChunks]bounds
	near := s.survey(points, &chunks)
	for w, word := range near[:(len(s.calls)+63)/64] {
		for ; word != 0; word &= word - 1 {
			i := w<<6 | bits.TrailingZeros64(word)
			for c := range (len(points.X) + chunkPoints - 1) / chunkPoints {
				if !s.places[i].misses(&chunks[c]) {
					nanoseconds += s.calls[i].blockNanoseconds() * (chunkPoints / BlockPoints)
				}
			}
		}
	}
	return nanoseconds
}
