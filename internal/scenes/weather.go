package scenes

import (
	"math"

	"github.com/worldd/worldd/world"
)

// effect is a moving or pulsing effect of the file; others exist only in the world.
type effect struct {
	file *Effect
	def  world.EffectDef
	id   world.EffectID // of an orbit
	live []pulse        // of a pulse, oldest first
}

// pulse is one active explosion, with the fields of its JSON in images.
type pulse struct {
	ID               world.EffectID
	Velocity, Center world.Vec3
	Until            uint64 // last tick in which it acts; movePulses removes it in the next
}

func (s *Scene) addEffect(e *Effect, def world.EffectDef) error {
	moving := effect{file: e, def: def}
	if e.Pulse == nil {
		if e.Orbit != nil {
			def.Center = e.Orbit.at(def.Center, 0, s.File.TickHz)
		}
		id, err := s.World.AddEffect(def)
		if err != nil {
			return err
		}
		moving.id = id
	}
	if e.Pulse != nil || e.Orbit != nil {
		s.effects = append(s.effects, moving)
	}
	return nil
}

// moveEffects runs before each step.
func (s *Scene) moveEffects(w *world.World) {
	for i := range s.effects {
		e := &s.effects[i]
		if o := e.file.Orbit; o != nil {
			w.MoveEffect(e.id, o.at(e.def.Center, w.Tick(), s.File.TickHz))
			continue
		}
		s.movePulses(e)
		for range due(e.file.Pulse.PerSecond, w.Tick(), s.File.TickHz) {
			s.addPulse(e)
		}
	}
}

func (s *Scene) movePulses(e *effect) {
	dt := float32(1 / float64(s.File.TickHz))
	kept := e.live[:0]
	for _, p := range e.live {
		if p.Until < s.World.Tick() {
			s.World.RemoveEffect(p.ID)
			continue
		}
		p.Center = p.Center.Add(p.Velocity.Scale(dt))
		s.World.MoveEffect(p.ID, p.Center)
		kept = append(kept, p)
	}
	e.live = kept
}

func (s *Scene) addPulse(e *effect) {
	center := s.within(e.file.Pulse.Region)
	x, z := turn(s.World.Rand().Float64())
	def := e.def
	def.Center = center // without LifeTicks, which cannot express one tick from a system
	id, err := s.World.AddEffect(def)
	if err != nil {
		return // the world is at its limit of effects: skip this one
	}
	velocity := world.Vec3{X: float32(x), Z: float32(z)}.Scale(e.file.Pulse.Speed)
	life := uint64(ticks(e.file.Pulse.LifeS, s.File.TickHz))
	e.live = append(e.live, pulse{id, velocity, center, s.World.Tick() + life - 1})
}

// at returns the position of an orbiting effect at a tick.
func (o *Orbit) at(center world.Vec3, tick uint64, tickHz int) world.Vec3 {
	turns := float64(tick)/float64(tickHz)/o.PeriodS + o.Phase
	x, z := turn(turns)
	return center.Add(world.Vec3{X: float32(x), Z: float32(z)}.Scale(o.Radius))
}

// turn returns the point of the unit circle at that many turns. It uses its own
// polynomial, with every product rounded before it is added: math.Sin differs in the
// last bit between processors, which would change the state hash (S1).
func turn(turns float64) (x, z float64) {
	turns -= math.Floor(turns)
	quarter := math.Floor(float64(turns*4) + 0.5)
	a := float64((turns - quarter/4) * (2 * math.Pi)) // within an eighth of a turn
	square := float64(a * a)
	sin, cos := 0.0, 0.0
	for _, c := range [...]float64{1.0 / 362880, -1.0 / 5040, 1.0 / 120, -1.0 / 6, 1} {
		sin = float64(sin*square) + c
	}
	for _, c := range [...]float64{1.0 / 40320, -1.0 / 720, 1.0 / 24, -1.0 / 2, 1} {
		cos = float64(cos*square) + c
	}
	sin = float64(sin * a)
	switch int(quarter) & 3 {
	case 1:
		return -sin, cos
	case 2:
		return -cos, -sin
	case 3:
		return sin, -cos
	}
	return cos, sin
}

// due returns how many of perSecond events fall on a tick (from 1). It depends on the
// tick alone, so images need no remainder.
func due(perSecond float64, tick uint64, tickHz int) int {
	until := func(t uint64) float64 { return math.Floor(float64(float64(t)*perSecond) / float64(tickHz)) }
	return int(until(tick) - until(tick-1))
}

// ticks rounds a duration to whole ticks, at least one.
func ticks(seconds float64, tickHz int) uint32 {
	return uint32(max(math.Round(seconds*float64(tickHz)), 1))
}

// within draws a random point of a region.
func (s *Scene) within(r *Region) world.Vec3 {
	var at Vec
	for i := range at {
		at[i] = between32(s.World.Rand().Float32(), r.Min[i], r.Max[i])
	}
	return vec3(at)
}

// between32 interpolates from lo at u = 0 to hi at u = 1, with the same bits
// everywhere.
func between32(u, lo, hi float32) float32 { return float32(u*(hi-lo)) + lo }
