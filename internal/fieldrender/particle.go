package fieldrender

import (
	"math"
	"math/rand/v2"

	"github.com/worldd/worldd/field"
)

// Parameters of particles, in steps.
const (
	stepsPerFrame = 2
	windTrace     = 18
	// Particles gain speed slowly: an acceleration shows in the whole path.
	accelerationTrace = frames * stepsPerFrame
	// maxLife bounds a particle's steps in a wind; each lives at least half as long. Then it
	// restarts elsewhere, to fill regions that the wind empties. In an acceleration particles
	// do not restart.
	maxLife = 120
	// deepest bounds the distance of particles from the plane, as a share of the region's
	// longer side: beyond it they show another slice.
	deepest = 0.25
	// A particle that moved less than idleShare of the longer side in idleSteps is not
	// drawn, and restarts in a wind.
	idleSteps = 8
	idleShare = 1.0 / 500
)

// A swarm is a set of particles moved by the effect.
type swarm struct {
	view   View
	probe  *probe
	random *rand.Rand
	step   float32 // seconds
	steps  int     // taken
	starts uint32  // calls of start

	position, velocity, middle field.Planes
	life                       []int
	traces                     []trace
}

// A trace is a ring of a particle's last positions in the region.
type trace struct {
	points [][2]float32
	count  int // of positions recorded; the ring holds the last ones
}

// before returns the position steps ago.
func (t *trace) before(steps int) [2]float32 { return t.points[(t.count-1-steps)%len(t.points)] }

// newSwarm distributes n particles over the region of a view. Equal arguments give equal
// swarms (P1).
func newSwarm(program *field.Program, v View, n int, step float32) *swarm {
	s := &swarm{
		view: v, probe: newProbe(program, v, n), random: rand.New(rand.NewPCG(0, 0)), step: step,
		position: newPlanes(n), velocity: newPlanes(n), middle: newPlanes(n),
		life: make([]int, n), traces: make([]trace, n),
	}
	length := windTrace
	if v.Mode == Acceleration {
		length = accelerationTrace
	}
	for i := range n {
		s.traces[i].points = make([][2]float32, length)
		s.start(i)
		s.life[i] = 1 + s.random.IntN(maxLife) // so that they do not end together
		s.record(i)
	}
	return s
}

// Multiples of these, as fractions of 2^32, fill a square evenly for any number of points
// (M. Roberts' R2 sequence, 2018).
const spreadRight, spreadVertical = 0xc13fa9a9, 0x91e10da5

// start places a particle at rest in the slice, at the next point of the sequence.
func (s *swarm) start(i int) {
	right, vertical, through := s.view.Plane.turn(s.position)
	between := func(lo, hi float32, part uint32) float32 {
		return lo + float32(float32(float64(part)/(1<<32))*(hi-lo))
	}
	s.starts++
	right[i] = between(s.view.Min[0], s.view.Max[0], s.starts*spreadRight)
	vertical[i] = between(s.view.Min[1], s.view.Max[1], s.starts*spreadVertical)
	through[i] = s.view.At
	s.velocity.X[i], s.velocity.Y[i], s.velocity.Z[i] = 0, 0, 0
	s.life[i] = maxLife/2 + s.random.IntN(maxLife/2)
	s.traces[i].count = 0
}

// advance takes one step.
func (s *swarm) advance() {
	if s.view.Mode == Acceleration {
		s.accelerate()
	} else {
		s.blow()
	}
	s.steps++
	for i := range s.life {
		s.life[i]--
		ended := s.life[i] <= 0 || s.traces[i].count > idleSteps && s.idle(i)
		if s.lost(i) || ended && s.view.Mode == Wind {
			s.start(i)
		}
		s.record(i)
	}
}

// blow moves particles with the field by the midpoint rule, which keeps the particles of a
// whirl on circles, unlike an Euler step.
func (s *swarm) blow() {
	now := s.view.Time + float32(float32(s.steps)*s.step)
	s.evaluate(s.position, now)
	s.addTo(s.middle, s.position, s.probe.out, s.step/2)
	s.evaluate(s.middle, now+s.step/2)
	s.addTo(s.position, s.position, s.probe.out, s.step)
}

// accelerate adds the field to velocities, and these to positions.
func (s *swarm) accelerate() {
	s.evaluate(s.position, s.view.Time+float32(float32(s.steps)*s.step))
	s.addTo(s.velocity, s.velocity, s.probe.out, s.step)
	s.addTo(s.position, s.position, s.velocity, s.step)
}

func (s *swarm) evaluate(points field.Planes, time float32) {
	s.probe.points = points
	s.probe.evaluate(time)
}

// addTo sets sum = a + b*by.
func (s *swarm) addTo(sum, a, b field.Planes, by float32) {
	for i := range s.life {
		sum.X[i] = a.X[i] + float32(b.X[i]*by)
		sum.Y[i] = a.Y[i] + float32(b.Y[i]*by)
		sum.Z[i] = a.Z[i] + float32(b.Z[i]*by)
	}
}

// lost reports whether particle i has left the region, or is too far from the plane.
func (s *swarm) lost(i int) bool {
	v := &s.view
	right, vertical, through := v.Plane.turn(s.position)
	inside := right[i] >= v.Min[0] && right[i] <= v.Max[0] && vertical[i] >= v.Min[1] && vertical[i] <= v.Max[1] &&
		math.Abs(float64(through[i]-v.At)) <= float64(v.longerSide())*deepest
	return !inside // true for NaN
}

// idle reports whether particle i has hardly moved within its trace.
func (s *swarm) idle(i int) bool {
	t := &s.traces[i]
	now, before := t.before(0), t.before(min(t.count, len(t.points))-1)
	dx, dy := float64(now[0])-float64(before[0]), float64(now[1])-float64(before[1])
	return math.Sqrt(float64(dx*dx)+float64(dy*dy)) < float64(idleShare*float64(s.view.longerSide()))
}

// record appends the position of particle i to its trace.
func (s *swarm) record(i int) {
	right, vertical, _ := s.view.Plane.turn(s.position)
	t := &s.traces[i]
	t.points[t.count%len(t.points)] = [2]float32{right[i], vertical[i]}
	t.count++
}

// Dimensions of a trace, in pixels: its width at the tail and at the head, and the minimal
// length of a line. Shorter lines would leave gaps: each covers too little of a pixel.
const (
	traceTail    = 0.6
	traceHead    = 1.8
	shortestLine = 3
)

// draw draws the traces on a panel, and a dot for each particle.
func (s *swarm) draw(c canvas, p *panel) {
	for i := range s.traces {
		if s.idle(i) {
			continue
		}
		t := &s.traces[i]
		position := func(age int) (x, y float64) {
			at := t.before(age)
			return p.toPixel(at[0], at[1])
		}
		x, y := position(0)
		with := c.inkAt(p.rect, x, y)
		c.dot(p.rect, with, traceHead, x, y)
		last := min(t.count, len(t.points))
		for age := range last - 1 {
			width := traceHead - float64((traceHead-traceTail)*float64(age))/float64(len(t.points))
			ax, ay := position(age + 1)
			if age+2 < last && math.Abs(ax-x)+math.Abs(ay-y) < shortestLine {
				continue
			}
			c.line(p.rect, with, width, ax, ay, x, y)
			x, y = ax, ay
		}
	}
}
