package scenes

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/worldd/worldd/field"
	"github.com/worldd/worldd/world"
)

// EffectCost is an estimate of an effect's cost per tick.
type EffectCost struct {
	Name    string
	Bodies  int // bodies that it acts on per tick; for a pulse, summed over explosions
	PerTick time.Duration
}

const (
	// maxCostBodies and costPlaces bound the positions that EffectCosts samples: bodies
	// at tick 0, and points in each region of future bodies or effects.
	maxCostBodies = 4096
	costPlaces    = 64
)

// crowd is a list of positions. Each represents several bodies.
type crowd struct {
	at     []world.Vec3
	weight []float64
}

// EffectCosts estimates each effect's cost per tick, costliest first. The estimate depends
// on the effect's operations and on the bodies inside its box at tick 0, with full
// emitters, all players and no sleepers. It runs no step and is deterministic for given
// kernels (package cpu).
func (s *Scene) EffectCosts() []EffectCost {
	all := s.crowd()
	var costs []EffectCost
	for i := range s.File.Effects {
		e := &s.File.Effects[i]
		program, err := field.Compile(e.source())
		if err != nil {
			continue // never fails: Build compiled the text
		}
		bodies := e.touches(program, &all)
		perTick := time.Duration(bodies * program.NanosecondsPerPoint())
		costs = append(costs, EffectCost{e.Name, int(math.Ceil(bodies)), perTick})
	}
	slices.SortStableFunc(costs, func(a, b EffectCost) int { return cmp.Compare(b.PerTick, a.PerTick) })
	return costs
}

// KeepAwake returns the names of effects that keep every body awake that feels them:
// effects that change with time and have no box.
func (s *Scene) KeepAwake() (names []string) {
	for i := range s.File.Effects {
		e := &s.File.Effects[i]
		program, err := field.Compile(e.source())
		if err != nil || !slices.ContainsFunc(s.File.Kinds, e.moves) {
			continue
		}
		if _, boxed := program.Box(); !boxed && program.ChangesWithTime(paramsOf(program, e.Params)) {
			names = append(names, e.Name)
		}
	}
	return names
}

// moves reports whether the effect moves bodies of a kind.
func (e *Effect) moves(k Kind) bool {
	return k.Body != nil && !k.Body.Kinematic && (e.Mode == ModeAcceleration || k.Body.Drag != 0)
}

// crowd samples the present and future positions of bodies.
func (s *Scene) crowd() (c crowd) {
	var live []world.Vec3
	for slot := range s.World.Live().All() {
		if at, ok := s.World.Position(s.World.Slots().Handle(slot)); ok {
			live = append(live, at)
		}
	}
	stride := len(live)/maxCostBodies + 1
	for i := 0; i < len(live); i += stride {
		c.add(live[i:i+1], float64(min(stride, len(live)-i)))
	}
	for i := range s.File.Emitters {
		e := &s.File.Emitters[i]
		c.add(e.Region.places(), float64(e.most(s.File.TickHz)))
	}
	c.add(s.File.Players.Region.places(), float64(s.File.Limits.MaxPlayers))
	return c
}

func (c *crowd) add(at []world.Vec3, bodies float64) {
	for _, place := range at {
		c.at, c.weight = append(c.at, place), append(c.weight, bodies/float64(len(at)))
	}
}

// inside counts the bodies in an effect's box around a centre.
func (c *crowd) inside(program *field.Program, center world.Vec3) (n float64) {
	box, boxed := program.Box()
	for i, at := range c.at {
		p := at.Sub(center)
		if !boxed || p.X >= box.Min[0] && p.X <= box.Max[0] && p.Y >= box.Min[1] && p.Y <= box.Max[1] && p.Z >= box.Min[2] && p.Z <= box.Max[2] {
			n += c.weight[i]
		}
	}
	return n
}

// touches returns the number of bodies that an effect acts on: the maximum along its orbit,
// or for a pulse the mean times the number of concurrent explosions.
func (e *Effect) touches(program *field.Program, all *crowd) float64 {
	switch {
	case e.Pulse != nil:
		sum, places := 0.0, e.Pulse.Region.places()
		for _, at := range places {
			sum += all.inside(program, at)
		}
		return sum / float64(len(places)) * e.Pulse.PerSecond * e.Pulse.LifeS
	case e.Orbit != nil:
		most := 0.0
		for i := range costPlaces {
			x, z := turn(float64(i) / costPlaces)
			offset := world.Vec3{X: float32(x), Z: float32(z)}.Scale(e.Orbit.Radius)
			most = max(most, all.inside(program, vec3(e.Center).Add(offset)))
		}
		return most
	}
	return all.inside(program, vec3(e.Center))
}

// places returns costPlaces evenly distributed points of a region (Roberts' R3
// sequence).
func (r *Region) places() []world.Vec3 {
	const g = 1.2207440846057596 // g^4 = g + 1
	places := make([]world.Vec3, costPlaces)
	for i := range places {
		var at Vec
		step := 1.0
		for lane := range at {
			step /= g
			_, u := math.Modf(0.5 + step*float64(i+1))
			at[lane] = between32(float32(u), r.Min[lane], r.Max[lane])
		}
		places[i] = vec3(at)
	}
	return places
}
