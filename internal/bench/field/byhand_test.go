//go:build yardstick && cgo && amd64 && linux

package field

import (
	"math"

	"github.com/worldd/worldd/internal/bench/field/fused"
)

// The effects in straightforward Go: a function of a point that uses package math.

type vector struct{ x, y, z float32 }

func explode(e *fused.Effect, p vector) vector {
	x, y, z := p.x-e.X, p.y-e.Y, p.z-e.Z
	square := x*x + y*y + z*z
	if square >= e.Size || square == 0 {
		return vector{}
	}
	s := e.Strength / float32(math.Sqrt(float64(square)))
	return vector{x * s, y * s, z * s}
}

func whirl(e *fused.Effect, time float32, p vector) vector {
	x, z := p.x-e.X, p.z-e.Z
	r := float32(math.Sqrt(float64(x*x + z*z)))
	if r == 0 {
		return vector{}
	}
	fade := min(max(r*e.Size+1, 0), 1)
	s := fade * fade * (3 - 2*fade) * sine(r*e.Waves+time) * e.Strength / r
	return vector{x: z * s, z: -x * s}
}

func blow(e *fused.Effect, time float32, p vector) vector {
	wave := sine(p.x*e.Waves + time)
	return vector{x: wave * e.Strength, z: wave * e.Z}
}

func lift(e *fused.Effect, p vector) vector {
	x, z := p.x-e.X, p.z-e.Z
	if x*x+z*z < e.Size {
		return vector{y: e.Strength}
	}
	return vector{}
}

func sine(turns float32) float32 { return float32(math.Sin(2 * math.Pi * float64(turns))) }

func (v *vector) add(w vector) { v.x, v.y, v.z = v.x+w.x, v.y+w.y, v.z+w.z }

func sixteen(s *fused.Scene, p vector) (sum vector) {
	for i := range s.Explosions {
		sum.add(explode(&s.Explosions[i], p))
	}
	for i := range s.Whirls {
		sum.add(whirl(&s.Whirls[i], s.Time, p))
	}
	for i := range s.Winds {
		sum.add(blow(&s.Winds[i], s.Time, p))
	}
	for i := range s.Updrafts {
		sum.add(lift(&s.Updrafts[i], p))
	}
	return sum
}

// runByHand adds an effect to the output of all points, times times.
func runByHand(a *fused.Planes, s *fused.Scene, effect, times int) {
	for range times {
		for i := range a[0] {
			p, v := vector{a[0][i], a[1][i], a[2][i]}, vector{}
			switch effect {
			case fused.Explosion:
				v = explode(&s.Explosions[0], p)
			case fused.Whirl:
				v = whirl(&s.Whirls[0], s.Time, p)
			default:
				v = sixteen(s, p)
			}
			a[3][i], a[4][i], a[5][i] = a[3][i]+v.x, a[4][i]+v.y, a[5][i]+v.z
		}
	}
}
