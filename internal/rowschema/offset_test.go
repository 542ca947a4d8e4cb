package rowschema_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/rowschema"
	"github.com/worldd/worldd/replication/schema"
)

type craft struct {
	Count    int32
	Position [3]float32 `net:"range=-8..8,step=1/16"`
	Heading  float32    `net:"angle,bits=12"`
	Attitude [4]float32 `net:"quat,bits=9"`
	Fuel     float64
	Lit      bool
}

func craftSchema(t *testing.T) *schema.Schema {
	s := schema.New()
	schema.Define[craft](s, "craft")
	require.NoError(t, s.Err())
	return s
}

func TestSpans(t *testing.T) {
	require.Equal(t, []rowschema.Span{{First: 0, Count: 3}, {First: 3, Count: 1, Turn: true}, {First: 4, Count: 3, Turn: true}, {First: 7, Count: 1}}, rowschema.New(craftSchema(t)).Component(0).Spans())
}

func randomCraft(r *rand.Rand) (c craft) {
	var length float64
	for i := range c.Attitude {
		c.Attitude[i] = float32(r.NormFloat64())
		length += float64(c.Attitude[i]) * float64(c.Attitude[i])
	}
	for i := range c.Attitude {
		c.Attitude[i] /= float32(math.Sqrt(length))
	}
	for i := range c.Position {
		c.Position[i] = r.Float32()*16 - 8
	}
	c.Heading, c.Fuel = r.Float32()*20-10, r.Float64()
	return c
}

// A move by a whole offset reaches the target. A move by a part of it goes that part of the
// way.
func TestOffsetAndMove(t *testing.T) {
	s := craftSchema(t)
	component := rowschema.New(s).Component(0)
	r := rand.New(rand.NewPCG(1, 2))
	for range 1000 {
		from, to := randomCraft(r), randomCraft(r)
		by, left := make([]float64, 8), make([]float64, 8)
		component.Offset(&from, &to, by)
		require.LessOrEqual(t, math.Abs(by[3]), math.Pi, "the shorter way")
		require.LessOrEqual(t, math.Sqrt(by[4]*by[4]+by[5]*by[5]+by[6]*by[6]), math.Pi+1e-6, "the shorter way")
		v := from
		component.Move(&v, by, 0.25)
		component.Offset(&v, &to, left)
		for i := range by {
			require.InDelta(t, by[i]*0.75, left[i], 1e-4, "number %d", i)
		}
		component.Move(&v, left, 1)
		component.Offset(&v, &to, left)
		for i := range left {
			require.InDelta(t, 0, left[i], 1e-4, "number %d", i)
		}
	}
}

// An offset has no NaN, and a moved struct has no NaN in fields from which Quantise removes
// NaN.
func TestOffsetOfNaN(t *testing.T) {
	s := craftSchema(t)
	component := rowschema.New(s).Component(0)
	nan := float32(math.NaN())
	inf := math.Inf(1)
	bad := craft{Position: [3]float32{nan, 1, 2}, Heading: nan, Attitude: [4]float32{0, nan, 0, 0}, Fuel: inf}
	good := craft{Attitude: [4]float32{3: 1}}
	by := make([]float64, 8)
	component.Offset(&good, &bad, by)
	require.Equal(t, []float64{0, 1, 2, 0, 0, 0, 0, 0}, by)
	component.Move(&bad, by, 1)
	require.Equal(t, [3]float32{0, 2, 4}, bad.Position)
	require.Zero(t, bad.Heading)
	require.NotContains(t, bad.Attitude[:], nan)
	require.False(t, bad.Attitude[1] != bad.Attitude[1])
	var null craft
	component.Offset(&null, &good, by)
	require.Equal(t, make([]float64, 8), by, "four zeros are the identity")
}

// After Adopt a component quantises to the values. Fields that already agree do not change,
// and no number moves away from the number that was quantised.
func TestAdopt(t *testing.T) {
	s := craftSchema(t)
	component := rowschema.New(s).Component(0)
	r := rand.New(rand.NewPCG(3, 4))
	want, got := make([]uint32, s.Values()), make([]uint32, s.Values())
	for range 5000 {
		truth, near := randomCraft(r), randomCraft(r)
		for i := range near.Position {
			near.Position[i] = truth.Position[i] + (r.Float32()-0.5)/8
		}
		near.Fuel = truth.Fuel
		component.Quantise(&truth, want)
		v := near
		component.Adopt(want, &v)
		component.Quantise(&v, got)
		require.Equal(t, want, got)
		require.Equal(t, truth.Fuel, v.Fuel)
		component.Quantise(&near, got)
		for i := range v.Position {
			if got[1+i] == want[1+i] {
				require.Equal(t, near.Position[i], v.Position[i])
			} else {
				before, after := near.Position[i]-truth.Position[i], v.Position[i]-truth.Position[i]
				require.LessOrEqual(t, math.Abs(float64(after)), math.Abs(float64(before))+1.0/16/512)
			}
		}
	}
}
