package world

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/field"
	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/internal/racetest"
)

// swingingWorld has a wind that swings with a period of two seconds, a gust, noise that moves, a
// path, and a leaf that takes the wind's velocity.
func swingingWorld(t *testing.T, hz int) *World {
	w := must.Get(New(Config{TickHz: hz, Gravity: -1, HalfExtent: Vec3{X: 100, Y: 100, Z: 100}}))
	must.Get(w.AddKind(Kind{Name: "leaf", Body: &BodyDef{Drag: 1e6, Radius: 0.1}}))
	return w
}

// TestEffectsAreExactForAYear: a wind has the phase that integer arithmetic gives, and a
// path the position, at every age and tick rate, before and after a restart from an image.
func TestEffectsAreExactForAYear(t *testing.T) {
	racetest.SkipSequential(t)
	swing := must.Get(field.Compile("everywhere\noutput.x += 10 * sin(time / 2)\noutput.z += sin(position.y / 100 - time / 2)\n"))
	still := must.Get(field.Compile("box (-1, -1, -1) (1, 1, 1)\noutput.x += 1\n"))
	const year = 365 * 24 * 3600
	for _, hz := range []int{1, 20, 60, 128, 1000} {
		w := swingingWorld(t, hz)
		must.Get(w.AddEffect(EffectDef{Program: swing, Mode: Wind}))
		path := must.Get(w.AddEffect(EffectDef{Program: still, Mode: Wind, Center: Vec3{X: -1e5}, Velocity: Vec3{X: 1e5 / year}}))
		leaf := must.Get(w.Spawn(0, Vec3{Y: 50}, Vec3{}))
		for _, day := range []float64{0, 1, 12.5, 25, 365} {
			w.tick = uint64(day*24*3600) * uint64(hz)
			requireSwing(t, w, leaf, path, fmt.Sprintf("%d Hz, day %v", hz, day))
			var img Image
			w.TakeImage(&img)
			restored := swingingWorld(t, hz)
			require.NoError(t, restored.Restore(&img))
			requireSwing(t, restored, leaf, path, fmt.Sprintf("%d Hz, day %v, restored", hz, day))
		}
	}
}

// requireSwing checks three seconds of the effects of swingingWorld.
func requireSwing(t *testing.T, w *World, leaf Entity, path EffectID, when string) {
	hz := uint64(w.TickHz())
	for range 3 * hz {
		require.True(t, w.SetPosition(leaf, Vec3{Y: 50}))
		w.Step()
		v, _ := w.Velocity(leaf)
		turns := float64(w.Tick()%(2*hz)) / float64(2*hz)
		require.InDelta(t, 10*math.Sin(2*math.Pi*turns), v.X, 2e-3, when)
		require.InDelta(t, math.Sin(2*math.Pi*(0.5-turns)), v.Z, 2e-3, when)
		e := must.Have(w.Effect(path))
		speed := float32(1e5 / (365 * 24 * 3600.0))
		require.Equal(t, float32(-1e5+float64(speed)*(float64(w.Tick())/float64(hz))), e.Center.X, when)
	}
}
