package motion

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/must"
)

func TestPathCheck(t *testing.T) {
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	require.NoError(t, (&Path{Form: Orbit, Center: Vec3{X: -math.MaxFloat32}, AxisU: Vec3{X: 1e6}, AxisV: Vec3{Z: -1e6}}).Check())
	for _, p := range []Path{
		{Form: 9},
		{Center: Vec3{Y: nan}},
		{Center: Vec3{Z: inf}},
		{Velocity: Vec3{X: nan}},
		{Velocity: Vec3{X: 1.1e6}},
		{AxisU: Vec3{Y: -inf}},
		{AxisV: Vec3{Z: -1.1e6}},
	} {
		require.Error(t, p.Check(), "%+v", p)
	}
	require.Equal(t, "fixed linear orbit following PathForm(9)",
		Fixed.String()+" "+Linear.String()+" "+Orbit.String()+" "+Following.String()+" "+PathForm(9).String())
}

// A path that passes Check never leaves the finite numbers.
func TestPathsStayFinite(t *testing.T) {
	s := testStepper(BoundsClamp)
	s.TickHz = 1
	most := Vec3{math.MaxFloat32, -math.MaxFloat32, 1}
	for _, p := range []Path{
		{Form: Linear, Center: most, Velocity: Vec3{1e6, -1e6, 1e6}},
		{Form: Orbit, Center: most, AxisU: Vec3{1e6, -1e6, 1e6}, AxisV: Vec3{1e6, -1e6, -1e6}, Rate: 0x1234_5678},
	} {
		require.NoError(t, p.Check())
		for ticks := uint64(1); ticks < 1<<63; ticks *= 3 {
			require.True(t, Finite(p.At(s, ticks)), "%v after %d ticks", p.Form, ticks)
		}
	}
}

func TestSimRefusals(t *testing.T) {
	s := NewSim(*testStepper(BoundsClamp), 5)
	source := Source{Program: weather(t, testStepper(BoundsClamp), 0)[0].Program, Born: 5, First: 6}
	require.ErrorContains(t, s.SetEffect(3, &source, true), "parameters")
	source.Params = weather(t, testStepper(BoundsClamp), 0)[0].Params
	source.Path.Form = 9
	require.ErrorContains(t, s.SetEffect(3, &source, true), "path")
	s.EndEffect(3, true)
	s.EndEffect(4000, true)
	s.Drop(7)
	must.Lack(s.State(7))
	s.Tick()
	require.EqualValues(t, 6, s.Now())
}
