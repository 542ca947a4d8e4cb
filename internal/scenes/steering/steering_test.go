package steering_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/internal/scenes"
	"github.com/worldd/worldd/internal/scenes/steering"
	"github.com/worldd/worldd/replication/schema"
	"github.com/worldd/worldd/world"
)

func TestCourse(t *testing.T) {
	for _, c := range []struct {
		stick steering.Stick
		want  [2]float32
	}{
		{steering.Stick{X: 127}, [2]float32{1, 0}},
		{steering.Stick{X: -127, Z: 0}, [2]float32{-1, 0}},
		{steering.Stick{X: -128, Z: 0}, [2]float32{-1, 0}},
		{steering.Stick{Z: 64}, [2]float32{0, 64.0 / 127}},
	} {
		require.Equal(t, c.want, c.stick.Course(), "%v", c.stick)
	}
	corner := steering.Stick{X: 127, Z: -128}.Course()
	require.InDelta(t, 1, math.Hypot(float64(corner[0]), float64(corner[1])), 1e-6, "no faster than a side")
	must.Lack(steering.ClampCourse([2]float32{float32(math.NaN()), 0}))
}

// TestStepIsTheWorlds: clients predict the world's steps bit for bit, also at the world's
// edges.
func TestStepIsTheWorlds(t *testing.T) {
	for _, name := range scenes.Names() {
		file := must.Get(scenes.Named(name))
		scene := must.Get(scenes.Build(file))
		avatar := must.Get(scene.Join())
		m := steering.Motion{TickHz: float32(file.TickHz), Speed: file.Players.Speed, HalfX: file.Bounds[0], HalfZ: file.Bounds[2]}
		scene.World.SetPosition(avatar, world.Vec3{X: m.HalfX - 3, Y: 0.9, Z: 2 - m.HalfZ})
		at, _ := scene.World.Position(avatar)
		body := schema.Body{Position: at.Array()}
		r := rand.New(rand.NewPCG(1, 1))
		var stick steering.Stick
		atEdge := 0
		for tick := range 1500 {
			if tick%40 == 0 {
				stick = steering.Stick{X: int8(r.IntN(256) - 128), Z: int8(r.IntN(256) - 128)}
			}
			scene.Steer(avatar, stick.Course())
			scene.World.Step()
			m.Step(&body, stick)
			at, _ := scene.World.Position(avatar)
			v, _ := scene.World.Velocity(avatar)
			require.Equal(t, schema.Body{Position: at.Array(), Velocity: v.Array()}, body, "%s, tick %d", name, tick)
			if at.X == m.HalfX || at.Z == -m.HalfZ {
				atEdge++
			}
		}
		require.NotZero(t, atEdge)
	}
}
