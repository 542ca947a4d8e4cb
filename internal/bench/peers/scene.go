//go:build linux

package main

import (
	"math"
	"math/rand/v2"
)

// The scene that all peers serve.
const (
	side        = 512 // metres; the square is centred on the origin
	resting     = 9000
	walkers     = 700
	sparkRate   = 300 // a second
	sparkLife   = 1   // seconds
	enterRadius = 40
	leaveRadius = 48
	updateHz    = 20

	avatarSpeed = 3 // m/s
	walkerSpeed = 2
	circle      = 10 // metres, the radius of an avatar's walk
	headroom    = 4  // metres, above the ground, in which everything moves
)

// kind tells entities of the scene apart.
type kind uint8

const (
	restingKind kind = iota
	walkerKind
	sparkKind
	avatarKind
)

// vec is a position in metres or a velocity in m/s; y is up.
type vec [3]float32

// scene decides where entities begin and how they move, equally for every peer.
type scene struct {
	rand  *rand.Rand
	homes *rand.Rand // positions where avatars begin, the same for all peers
	hz    int        // ticks a second
}

func newScene(hz int) *scene {
	return &scene{rand.New(rand.NewPCG(1, 2)), rand.New(rand.NewPCG(3, 4)), hz}
}

// between returns a random number from low to high.
func (s *scene) between(low, high float32) float32 { return low + (high-low)*s.rand.Float32() }

// place returns a random position.
func (s *scene) place() vec {
	return vec{s.between(-side/2, side/2), s.between(0, headroom), s.between(-side/2, side/2)}
}

// home returns where the next avatar begins: far enough from the edges for an equal view.
func (s *scene) home() vec {
	const inner = side - 2*(leaveRadius+2*circle)
	return vec{inner * (s.homes.Float32() - 0.5), 0, inner * (s.homes.Float32() - 0.5)}
}

// heading returns a velocity in a random horizontal direction.
func (s *scene) heading(speed float32) vec {
	sin, cos := math.Sincos(float64(s.between(0, 2*math.Pi)))
	return vec{speed * float32(cos), 0, speed * float32(sin)}
}

// steerWalker returns a walker's velocity for the next tick.
func (s *scene) steerWalker(at, v vec) vec {
	angle := s.between(-0.2, 0.2)
	if max(at[0]*v[0], at[2]*v[2]) > 0 && max(abs(at[0]), abs(at[2])) > side/2-10 {
		angle += 0.5 // turns away from the edge
	}
	v = turn(v, angle)
	v[1] = s.between(-1, 1) + headroom/2 - at[1]
	return v
}

// steerAvatar returns an avatar's velocity for the next tick.
func (s *scene) steerAvatar(v vec) vec { return turn(v, avatarSpeed/circle/float32(s.hz)) }

// sparksDue returns how many sparks begin in a tick.
func (s *scene) sparksDue(tick uint32) int {
	n := func(tick uint32) int { return int(tick) * sparkRate / s.hz }
	return n(tick) - n(tick-1)
}

// turn returns v turned by a small angle about the vertical axis.
func turn(v vec, angle float32) vec {
	sin, cos := math.Sincos(float64(angle))
	x, z := float64(v[0]), float64(v[2])
	return vec{float32(x*cos - z*sin), v[1], float32(x*sin + z*cos)}
}

func abs(x float32) float32 { return max(x, -x) }
