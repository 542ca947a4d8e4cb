package scenes

import (
	"math"
	"slices"

	"github.com/worldd/worldd/world"
)

// fileEffect is an effect of the file at run time.
type fileEffect struct {
	file *Effect
	def  world.EffectDef // for a pulse, a template: addPulses draws the random parts
	sum  uint64          // hash of its description, see fingerprint
	ids  []world.EffectID
}

// begin adds an effect that is not a pulse. An orbit gets the phase of an orbit that began
// with the world.
func (s *Scene) begin(f *fileEffect) error {
	def := f.def
	if f.file.Orbit != nil {
		def.Orbit = f.file.Orbit.path(s.File.TickHz)
		def.Orbit.Phase += uint32(s.World.Tick()) * def.Orbit.Rate
	}
	id, err := s.World.AddEffect(def)
	f.ids = []world.EffectID{id}
	return err
}

// addPulses runs before each step.
func (s *Scene) addPulses(w *world.World) {
	for i := range s.effects {
		f := &s.effects[i]
		if f.file.Pulse == nil {
			continue
		}
		for range due(f.file.Pulse.PerSecond, w.Tick(), s.File.TickHz) {
			s.addPulse(f)
		}
	}
}

func (s *Scene) addPulse(f *fileEffect) {
	pulse, def := f.file.Pulse, f.def
	def.Center = s.within(pulse.Region)
	x, z := turn(s.World.Rand().Float64())
	def.Velocity = world.Vec3{X: float32(x), Z: float32(z)}.Scale(pulse.Speed)
	def.LifeTicks = ticks(pulse.LifeS, s.File.TickHz)
	if id, err := s.World.AddEffect(def); err == nil { // at the world's limit of effects: skip this one
		f.ids = append(s.live(f.ids), id)
	}
}

// live drops effects that have ended from a list.
func (s *Scene) live(ids []world.EffectID) []world.EffectID {
	return slices.DeleteFunc(ids, func(id world.EffectID) bool {
		_, lives := s.World.Effect(id)
		return !lives
	})
}

// path returns the orbit for a tick rate. Its rate is exact to 2^-32 turns per tick.
func (o *Orbit) path(tickHz int) world.EffectOrbit {
	turns := func(x float64) uint32 { return uint32(int64(math.Round(x * (1 << 32)))) }
	return world.EffectOrbit{
		AxisU: world.Vec3{X: o.Radius}, AxisV: world.Vec3{Z: o.Radius},
		Phase: turns(o.Phase), Rate: turns(1 / (o.PeriodS * float64(tickHz))),
	}
}

// turn returns the point of the unit circle at an angle in turns. It uses its own
// polynomial, with every product rounded before it is added: math.Sin differs in the last
// bit between processors, which would change the state hash (S1).
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

// due returns how many events of perSecond fall on a tick (from 1). It depends on the tick
// alone, so images need no remainder.
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
