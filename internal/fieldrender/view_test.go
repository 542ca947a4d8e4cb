package fieldrender

import (
	"image"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/worldd/worldd/internal/must"
)

func TestParsePlane(t *testing.T) {
	for i := range planes {
		require.Equal(t, Plane(i), must.Get(ParsePlane(Plane(i).String())))
	}
	for _, wrong := range []string{"", "yx", "XZ", "xyz"} {
		require.ErrorContains(t, must.Fail(ParsePlane(wrong)), "it is xz (from above), xy or zy")
	}
}

func TestAround(t *testing.T) {
	p := compile(t, "param a = 2\nbox (-4, 0, 10) (4, 30, 18)\noutput = add output, a")
	v := Around(p, XY)
	require.NoError(t, v.Check(p))
	require.Equal(t, float32(14), v.At)
	require.Equal(t, float32(15), v.Min[1]/2+v.Max[1]/2)
	require.Equal(t, float32(37.5), v.Max[1]-v.Min[1])
	require.Equal(t, float32(12), v.Max[0]-v.Min[0], "a narrow box has more surroundings")
	require.Equal(t, [][4]float32{{2, 2, 2, 2}}, v.Params)
	require.Equal(t, float32(15), Around(p, XZ).At)

	everywhere := uniform(t, "(1, 0, 0)")
	v = Around(everywhere, ZY)
	require.NoError(t, v.Check(everywhere))
	require.Equal(t, [2]float32{-20, -20}, v.Min)

	point := compile(t, "box (1, 1, 1) (1, 1, 1)\noutput = add output, (0, 1, 0)")
	require.ErrorIs(t, Around(point, XZ).Check(point), ErrView, "a point has no extent")
}

func TestCheck(t *testing.T) {
	p := uniform(t, "(1, 0, 0)")
	infinite := float32(math.Inf(1))
	nan := float32(math.NaN())
	for _, c := range []struct {
		name   string
		change func(v *View)
		want   string
	}{
		{"far", func(v *View) { v.Max[0] = 2e6 }, "x is 2e+06"},
		{"infinite", func(v *View) { v.Min[1] = -infinite }, "z is -Inf"},
		{"NaN", func(v *View) { v.At = nan }, "y is NaN"},
		{"never", func(v *View) { v.Time = nan }, "time is NaN"},
		{"reversed", func(v *View) { v.Min, v.Max = v.Max, v.Min }, "or inverted"},
		{"empty", func(v *View) { v.Max[0] = v.Min[0] }, "too small"},
		{"below the resolution", func(v *View) { v.Min, v.Max = [2]float32{9e5, 9e5}, [2]float32{9e5 + 10, 9e5 + 10} }, "too small for its coordinates"},
		{"narrow", func(v *View) { v.Max[1] = v.Min[1] + 1 }, "at most 4 times as long"},
		{"parameters", func(v *View) { v.Params = make([][4]float32, 2) }, "0 parameters, got 2 values"},
	} {
		t.Run(c.name, func(t *testing.T) {
			v := Around(p, XZ)
			c.change(&v)
			_, err := Still(p, v)
			require.ErrorIs(t, err, ErrView)
			require.ErrorContains(t, err, c.want)
			require.ErrorIs(t, must.Fail(Sheet(p, v, 1)), ErrView)
		})
	}
	for _, duration := range []float32{0, -1, nan, infinite, 3601} {
		require.ErrorIs(t, must.Fail(Animation(p, Around(p, XZ), duration)), ErrView)
	}
}

// toPixel and toPoint are inverse, with up at the top.
func TestPixelsAndPoints(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := View{Plane: Plane(rapid.IntRange(0, len(planes)-1).Draw(t, "plane"))}
		for i := range 2 {
			v.Min[i] = rapid.Float32Range(-1000, 1000).Draw(t, "min")
			v.Max[i] = v.Min[i] + rapid.Float32Range(100, 1000).Draw(t, "extent")
		}
		p := panel{v, image.Rect(50, 20, 450, 520)}
		x, y := rapid.Float64Range(50, 450).Draw(t, "x"), rapid.Float64Range(20, 520).Draw(t, "y")
		right, vertical := p.toPoint(x, y)
		backX, backY := p.toPixel(right, vertical)
		require.InDelta(t, x, backX, 0.01)
		require.InDelta(t, y, backY, 0.01)
	})
	low, high := func(plane Plane) (x, y float64) {
		p := panel{View{Plane: plane, Max: [2]float32{1, 1}}, image.Rect(0, 0, 10, 10)}
		return p.toPixel(0, 0)
	}, 10.0
	_, y := low(XZ)
	require.Zero(t, y, "z grows downwards on a map")
	for _, plane := range []Plane{XY, ZY} {
		x, y := low(plane)
		require.Zero(t, x)
		require.Equal(t, high, y)
	}
}

// P2: a view that passes Check is drawn, with its labels inside the picture.
func TestAnyView(t *testing.T) {
	wind := compile(t, "effect wind\nparam v = (2, 0, 1)\nbox (-3, -3, -3) (3, 3, 3)\na = mul position, time\noutput = mad a, v, output")
	const size = 48
	drawn := 0
	rapid.Check(t, func(t *rapid.T) {
		coordinate := func(name string) float32 {
			size := math.Pow(10, rapid.Float64Range(-4, 6.2).Draw(t, name))
			return float32(size) * float32(rapid.IntRange(-1, 1).Draw(t, "sign"))
		}
		v := Around(wind, Plane(rapid.IntRange(0, len(planes)-1).Draw(t, "plane")))
		v.Mode = Mode(rapid.IntRange(0, 1).Draw(t, "mode"))
		v.At, v.Time = coordinate("at"), coordinate("time")
		v.Min = [2]float32{coordinate("right"), coordinate("vertical")}
		width := float32(math.Pow(10, rapid.Float64Range(-4, 6.2).Draw(t, "width")))
		v.Max = [2]float32{v.Min[0] + width, v.Min[1] + width*rapid.Float32Range(0.2, 5).Draw(t, "aspect")}
		v.Params = [][4]float32{{coordinate("param"), 1, 2, 3}}
		if v.Check(wind) != nil {
			return
		}
		drawn++
		picture := must.Get(still(wind, v, size))
		require.LessOrEqual(t, picture.Rect.Dx()*picture.Rect.Dy(), 200_000)
		m := must.Get(newMotion(wind, v, 1, size, frames))
		m.advance()
		m.drawOn(newFigure(wind, m.views, 1, size), 0, 0)
	})
	require.Positive(t, drawn)
}
