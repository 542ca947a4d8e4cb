package scenes

import (
	"math"

	"github.com/worldd/worldd/world"
)

// emitter is an emitter of the file at run time.
type emitter struct {
	file         *Emitter
	kind         world.KindID
	lifeLo, span uint32 // ticks: shortest life, and number of possible lengths
}

func (s *Scene) addEmitters() error {
	for i := range s.File.Emitters {
		e := &s.File.Emitters[i]
		lo, hi := ticks(e.LifeS[0], s.File.TickHz), ticks(e.LifeS[1], s.File.TickHz)
		s.emitters = append(s.emitters, emitter{e, s.kinds[e.Kind], lo, hi - lo + 1})
	}
	return s.World.AddSystem(world.Before, "scenes/emitters", s.emit)
}

// emit runs before each step. Validation ensures capacity (S3): a spawn fails only if
// other code has filled the world, and is then dropped.
func (s *Scene) emit(w *world.World) {
	for i := range s.emitters {
		e := &s.emitters[i]
		for range due(e.file.PerSecond, w.Tick(), s.File.TickHz) {
			at := s.within(e.file.Region)
			velocity := s.upwards().Scale(between32(w.Rand().Float32(), e.file.Speed[0], e.file.Speed[1]))
			life := e.lifeLo + w.Rand().Uint32N(e.span)
			if _, err := s.Spawn(e.kind, at, velocity, life); err != nil {
				return
			}
		}
	}
}

// upwards draws a direction uniformly from the upper hemisphere, where heights are uniform
// (Archimedes).
func (s *Scene) upwards() world.Vec3 {
	height := s.World.Rand().Float64()
	x, z := turn(s.World.Rand().Float64())
	level := math.Sqrt(1 - float64(height*height))
	return world.Vec3{X: float32(x * level), Y: float32(height), Z: float32(z * level)}
}

// most bounds the number of an emitter's live entities.
func (e *Emitter) most(tickHz int) int {
	life := float64(ticks(e.LifeS[1], tickHz)) + 1
	return int(math.Ceil(life*e.PerSecond/float64(tickHz))) + 1
}
