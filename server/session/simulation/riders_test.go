package simulation

import "github.com/worldd/worldd/bulk"

// In some seeds, entities ride on others. Clients stay away until the server has dropped
// the past states of idle rows, while the owner components of these rows continue to
// change. Only scripts with rides register Seat: all others keep the schema of the
// conformance vectors.

// Seat is the position of an entity that may ride on another.
type Seat struct {
	At [3]float32  `net:"range=-256..256,step=1/64,predict=linear,parent=On"`
	On bulk.Handle `net:"ref"`
}

const (
	// graceTicks is the grace period, and longGraceTicks the grace period of scripts with
	// travel.
	graceTicks     = 120
	longGraceTicks = 1000
	// restTicks exceeds the time after which replication drops the past states of an
	// unchanged row: minIdleTicks, and the ticks until it checks the row.
	restTicks = 640
)

func (s *sim) grace() int {
	if s.operates["travel"] {
		return longGraceTicks
	}
	return graceTicks
}

// ride seats h on another entity. That entity's own ride ends: a rider carries no rider.
func (s *sim) ride(h, on bulk.Handle) {
	if h == on || s.world.Status(on) != bulk.Live {
		return
	}
	s.seat.Set(on, Seat{})
	if s.seat.Set(h, Seat{On: on}) {
		s.lives[on].named = true
		s.coverage.rides++
	}
}

// carry moves each rider to the entity that carries it, if that entity is alive.
func (s *sim) carry() {
	if s.seat == nil {
		return
	}
	for _, l := range s.living {
		seat := s.seat.Get(l.handle)
		if seat == nil {
			continue
		}
		below := l.handle
		if s.world.Status(seat.On) == bulk.Live {
			below = seat.On
		}
		if p, _, placed := s.world.Slots().Body(below.Index()); placed {
			if at := p.Array(); at != seat.At {
				s.seat.Set(l.handle, Seat{at, seat.On})
			}
		}
	}
}

// pay changes the owner component of h.
func (s *sim) pay(h bulk.Handle, coins int) {
	if p := s.purse.Get(h); p != nil {
		s.purse.Set(h, Purse{int32(nth(coins, 1<<16))})
	}
}

// One of seedsPerRide seeds has rides.
const seedsPerRide = 12

// rides seats entities on others in some seeds. Clients leave such a world shortly before
// its bodies come to rest, and reconnect after restTicks of rest. During that time only pay
// runs: all other operations are moved behind it.
func (g *generator) rides() {
	d := g.rng.IntN
	if d(seedsPerRide) > 0 {
		return
	}
	two := func() []int { return []int{g.any(), g.any()} }
	g.often(10+d(40), "ride", two)
	from := 60 + d(40)
	for i := range g.s.ops {
		if o := &g.s.ops[i]; o.tick > from {
			o.tick += restTicks
		}
	}
	g.s.ticks += restTicks
	for viewer := range g.s.viewers {
		for range d(16) {
			g.add(1+d(from), "own", viewer, g.any())
		}
		if at := from - d(30); d(4) > 0 {
			g.add(at, "travel", viewer, restTicks+from-at+d(20))
		}
	}
	for tick := from; tick < from+restTicks; tick++ {
		if d(4) == 0 {
			g.add(tick, "pay", two()...)
		}
	}
}
