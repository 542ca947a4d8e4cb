package field_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/field"
	"github.com/worldd/worldd/internal/must"
)

// numbered repeats a format with 0, 1, 2 ...
func numbered(format string, n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, format, i)
	}
	return b.String()
}

func compile(t testing.TB, text string) *field.Program {
	t.Helper()
	return must.Get(field.Compile(text))
}

// at evaluates a program at one point, on an output of zero.
func at(t testing.TB, p *field.Program, point [3]float32, env field.Env) [3]float32 {
	t.Helper()
	points := field.Planes{X: point[:1], Y: point[1:2], Z: point[2:]}
	out := planes(1)
	require.NoError(t, p.Evaluate(points, out, env, make([]float32, p.Scratch())))
	return [3]float32{out.X[0], out.Y[0], out.Z[0]}
}

func TestHeader(t *testing.T) {
	p := compile(t, `
# a vent
effect vent

param strength = 9   # all lanes
param lean = (.5, -1.e0, +2e-1)
param full = (1,2,3,4)
box (-1, 0, -1), (1, 8, 1)
output = add output, lean
`)
	require.Equal(t, "vent", p.Name())
	require.Equal(t, []field.Param{
		{Name: "strength", Default: field.Vec4{9, 9, 9, 9}, Scalar: true}, {Name: "lean", Default: field.Vec4{0.5, -1, 0.2, 0}}, {Name: "full", Default: field.Vec4{1, 2, 3, 4}},
	}, p.Params())
	box := must.Have(p.Box())
	require.Equal(t, field.Box{Min: [3]float32{-1, 0, -1}, Max: [3]float32{1, 8, 1}}, box)
	p.Params()[0].Name = "mine"
	require.Equal(t, "strength", p.Params()[0].Name)

	for _, text := range []string{"output = add output, 1", "everywhere\noutput = add output, 1"} {
		p := compile(t, text)
		require.Empty(t, p.Name())
		require.Empty(t, p.Params())
		must.Lack(p.Box())
	}
}

// TestMeaning evaluates each operation at (3, -4, 12).
func TestMeaning(t *testing.T) {
	for expression, want := range map[string][3]float32{
		"mov position":             {3, -4, 12},
		"mov 7":                    {7, 7, 7},
		"mov (1,2,3)":              {1, 2, 3},
		"mov time":                 {0.25, 0.25, 0.25},
		"mov p":                    {10, 20, 30},
		"mov p.w":                  {40, 40, 40},
		"mov position.y":           {-4, -4, -4},
		"mov position.w":           {0, 0, 0},
		"add position, p":          {13, 16, 42},
		"sub position, 1":          {2, -5, 11},
		"mul position, (2,3,4)":    {6, -12, 48},
		"div position, 2":          {1.5, -2, 6},
		"mad position, 2, p":       {16, 12, 54},
		"nmad position, 2, p":      {4, 28, 6},
		"min position, 2":          {2, -4, 2},
		"max position, 2":          {3, 2, 12},
		"abs position":             {3, 4, 12},
		"neg position":             {-3, 4, -12},
		"floor (1.5, -1.5, 2)":     {1, -2, 2},
		"sqrt (4, 9, 2.25)":        {2, 3, 1.5},
		"sin time":                 {0.99999994, 0.99999994, 0.99999994},
		"saturate (0.5, -1, 9)":    {0.5, 0, 1},
		"smooth (0.5, -1, 9)":      {0.5, 0, 1},
		"smooth (0.25, 0.75, 1)":   {0.15625, 0.84375, 1},
		"dot position, (1,1,2,99)": {23, 23, 23},
		"cross (1,0,0), (0,1,0)":   {0, 0, 1},
		"cross position, (0,1,0)":  {-12, 0, 3},
		"length position":          {13, 13, 13},
		"select_lt position, 3, (1,2,3), (4,5,6)":         {4, 2, 6},
		"select_ge position, 3, (1,2,3), (4,5,6)":         {1, 5, 3},
		"select_lt position.y, time.x, position.z, p.x":   {12, 12, 12},
		"select_ge (0,0,0), (0,0,0), (-0, 0, 1), (9,9,9)": {0, 0, 1},
		"min (1,2,3), (3,2,1)":                            {1, 2, 1},
		"mad (0.1,0.1,0.1), (10,10,10), (-1,-1,-1)":       {1.4901161e-08, 1.4901161e-08, 1.4901161e-08},
	} {
		t.Run(expression, func(t *testing.T) {
			p := compile(t, "param p = (10,20,30,40)\nv = "+expression+"\noutput = add output, v")
			require.Equal(t, want, at(t, p, [3]float32{3, -4, 12}, field.Env{Time: 0.25}))
		})
	}
	unit := at(t, compile(t, "n = normalize position\noutput = add output, n"), [3]float32{3, -4, 12}, field.Env{})
	require.InDelta(t, 1, math.Sqrt(float64(unit[0]*unit[0]+unit[1]*unit[1]+unit[2]*unit[2])), 1e-6)
	require.Zero(t, at(t, compile(t, "n = normalize position\noutput = add output, n"), [3]float32{}, field.Env{}))
}

