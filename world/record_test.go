package world_test

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/field"
	"github.com/worldd/worldd/world"
)

// outside does to a scene what its systems do not, between two steps.
func outside(s *scene, r *rand.Rand, programs []*field.Program) {
	e := s.HandleAt(uint32(r.IntN(60)))
	at := world.Vec3{X: spread(s.Rand(), 20), Y: 3, Z: spread(r, 20)} // a draw from the world's generator
	switch r.IntN(12) {
	case 0:
		_, _ = s.SpawnFor(s.crate, at, world.Vec3{Y: 5}, uint32(r.IntN(200)))
	case 1:
		s.Destroy(e)
	case 2:
		s.SetPosition(e, at)
	case 3:
		s.SetVelocity(e, at)
	case 4:
		s.Impulse(e, at)
	case 5:
		s.Wake(e)
	case 6:
		s.Sleep(e)
	case 7:
		s.health.Set(e, health{Current: int16(r.IntN(9)), Healer: s.HandleAt(uint32(r.IntN(60)))})
	case 8:
		s.health.Remove(e)
	case 9:
		if h := s.health.Mut(e); h != nil {
			s.health.Mut(e)
			h.Max = r.Float32()
		}
	case 10:
		_, _ = s.AddEffect(world.EffectDef{Program: programs[r.IntN(2)], Center: at, LifeTicks: uint32(1 + r.IntN(90))})
	case 11:
		id := world.Entity(uint64(s.effectGeneration)<<32 | uint64(r.IntN(4)))
		s.MoveEffect(id, at)
		s.SetEffectParams(id, []field.Vec4{{r.Float32(), 1, 2, 3}})
		if r.IntN(9) == 0 {
			s.RemoveEffect(id)
		}
	}
}
