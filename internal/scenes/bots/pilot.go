package bots

import (
	"math"
	"math/rand/v2"

	"github.com/worldd/worldd/internal/scenes/steering"
)

// pilot steers one bot: in straight lines or curves with random turns, and back to the centre
// when the body is outside the area.
type pilot struct {
	rng     *rand.Rand
	area    float64 // half the edge of the square, in metres
	heading float64 // radians
	speed   float64 // share of full speed; 0: resting
	left    int     // updates until the next turn
	curve   float64 // radians per update; 0: straight lines
	back    bool    // heading back from the edge
}

// Lengths of a straight line in updates: one to six seconds at 20 Hz.
const (
	shortestLeg = 20
	longestLeg  = 120
)

// nextStick returns the input for the next tick. x and z are the body's position, if seen is
// set.
func (p *pilot) nextStick(x, z float64, seen bool) steering.Stick {
	outside := seen && (math.Abs(x) > p.area || math.Abs(z) > p.area)
	switch {
	case outside && !p.back:
		p.back = true
		p.heading = math.Atan2(-z, -x) + p.rng.Float64() - 0.5
		p.speed, p.left = 1, longestLeg
	case !outside && p.left <= 0 || outside && p.left <= 0:
		p.startLeg()
	}
	if !outside {
		p.back = false
	}
	p.left--
	p.heading += p.curve
	return steering.Stick{
		X: int8(math.Round(127 * p.speed * math.Cos(p.heading))),
		Z: int8(math.Round(127 * p.speed * math.Sin(p.heading))),
	}
}

// startLeg starts another line. One line in eight is a rest, so that some players' bodies
// sleep.
func (p *pilot) startLeg() {
	p.back = false
	p.heading = 2 * math.Pi * p.rng.Float64()
	p.speed = 0.4 + 0.6*p.rng.Float64()
	if p.rng.IntN(8) == 0 {
		p.speed = 0
	}
	p.left = shortestLeg + p.rng.IntN(longestLeg-shortestLeg)
	p.curve = -p.curve
	if p.curve != 0 && p.speed == 0 {
		p.speed = 1
	}
}
