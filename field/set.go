package field

import (
	"errors"
	"fmt"
	"math/bits"
	"slices"
)

// MaxEffects bounds a Set: each of its effects is looked at for each few thousand
// points.
const MaxEffects = 4096

// ErrFull says that a Set has MaxEffects effects already.
var ErrFull = errors.New("field: the set is full")

// A Set is a field: effects, each with a place, a time and parameters of its own.
// It is put together anew, by Reset and Add, whenever one of them changes, which
// costs some hundred nanoseconds an effect and no memory once it has been as large
// before. The zero value is an empty set.
//
// Points that are near to each other should follow each other: a set is evaluated
// for some hundred points at a time, and leaves out the effects whose box is
// somewhere else. With points in random order nothing is left out. What a point
// gets is the same in any order (F2).
//
// Any number of goroutines may evaluate a set at once, each with scratch of its
// own, while nobody changes it.
type Set struct {
	calls  []call
	places []place // of the calls
	pool   []float32
	work   int
}

// A place is where an effect acts: a box around an origin, or everywhere.
type place struct {
	origin [3]float32
	box    Box
	boxed  bool
}

// Points are looked at by chunks, and chunks by regions: what is nowhere in the
// region is not looked at again for each of its chunks. Chunks of 64 and 128
// points take longer (BENCHMARKS.md).
const (
	chunkPoints  = 256
	regionChunks = 16
	regionPoints = chunkPoints * regionChunks
)

// Reset removes all effects and keeps the memory.
func (s *Set) Reset() {
	s.calls, s.places, s.pool, s.work = s.calls[:0], s.places[:0], s.pool[:0], 0
}

// Len is the number of effects.
func (s *Set) Len() int { return len(s.calls) }

// Add adds an effect. If its program has a box, the effect acts on the points in it
// alone: those where each lane of point - Origin is from the least to the greatest
// of the box's. All others keep what they have, bit for bit. Unlike
// Program.Evaluate, this clips.
//
// env.Params must stay as they are until the last evaluation. The errors ErrParams
// and ErrFull are the caller's fault, and add nothing.
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
	s.places = append(s.places, place{env.Origin, p.box, p.boxed})
	s.work = max(s.work, p.work)
	return nil
}

// Scratch is the number of float32s of scratch that Evaluate wants: at most
// MaxScratch (F5).
func (s *Set) Scratch() int { return s.work }

// Evaluate adds the effects at the points to out, in the order in which they were
// added to the set (F4). What is said of planes and scratch at Program.Evaluate
// goes for this, too. The errors ErrPlanes, ErrOverlap and ErrScratch are the
// caller's fault, and leave out as it was.
func (s *Set) Evaluate(points, out Planes, scratch []float32) error {
	if err := checkMemory(&points, &out, scratch, s.work); err != nil {
		return err
	}
	for at := 0; at < len(points.X); at += regionPoints {
		s.region(&points, &out, at, scratch)
	}
	return nil
}

// Work counts for how many points each effect is run by Evaluate, and adds that up
// over the effects: what culling leaves, which tells whether the order of the points
// is a good one. It costs about as much as an evaluation that has nothing to run.
func (s *Set) Work(points Planes) int {
	var chunks [regionChunks]bounds
	n := 0
	for at := 0; at < len(points.X); at += regionPoints {
		near := s.survey(&points, at, &chunks)
		end := min(at+regionPoints, len(points.X))
		for w, word := range near[:(len(s.calls)+63)/64] {
			for ; word != 0; word &= word - 1 {
				p := &s.places[w<<6|bits.TrailingZeros64(word)]
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

// region evaluates the effects that are somewhere in the region that begins at a
// point: one effect after the other, and chunks next to each other in one run.
func (s *Set) region(points, out *Planes, at int, scratch []float32) {
	var chunks [regionChunks]bounds
	near := s.survey(points, at, &chunks)
	end := min(at+regionPoints, len(points.X))
	count := (end - at + chunkPoints - 1) / chunkPoints
	for w, word := range near[:(len(s.calls)+63)/64] {
		for ; word != 0; word &= word - 1 {
			i := w<<6 | bits.TrailingZeros64(word)
			c, p := &s.calls[i], &s.places[i]
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

// survey measures the chunks of the region that begins at a point, and finds the
// effects that are somewhere in it.
func (s *Set) survey(points *Planes, at int, chunks *[regionChunks]bounds) (near [MaxEffects / 64]uint64) {
	end := min(at+regionPoints, len(points.X))
	measured := chunks[:(end-at+chunkPoints-1)/chunkPoints]
	boundsOf(measured, points.cut(at, end))
	all := nowhere
	for c := range measured {
		all.join(&measured[c])
	}
	for i := range s.places {
		if !s.places[i].misses(&all) {
			near[i>>6] |= 1 << (i & 63)
		}
	}
	return near
}

// misses says that no point within the bounds is in the box. It takes the origin
// away as the machine does: rounding keeps order, so the two never disagree.
func (p *place) misses(b *bounds) bool {
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

// contains says that all points within the bounds are in the box.
func (p *place) contains(b *bounds) bool {
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
