package field

import (
	"errors"
	"fmt"
	"math/bits"
	"slices"
)

// MaxEffects bounds a Set: each effect is tested for every few thousand points.
const MaxEffects = 4096

// ErrFull reports that a Set has MaxEffects effects.
var ErrFull = errors.New("field: the set is full")

// A Set is a field: a list of effects, each with its own origin, time and parameters.
// Rebuild it with Reset and Add whenever an effect changes: this takes some hundred
// nanoseconds per effect, and does not allocate once the capacity suffices. The zero value
// is an empty set.
//
// Order points so that neighbours are close: a set is evaluated for a few hundred
// points at a time, and skips effects whose box is elsewhere. In random order nothing
// is skipped. Results do not depend on the order (F2).
//
// A set may be evaluated concurrently, with separate scratch, while no goroutine
// changes it.
type Set struct {
	calls []call
	areas []area // parts of scratch that the calls use
	pool  []float32
	work  int
}

// An area is where an effect acts: a box around an origin, or everywhere.
type area struct {
	origin [3]float32
	box    Box
	boxed  bool
}

// Points are tested by region, then by chunk: an effect outside of a region is not tested
// for the chunks of the region. Chunks of 64 and 128 points are slower (BENCHMARKS.md).
const (
	chunkPoints  = 256
	regionChunks = 16
	regionPoints = chunkPoints * regionChunks
)

// Reset removes all effects but keeps the memory.
func (s *Set) Reset() {
	s.calls, s.areas, s.pool, s.work = s.calls[:0], s.areas[:0], s.pool[:0], 0
}

// Len is the number of effects.
func (s *Set) Len() int { return len(s.calls) }

// Add adds an effect. If its program has a box, the effect acts only on points with each
// lane of point - Origin within the box; other points keep their bits. Program.Evaluate
// does not clip in this way.
//
// env.Params must not change until the last evaluation. ErrParams and ErrFull are the
// caller's fault and leave the set unchanged.
func (s *Set) Add(p *Program, env Env) error {
	if len(s.calls) == MaxEffects {
		return fmt.Errorf("%w: %d effects", ErrFull, MaxEffects)
	}
	if err := p.checkParams(&env); err != nil {
		return err
	}
	if len(p.code) == 0 {
		return nil // the zero Program
	}
	from, to := len(s.pool), len(s.pool)+p.pool
	s.pool = slices.Grow(s.pool, to-from)[:to]
	s.calls = append(s.calls, call{})
	s.calls[len(s.calls)-1].prepare(p, &env, s.pool[from:])
	s.areas = append(s.areas, area{env.Origin, p.box, p.boxed})
	s.work = max(s.work, p.work)
	return nil
}

// Scratch is the number of float32s of scratch that Evaluate needs: at most MaxScratch
// (F5).
func (s *Set) Scratch() int { return s.work }

// Evaluate adds the effects at the points to out, in the order of Add (F4).
// Program.Evaluate's rules for planes and scratch apply. The errors ErrPlanes,
// ErrOverlap and ErrScratch are the caller's fault and leave out unchanged.
func (s *Set) Evaluate(points, out Planes, scratch []float32) error {
	if err := checkMemory(&points, &out, scratch, s.work); err != nil {
		return err
	}
	for at := 0; at < len(points.X); at += regionPoints {
		s.region(&points, &out, at, scratch)
	}
	return nil
}

// Work returns the number of evaluations that remain after culling: the points for which
// Evaluate runs each effect, summed over effects. It shows whether points are well ordered.
// It costs about as much as culling itself.
func (s *Set) Work(points Planes) int {
	var chunks [regionChunks]bounds
	n := 0
	for at := 0; at < len(points.X); at += regionPoints {
		near := s.findNear(&points, at, &chunks)
		end := min(at+regionPoints, len(points.X))
		for w, word := range near[:(len(s.calls)+63)/64] {
			for ; word != 0; word &= word - 1 {
				p := &s.areas[w<<6|bits.TrailingZeros64(word)]
				for c, from := 0, at; from < end; c, from = c+1, from+chunkPoints {
					if !p.misses(&chunks[c]) {
						n += min(chunkPoints, end-from)
					}
				}
			}
		}
	}
	return n
}

// region evaluates the effects in the region that starts at index at: one effect after
// another, with adjacent chunks in one run.
func (s *Set) region(points, out *Planes, at int, scratch []float32) {
	var chunks [regionChunks]bounds
	near := s.findNear(points, at, &chunks)
	end := min(at+regionPoints, len(points.X))
	count := (end - at + chunkPoints - 1) / chunkPoints
	for w, word := range near[:(len(s.calls)+63)/64] {
		for ; word != 0; word &= word - 1 {
			i := w<<6 | bits.TrailingZeros64(word)
			c, p := &s.calls[i], &s.areas[i]
			for from := 0; from < count; {
				if p.misses(&chunks[from]) {
					from++
					continue
				}
				clip, to := !p.contains(&chunks[from]), from+1
				for to < count && !p.misses(&chunks[to]) && clip == !p.contains(&chunks[to]) {
					to++
				}
				c.run(points, out, at+from*chunkPoints, min(at+to*chunkPoints, end), scratch, clip)
				from = to
			}
		}
	}
}

// findNear computes the bounds of the chunks in the region that starts at index at, and the
// effects within reach.
func (s *Set) findNear(points *Planes, at int, chunks *[regionChunks]bounds) (near [MaxEffects / 64]uint64) {
	end := min(at+regionPoints, len(points.X))
	measured := chunks[:(end-at+chunkPoints-1)/chunkPoints]
	boundsOf(measured, points.cut(at, end))
	all := nowhere
	for c := range measured {
		all.join(&measured[c])
	}
	for i := range s.areas {
		if !s.areas[i].misses(&all) {
			near[i>>6] |= 1 << (i & 63)
		}
	}
	return near
}

// misses reports whether no point within the bounds is in the box. It subtracts the
// origin as the machine does: rounding is monotonic, so both agree.
func (p *area) misses(b *bounds) bool {
	if !p.boxed {
		return false
	}
	for lane := range b {
		if b[lane].greatest-p.origin[lane] < p.box.Min[lane] || b[lane].least-p.origin[lane] > p.box.Max[lane] {
			return true
		}
	}
	return false
}

// contains reports whether all points within the bounds are in the box.
func (p *area) contains(b *bounds) bool {
	if !p.boxed {
		return true
	}
	for lane := range b {
		e := &b[lane]
		if e.nan != 0 || !(e.least-p.origin[lane] >= p.box.Min[lane] && e.greatest-p.origin[lane] <= p.box.Max[lane]) {
			return false
		}
	}
	return true
}
