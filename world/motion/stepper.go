package motion

// Params describes the world in which bodies move. Stepping does not check it: see
// world.Config.Validate for the ranges.
type Params struct {
	TickHz     int     // ticks per second
	Gravity    float32 // m/s2 downwards; 0 for none
	HalfExtent Vec3    // metres; bodies stay within +-X, +-Z, and 0 to Y
	Bounds     Bounds  // what happens to bodies that move out of the world
	RestSpeed  float32 // m/s up to which a body rests; above twice this speed it counts as moving
	RestTicks  uint32  // ticks of rest after which a body may sleep
}

// Stepper moves bodies by Params. Its fields are read-only, except that Kinds may grow
// between calls; any number of goroutines may use it concurrently. Use New.
type Stepper struct {
	Params
	Kinds []Kind // by KindID

	TickSeconds float32
	Fall        float32 // m/s of downward velocity that gravity adds per tick
	MinImpact   float32 // m/s; slower impacts do not bounce

	restSquare, moveSquare float32 // squares of the speed limits of isResting and NearRest
}

// New returns a Stepper without kinds.
func New(p Params) Stepper {
	s := Stepper{Params: p, TickSeconds: float32(1 / float64(p.TickHz))}
	s.Fall = float32(p.Gravity * s.TickSeconds)
	s.MinImpact = float32(2*s.Fall) + 0.25
	moving := float32(hysteresis * p.RestSpeed)
	s.restSquare, s.moveSquare = float32(p.RestSpeed*p.RestSpeed), float32(moving*moving)
	return s
}

// Coupling returns Kind.Coupling for a drag in 1/s. It is the implicit solution of
// dv/dt = drag*(wind-v), stable for every drag and tick length.
func (s *Stepper) Coupling(drag float32) float32 {
	d := float32(drag * s.TickSeconds)
	return d / (1 + d)
}

// Seconds returns the duration of ticks: in float64, to 4 ns after a year.
func (s *Stepper) Seconds(ticks uint64) float64 { return float64(ticks) / float64(s.TickHz) }

// Step moves rows [from, to) by one tick: forces, gravity, semi-implicit Euler, ground
// and bounds. It sets the bits of changed rows in b.Moved, and of rows whose velocity was
// not finite in b.Stopped.
func (s *Stepper) Step(c *Batch, f *Forces, b *Bodies, from, to int) {
	for ; from < to; from += BatchRows {
		end := min(from+BatchRows, to)
		s.sumForces(c, f, b, from, end)
		if end-from < shortRun {
			s.integrateRows(c, b, from, end)
		} else {
			s.integrateColumns(c, b, from, end)
		}
	}
}

// Accelerate is the first part of Step: it applies forces, gravity and MaxSpeed to
// velocities and moves nothing.
func (s *Stepper) Accelerate(c *Batch, f *Forces, b *Bodies, from, to int) {
	for ; from < to; from += BatchRows {
		end := min(from+BatchRows, to)
		s.sumForces(c, f, b, from, end)
		for row := from; row < end; row++ {
			v := b.Velocity(row)
			if next := b.Limit(row, s.applyForces(c, &s.Kinds[b.Kind[row]], row-from, v)); next != v {
				b.SetVelocity(row, next)
				b.markMoved(row)
			}
		}
	}
}
