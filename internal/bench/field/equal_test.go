//go:build yardstick && cgo && amd64 && linux

package field

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/cpu"

	"github.com/worldd/worldd/field"
	"github.com/worldd/worldd/internal/bench/field/fastmath"
	"github.com/worldd/worldd/internal/bench/field/fused"
	"github.com/worldd/worldd/internal/must"
)

func has512() bool { return cpu.X86.HasAVX512F && cpu.X86.HasAVX512DQ && cpu.X86.HasAVX512VL }
func has256() bool { return cpu.X86.HasAVX2 && cpu.X86.HasFMA }

// newPlanes returns points around the effects, and an output that is not 0. The six planes
// share an allocation, with offsets that map them to different cache sets.
func newPlanes(n int) *fused.Planes {
	const line = 16
	stride := (n+line-1)/line*line + 5*line
	memory := make([]float32, 6*stride+line)
	r := rand.New(rand.NewPCG(1, 2))
	var p fused.Planes
	for i := range p {
		p[i] = memory[i*stride:][:n:n]
		size := [6]float32{44, 10, 40, 2, 2, 2}[i]
		for j := range p[i] {
			p[i][j] = (r.Float32() - 0.5) * size
		}
	}
	return &p
}

// moveTo moves the points around an explosion, so that a third of them is inside.
func moveTo(p *fused.Planes, e *fused.Effect) {
	for i, centre := range [3]float32{e.X, e.Y, e.Z} {
		size := [3]float32{44, 10, 40}[i]
		for j := range p[i] {
			p[i][j] = centre + p[i][j]*(12/size)
		}
	}
}

func fieldPlanes(p *fused.Planes) (points, out field.Planes) {
	return field.Planes{X: p[0], Y: p[1], Z: p[2]}, field.Planes{X: p[3], Y: p[4], Z: p[5]}
}

// TestYardstickEqual: Y1, with and without a partial last vector.
func TestYardstickEqual(t *testing.T) {
	s := newScene()
	for _, lanes := range []int{8, 16} {
		if lanes == 8 && !has256() || lanes == 16 && !has512() {
			t.Logf("skipped: this CPU has no vectors of %d lanes", lanes)
			continue
		}
		for effect, name := range []string{"explosion", "whirl", "sixteen"} {
			p := must.Get(field.Compile(textFor(effect, s)))
			for _, n := range []int{1, 7, 16, 1000, 20_003} {
				a, b := newPlanes(n), newPlanes(n)
				if effect != fused.Sixteen {
					moveTo(a, &s.Explosions[0])
					moveTo(b, &s.Explosions[0])
				}
				points, out := fieldPlanes(a)
				require.NoError(t, p.Evaluate(points, out, field.Env{Time: float64(s.Time)}, make([]float32, p.Scratch())))
				fused.Run(lanes, b, s, effect, 1)
				for plane := range a {
					for i := range a[plane] {
						require.Equal(t, math.Float32bits(a[plane][i]), math.Float32bits(b[plane][i]), "%s, %d lanes, plane %d, point %d of %d", name, lanes, plane, i, n)
					}
				}
			}
		}
	}
}

// TestYardstickNear: the other variants compute the same effects, to other bits.
func TestYardstickNear(t *testing.T) {
	s := newScene()
	const n = 5000
	for effect, name := range []string{"explosion", "whirl", "sixteen"} {
		want := newPlanes(n)
		p := must.Get(field.Compile(textFor(effect, s)))
		points, out := fieldPlanes(want)
		require.NoError(t, p.Evaluate(points, out, field.Env{Time: float64(s.Time)}, make([]float32, p.Scratch())))
		for other, run := range map[string]func(p *fused.Planes){
			"by hand":         func(p *fused.Planes) { runByHand(p, s, effect, 1) },
			"fast math":       func(p *fused.Planes) { fastmath.Run(false, p, s, effect, 1) },
			"fast math, wide": func(p *fused.Planes) { fastmath.Run(true, p, s, effect, 1) },
		} {
			got := newPlanes(n)
			run(got)
			for plane := 3; plane < 6; plane++ {
				for i, w := range want[plane] {
					require.InDelta(t, w, got[plane][i], 2e-3, "%s, %s, plane %d, point %d", name, other, plane, i)
				}
			}
		}
	}
}
