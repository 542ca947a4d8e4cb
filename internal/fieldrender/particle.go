package fieldrender

import (
	"math"
	"math/rand/v2"

	"github.com/worldd/worldd/field"
)

// How particles are moved, and how much of their way is shown, in steps.
const (
	stepsPerFrame = 2
	windTrace     = 18
	// Speed takes time to gain: an acceleration is seen by all of the way.
	accelerationTrace = frames * stepsPerFrame
	// In a wind a particle lives from half of to all of maxLife steps, then starts
	// anew elsewhere, so that places which all leave don't stay empty. What gains
	// speed is left the time for it.
	maxLife = 120
	// deepest is how far particles may get from the plane, as a part of the longer
	// side of the region: further off they say nothing about it.
	deepest = 0.25
	// A particle that in idleSteps has not got as far as idleShare of the longer
	// side is not drawn, and ends in a wind: it has nothing to show.
	idleSteps = 8
	idleShare = 1.0 / 500
)

// A swarm is particles that the effect carries.
type swarm struct {
	view   View
	probe  *probe
	random *rand.Rand
	step   float32 // seconds
	steps  int     // made so far
	starts uint32  // of particles, so far

	position, velocity, middle field.Planes
	life                       []int
	traces                     []trace
}

// A trace is where in the region a particle was after its last steps, as a ring.
type trace struct {
	points [][2]float32
	count  int // of places so far; those that are still there are the last ones
}

// before is the place so many steps ago.
func (t *trace) before(steps int) [2]float32 { return t.points[(t.count-1-steps)%len(t.points)] }

// newSwarm strews n particles over the region of a view. Every swarm of a view
// is the same (P1).
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
		s.life[i] = 1 + s.random.IntN(maxLife) // not all end at once
		s.record(i)
	}
	return s
}

// Multiples of these, as parts of 2^32, fill a square evenly: however many there
// are, none are close together and no gap is left (M. Roberts' R2 sequence, 2018).
const spreadRight, spreadVertical = 0xc13fa9a9, 0x91e10da5

// start puts a particle at rest somewhere in the slice, away from those before.
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

// advance makes one step.
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

// blow moves particles with the field by the midpoint rule: a whirl keeps its
// particles on circles, which a plain step does not.
func (s *swarm) blow() {
	now := s.view.Time + float32(float32(s.steps)*s.step)
	s.evaluate(s.position, now)
	s.addTo(s.middle, s.position, s.probe.out, s.step/2)
	s.evaluate(s.middle, now+s.step/2)
	s.addTo(s.position, s.position, s.probe.out, s.step)
}

// accelerate lets the field change velocities, and these the places.
func (s *swarm) accelerate() {
	s.evaluate(s.position, s.view.Time+float32(float32(s.steps)*s.step))
	s.addTo(s.velocity, s.velocity, s.probe.out, s.step)
	s.addTo(s.position, s.position, s.velocity, s.step)
}

func (s *swarm) evaluate(points field.Planes, time float32) {
	s.probe.points = points
	s.probe.evaluate(time)
}

// addTo makes sum = a + b*by.
func (s *swarm) addTo(sum, a, b field.Planes, by float32) {
	for i := range s.life {
		sum.X[i] = a.X[i] + float32(b.X[i]*by)
		sum.Y[i] = a.Y[i] + float32(b.Y[i]*by)
		sum.Z[i] = a.Z[i] + float32(b.Z[i]*by)
	}
}

// lost is true of what has left the region, or the plane too far behind.
func (s *swarm) lost(i int) bool {
	v := &s.view
	right, vertical, through := v.Plane.turn(s.position)
	inside := right[i] >= v.Min[0] && right[i] <= v.Max[0] && vertical[i] >= v.Min[1] && vertical[i] <= v.Max[1] &&
		math.Abs(float64(through[i]-v.At)) <= float64(v.longerSide())*deepest
	return !inside // NaN too
}

// idle is true of what has hardly moved as far as its trace goes back.
func (s *swarm) idle(i int) bool {
	t := &s.traces[i]
	now, before := t.before(0), t.before(min(t.count, len(t.points))-1)
	dx, dy := float64(now[0])-float64(before[0]), float64(now[1])-float64(before[1])
	return math.Sqrt(float64(dx*dx)+float64(dy*dy)) < float64(idleShare*float64(s.view.longerSide()))
}

// record adds the place of a particle to its trace.
func (s *swarm) record(i int) {
	right, vertical, _ := s.view.Plane.turn(s.position)
	t := &s.traces[i]
	t.points[t.count%len(t.points)] = [2]float32{right[i], vertical[i]}
	t.count++
}

// Measures of a trace, in pixels: how wide it is at its old end and at its head,
// and how long a line of it at least. Many short ones would leave gaps, because
// none of them covers much of a pixel.
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
		place := func(age int) (x, y float64) {
			at := t.before(age)
			return p.toPixel(at[0], at[1])
		}
		x, y := place(0)
		with := c.inkAt(p.rect, x, y)
		c.dot(p.rect, with, traceHead, x, y)
		last := min(t.count, len(t.points))
		for age := range last - 1 {
			width := traceHead - float64((traceHead-traceTail)*float64(age))/float64(len(t.points))
			ax, ay := place(age + 1)
			if age+2 < last && math.Abs(ax-x)+math.Abs(ay-y) < shortestLine {
				continue
			}
			c.line(p.rect, with, width, ax, ay, x, y)
			x, y = ax, ay
		}
	}
}
