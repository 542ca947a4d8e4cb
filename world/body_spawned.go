package world

import (
	"math"
)

// spawned is how a body of an exact kind was spawned.
type spawned struct {
	position, velocity Vec3
	tick               uint64 // after which it was so
	known              bool   // nothing has disturbed it since
}

// Steps per metre and per m/s to which the bodies of exact kinds are rounded at spawn.
const (
	positionSteps = 256
	velocitySteps = 32
)

// onGrid rounds a vector to multiples of 1/steps. Numbers above the precision of a float32
// and such as are not finite stay.
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
