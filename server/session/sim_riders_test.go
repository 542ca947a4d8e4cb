package session_test

import "github.com/worldd/worldd/bulk"

// In some worlds entities ride on others, and clients stay away for longer than a
// server remembers how it was: rows rest, and their pasts are given back, while what
// only owners are sent of them goes on changing. Only scripts with a ride in them have
// a component for it, so that all others are of the schema that the conformance
// vectors are of.

// Seat is where something is that may ride on something else.
type Seat struct {
	At [3]float32  `net:"range=-256..256,step=1/64,predict=linear,parent=On"`
	On bulk.Handle `net:"ref"`
}

const (
	// simGraceTicks is how long a session waits for its client, and simLongGraceTicks
	// how long in a script in which one travels.
	simGraceTicks     = 120
	simLongGraceTicks = 1000
	// simRestTicks is for how long a row rests at least before its past is given back
	// (replication's restedTicks), and some more, until it is looked at.
	simRestTicks = 640
)

func (s *sim) grace() int {
	if s.script.has("travel") {
		return simLongGraceTicks
	}
	return simGraceTicks
}

// ride seats h on another entity, which stands on its own feet from then on: who
// rides itself carries nobody.
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

// carry has everybody with a seat be where what it rides on is, if that lives.
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
		if p, _, placed := s.world.Body(below.Index()); placed {
			if at := [3]float32{p.X, p.Y, p.Z}; at != seat.At {
				s.seat.Set(l.handle, Seat{at, seat.On})
			}
		}
	}
}

// pay changes what only the owners of h are sent.
func (s *sim) pay(h bulk.Handle, coins int) {
	if p := s.purse.Get(h); p != nil {
		s.purse.Set(h, Purse{int32(nth(coins, 1<<16))})
	}
}

// simRiders is among how many seeds there is one of riders.
const simRiders = 12

// rides has some seeds seat entities on others. Clients leave such a world shortly
// before it comes to rest, and come again when it has rested for long enough: till
// then there is nothing but pay, and whatever else is to happen happens after it.
func (g *generator) rides() {
	d := g.rng.IntN
	if d(simRiders) > 0 {
		return
	}
	two := func() []int { return []int{g.any(), g.any()} }
	g.often(10+d(40), "ride", two)
	from := 60 + d(40)
	for i := range g.s.ops {
		if o := &g.s.ops[i]; o.tick > from {
			o.tick += simRestTicks
		}
	}
	g.s.ticks += simRestTicks
	for viewer := range g.s.viewers {
		for range d(16) {
			g.add(1+d(from), "own", viewer, g.any())
		}
		if at := from - d(30); d(4) > 0 {
			g.add(at, "travel", viewer, simRestTicks+from-at+d(20))
		}
	}
	for tick := from; tick < from+simRestTicks; tick++ {
		if d(4) == 0 {
			g.add(tick, "pay", two()...)
		}
	}
}
