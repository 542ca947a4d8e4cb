// Package steering holds the motion of avatars, for the server's game and for clients that
// predict their own avatars: both call the same functions.
package steering

import (
	"math"

	"github.com/worldd/worldd/replication/schema"
)

// Stick is the input: the avatar's course, in 1/127 of full speed.
type Stick struct {
	X, Z int8 // -128 counts as -127
}

// Course returns the course of s, at most 1 long.
func (s Stick) Course() [2]float32 {
	unit := func(v int8) float32 { return float32(max(v, -127)) / 127 }
	course, _ := ClampCourse([2]float32{unit(s.X), unit(s.Z)})
	return course
}

// ClampCourse shortens a course to 1, full speed. It returns false if it is not finite.
func ClampCourse(dir [2]float32) ([2]float32, bool) {
	x, z := float64(dir[0]), float64(dir[1])
	length := math.Sqrt(float64(x*x) + float64(z*z))
	if math.IsNaN(length) || math.IsInf(length, 0) {
		return dir, false
	}
	if length > 1 {
		dir = [2]float32{float32(x / length), float32(z / length)}
	}
	return dir, true
}

// Motion holds the constants of avatars' motion in a world.
type Motion struct {
	TickHz       float32
	Speed        float32 // metres a second at full input
	HalfX, HalfZ float32 // of the world, metres
}

// Step moves an avatar by one tick, bit for bit as the server's world moves a kinematic body
// with the velocity of the stick.
func (m Motion) Step(body *schema.Body, s Stick) {
	course := s.Course()
	m.axis(body, 0, course[0], m.HalfX)
	m.axis(body, 2, course[1], m.HalfZ)
}

func (m Motion) axis(body *schema.Body, i int, course, half float32) {
	v := float32(course * m.Speed)                                   // the conversions forbid
	at := body.Position[i] + float32(v*float32(float32(1)/m.TickHz)) // a fused multiply-add
	body.Position[i] = min(max(at, -half), half)
	if body.Position[i] != at { // the body reached the bounds of the world
		v = 0
	}
	body.Velocity[i] = v
}