func TestNames(t *testing.T) {
	p := compile(t, `
length = length position  # an operation may lend its name
v = mov 1
v.y = mov (5, 6, 7)       # lane y of it
v = mul v, length
v.w = mov 9
v.x = mov v.w
output = add output, v
output.z = sub output.z, 1
output = mad v, 2, output
output.y = nmad v, 1, output.y
`)
	require.Equal(t, [3]float32{9 + 18, 30 + 60 - 30, 5 - 1 + 10}, at(t, p, [3]float32{3, 4, 0}, field.Env{}))
}

func TestParameters(t *testing.T) {
	p := compile(t, "param a = (1,2,3)\nparam b = 5\nv = mul a, b\noutput = add output, v")
	require.Equal(t, [3]float32{5, 10, 15}, at(t, p, [3]float32{}, field.Env{}))
	require.Equal(t, [3]float32{6, 0, 0}, at(t, p, [3]float32{}, field.Env{Params: []field.Vec4{{2, 0, 0}, {3, 3, 3}}}))
}

// TestNaN: NaN from any source becomes zero in the lanes to which the program adds, and
// only there (F7).
func TestNaN(t *testing.T) {
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	p := compile(t, "output = add output, position")
	points := field.Planes{X: []float32{nan, 1}, Y: []float32{inf, -inf}, Z: []float32{0, float32(math.Copysign(0, -1))}}
	out := field.Planes{X: []float32{1, nan}, Y: []float32{-inf, 1}, Z: []float32{float32(math.Copysign(0, -1)), float32(math.Copysign(0, -1))}}
	require.NoError(t, p.Evaluate(points, out, field.Env{}, make([]float32, p.Scratch())))
	require.Equal(t, []float32{0, 0}, out.X)
	require.Equal(t, []float32{0, -inf}, out.Y)
	require.Equal(t, []uint32{0, 1 << 31}, []uint32{math.Float32bits(out.Z[0]), math.Float32bits(out.Z[1])})

	const other = 0x7fc54321
	out.X[0], out.Y[0], out.Z[0] = nan, math.Float32frombits(other), nan
	p = compile(t, "output = add output, (3,0,4)")
	require.NoError(t, p.Evaluate(points, out, field.Env{}, make([]float32, p.Scratch())))
	require.Equal(t, []uint32{0, other, 0}, []uint32{math.Float32bits(out.X[0]), math.Float32bits(out.Y[0]), math.Float32bits(out.Z[0])})
}

func TestSuperposition(t *testing.T) {
	a, b := compile(t, explosion), compile(t, "output = add output, (1,2,3)\noutput = mad position, time, output")
	points, one, other := somePoints(200), planes(200), planes(200)
	scratch := make([]float32, field.MaxScratch)
	require.NoError(t, a.Evaluate(points, one, field.Env{Time: 2}, scratch))
	require.NoError(t, b.Evaluate(points, one, field.Env{Time: 2}, scratch))
	both := compile(t, explosion+"output = add output, (1,2,3)\noutput = mad position, time, output")
	require.NoError(t, both.Evaluate(points, other, field.Env{Time: 2}, scratch))
	for i := range points.X {
		if point := points.X[i] + points.Y[i] + points.Z[i]; point-point == 0 { // a NaN is dropped after each effect
			require.Equal(t, one.X[i], other.X[i])
			require.Equal(t, one.Y[i], other.Y[i])
			require.Equal(t, one.Z[i], other.Z[i])
		}
	}
}
