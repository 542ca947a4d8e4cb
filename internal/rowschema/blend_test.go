package rowschema_test

import (
	"math"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/rowschema"
	"github.com/worldd/worldd/internal/rowtest"
	"github.com/worldd/worldd/replication/schema"
)

// pose has a field of every kind that Blend distinguishes.
type pose struct {
	Near   float32    `net:"range=-10..10,step=1/256"`
	Far    float64    `net:"range=-10..10,step=1/256,predict=linear"`
	Raw    float32    // 32 bits
	Exact  float64    // 64 bits
	Yaw    float32    `net:"angle,bits=12,predict=linear"`
	Pitch  float64    `net:"angle,bits=16"`
	Facing [4]float32 `net:"quat,bits=10,predict=linear"`
	Ammo   int32      `net:"bits=12,predict=linear"`
	Mode   uint8      `net:"enum=5"`
	Armed  bool
	Secret float32 `net:"range=0..10,step=1/256,owner"`
	Cache  int32   `net:"-"`
}

func about(axis int, angle float64) (q [4]float32) {
	q[axis], q[3] = float32(math.Sin(angle/2)), float32(math.Cos(angle/2))
	return q
}

func blendPoses(t *testing.T, from, to pose, ratio float64) pose {
	s := schema.New()
	schema.Define[pose](s, "pose")
	require.NoError(t, s.Err())
	a, b := make([]uint32, s.Values()), make([]uint32, s.Values())
	rowschema.New(s).Component(0).Quantise(&from, a)
	rowschema.New(s).Component(0).Quantise(&to, b)
	got := pose{Cache: 77}
	rowschema.New(s).Component(0).Blend(true, a, b, ratio, &got)
	require.EqualValues(t, 77, got.Cache, "not replicated")
	public := pose{Secret: 88}
	rowschema.New(s).Component(0).Blend(false, a, b, ratio, &public)
	require.EqualValues(t, 88, public.Secret, "only for owners")
	public.Secret, public.Cache = got.Secret, got.Cache
	require.Equal(t, got, public)
	return got
}

func TestBlend(t *testing.T) {
	from := pose{Secret: 2, Near: 1, Far: 2, Raw: 3, Exact: 4, Yaw: 3, Pitch: -3, Facing: about(1, 1), Ammo: 5, Mode: 1}
	to := pose{Secret: 4, Near: 3, Far: 4, Raw: 7, Exact: 8, Yaw: -3, Pitch: 3, Facing: about(1, 1.4), Ammo: 9, Mode: 4, Armed: true}

	got := blendPoses(t, from, to, 0.5)
	require.EqualValues(t, 2, got.Near)
	require.EqualValues(t, 3, got.Secret)
	require.EqualValues(t, 3, got.Far)
	require.EqualValues(t, 5, got.Raw)
	require.EqualValues(t, 6, got.Exact)
	require.InDelta(t, math.Pi, math.Abs(float64(got.Yaw)), 0.002, "through pi, not through 0")
	require.InDelta(t, math.Pi, math.Abs(got.Pitch), 0.002, "the other way round")
	for i, want := range about(1, 1.2) {
		require.InDelta(t, want, got.Facing[i], 0.005)
	}
	require.Equal(t, []any{int32(5), uint8(1), false}, []any{got.Ammo, got.Mode, got.Armed}, "as it was")

	got = blendPoses(t, from, to, 0.25)
	require.InDelta(t, 3+float64(2*math.Pi-6)/4, float64(got.Yaw), 0.002)

	got = blendPoses(t, from, to, 1.5)
	require.EqualValues(t, 3, got.Near, "not predicted: stays")
	require.EqualValues(t, 5, got.Far, "predicted: extrapolated")
	require.EqualValues(t, []float64{7, 8}, []float64{float64(got.Raw), got.Exact})
	require.InDelta(t, -3+float64(2*math.Pi-6)/2, float64(got.Yaw), 0.002)
	for i, want := range about(1, 1.6) {
		require.InDelta(t, want, got.Facing[i], 0.005)
	}
	require.Equal(t, []any{int32(9), uint8(4), true}, []any{got.Ammo, got.Mode, got.Armed}, "as it is")
	require.EqualValues(t, 10, blendPoses(t, from, to, 50).Far, "within its range")

	odd := from
	odd.Raw, odd.Exact = float32(math.Inf(1)), math.NaN()
	got = blendPoses(t, from, odd, 0.5)
	require.EqualValues(t, []float64{3, 4}, []float64{float64(got.Raw), got.Exact}, "no number lies between")
}

// Blends at ratios 0 and 1 equal the states bit for bit. Between them quaternions keep
// length 1, and q and -q are the same.
func TestBlendEndsAndUnits(t *testing.T) {
	s := rowtest.SampleSchema()
	layout := rowschema.New(s)
	for seed := range 50 {
		from, to := rowtest.SampleRow(s, seed), rowtest.SampleRow(s, seed+1)
		for i := range s.Components() {
			spec := s.Components()[i]
			a, b := from.Values[spec.Offset:spec.Offset+spec.Values], to.Values[spec.Offset:spec.Offset+spec.Values]
			for ratio, want := range map[float64][]uint32{-1: a, 0: a, 1: b} {
				memory := reflect.New(spec.Type).Interface()
				values := make([]uint32, spec.Values)
				layout.Component(i).Blend(true, a, b, ratio, memory)
				layout.Component(i).Quantise(memory, values)
				require.Equal(t, want, values, "%s at %v", spec.Name, ratio)
			}
		}
	}
	r := rand.New(rand.NewPCG(3, 3))
	for range 2000 {
		from, to := pose{}, pose{}
		for i := range 4 {
			from.Facing[i], to.Facing[i] = r.Float32()-0.5, r.Float32()-0.5
		}
		ratio := 1.5 * r.Float64()
		got := blendPoses(t, from, to, ratio).Facing
		length := 0.0
		for _, v := range got {
			length += float64(v) * float64(v)
		}
		require.InDelta(t, 1, length, 1e-5)
	}
}

func BenchmarkBlend(b *testing.B) {
	s := schema.New()
	schema.Define[schema.Body](s, "body")
	require.NoError(b, s.Err())
	from, to := []uint32{1 << 18, 1 << 18, 1 << 18, 4096, 4096, 4096}, []uint32{1<<18 + 9, 1<<18 + 8, 1<<18 - 7, 4097, 4095, 4096}
	var body schema.Body
	component := rowschema.New(s).Component(0)
	b.ReportAllocs()
	for b.Loop() {
		component.Blend(true, from, to, 0.3, &body)
	}
}
