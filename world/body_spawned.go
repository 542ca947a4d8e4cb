package world

import (
	"math"
)

// spawned is the state in which a body of an exact kind was spawned.
type spawned struct {
	position, velocity Vec3
	tick               uint64 // tick after which the body had this state
	known              bool   // nothing has disturbed the body since
}

// Steps per metre and per m/s to which the bodies of exact kinds are rounded at spawn.
const (
	positionSteps = 256
	velocitySteps = 32
)

// onGrid rounds a vector to multiples of 1/steps. Numbers that exceed the precision of a
// float32 or are not finite stay as they are.
func onGrid(v Vec3, steps float64) Vec3 {
	round := func(x float32) float32 { return float32(math.RoundToEven(float64(x)*steps) / steps) }
	return Vec3{X: round(v.X), Y: round(v.Y), Z: round(v.Z)}
}

// noteSpawn records the state of a new body of an exact kind.
func (w *World) noteSpawn(slot uint32, at, velocity Vec3) {
	if n := len(w.disturbed) - len(w.spawned); n > 0 {
		w.spawned = append(w.spawned, make([]spawned, n)...)
	}
	tick := w.disturbing - 1
	if w.moved {
		tick++
	}
	w.spawned[slot] = spawned{at, velocity, tick, true}
}
