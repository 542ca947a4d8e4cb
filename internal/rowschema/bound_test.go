package rowschema_test

import (
	"math"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/internal/rowschema"
	"github.com/worldd/worldd/replication/schema"
)

// served and declared are two versions of a component whose fields all differ.
type (
	served struct {
		Gone    float32 `net:"range=2..10,step=1/4"` // 0 is out of its range
		Wide    int64
		Narrow  uint8 `net:"bits=4"`
		Signed  int16
		State   uint8   `net:"enum=5"`
		X       float32 `net:"range=-512..512,step=1/8,predict=linear"`
		Far     float64
		Near    float32
		Huge    float64     `net:"range=0..8e60,step=1e60"`
		Yaw     float32     `net:"angle,bits=8,predict=linear"`
		Facing  [4]float32  `net:"quat,bits=9"`
		Lost    [4]float32  `net:"quat,bits=9"`
		Target  bulk.Handle `net:"ref"`
		Armed   bool
		Slots   [2]int8
		Name    string `net:"max=12"`
		Key     []byte `net:"max=4"`
		Serial  []byte `net:"max=6"`
		Dropped string `net:"max=4"`
		Was     int32
	}
	declared struct {
		Shield  uint16 // the server lacks it
		Is      int64  `was:"Was"`
		Name    string `net:"max=5"`
		Armed   bool
		Signed  uint8
		Narrow  int64
		Wide    int8    `net:"bits=4"`
		State   uint8   `net:"enum=3"`
		X       float64 `net:"range=-8..8,step=1/4,predict=linear"`
		Far     float32
		Near    float64
		Huge    float32
		Yaw     float64     `net:"range=-4..4,step=1/64"`
		Facing  [4]float32  `net:"quat,bits=5"`
		Target  bulk.Handle `net:"ref"`
		Slots   [3]int32
		Key     string `net:"max=8"`
		Serial  []byte `net:"max=3"`
		Motto   string `net:"max=9"`
		Private int    `net:"-"`
	}
)

// boundComponent returns the component of a server's schema bound to declared, and its values.
func boundComponent(t testing.TB) (server, client *rowschema.Component, values, texts int) {
	s, own := schema.New(), schema.New()
	schema.Define[served](s, "c")
	schema.Define[declared](own, "c").WithDefault(declared{Shield: 7, Slots: [3]int32{1, 2, 3}, Motto: "veni", Armed: true})
	require.NoError(t, s.Err())
	require.NoError(t, own.Err())
	bound := must.Get(schema.Parse(s.Text()))
	must.Get(bound.Bind(own))
	require.Equal(t, reflect.TypeFor[declared](), bound.Components()[0].Type)
	return rowschema.New(s).Component(0), rowschema.New(bound).Component(0), s.Values(), len(rowschema.New(s).TextFields())
}

// readBound returns the struct of a client of the declared version for a state of the server.
func readBound(t testing.TB, in served) (out declared) {
	server, client, n, m := boundComponent(t)
	values, texts := make([]uint32, n), make([]string, m)
	server.Quantise(&in, values)
	server.UpdateTexts(&in, texts)
	out.Private = 77
	client.Restore(values, &out)
	client.SetTexts(true, texts, &out)
	var blended declared
	client.Blend(true, values, values, 0.5, &blended)
	client.SetTexts(true, texts, &blended)
	blended.Private = 77
	if in.Far == in.Far {
		require.Equal(t, out, blended)
	}
	return out
}

// A bound struct has the server's values, converted and saturated, and defaults for the rest.
func TestBoundValues(t *testing.T) {
	turn := float64(float32(math.Pi / 2))
	out := readBound(t, served{
		Wide: 1 << 40, Narrow: 15, Signed: -300, State: 4, X: 300.125, Far: 1e300, Near: 0.1, Huge: 3e60, Yaw: math.Pi / 2,
		Facing: [4]float32{0, 0, 0, 1}, Target: bulk.NewHandle(5, 3), Slots: [2]int8{-4, 5},
		Name: "Zoë Ümit", Key: []byte{'a', 0xff, 'b'}, Serial: []byte("123456"), Was: -9,
	})
	require.InDelta(t, 1, out.Facing[3], 0.01)
	out.Facing = [4]float32{}
	require.Equal(t, declared{
		Shield: 7, Is: -9, Name: "Zoë ", Signed: 0, Narrow: 15, Wide: 7, State: 2, X: 300.125, Far: math.MaxFloat32, Near: float64(float32(0.1)),
		Huge: math.MaxFloat32, Yaw: math.Pi / 2, Target: bulk.NewHandle(5, 3), Slots: [3]int32{-4, 5, 3}, Key: "a\ufffdb", Serial: []byte("123"), Motto: "veni", Private: 77,
	}, out)
	require.InDelta(t, turn, out.Yaw, 1e-6)
	out = readBound(t, served{Wide: math.MinInt64, Signed: 300, Far: math.Inf(-1), Armed: true})
	require.EqualValues(t, []any{int8(-8), uint8(255), true}, []any{out.Wide, out.Signed, out.Armed})
	require.True(t, math.IsInf(float64(out.Far), -1))
	require.True(t, math.IsNaN(float64(readBound(t, served{Far: math.NaN()}).Far)))
}

// Quantising a bound struct writes the server's form: saturated, and 0 in fields that it lacks.
func TestBoundQuantise(t *testing.T) {
	server, client, n, m := boundComponent(t)
	in := declared{
		Is: math.MaxInt64, Name: "Zoë Ümit Zoë", Armed: true, Signed: 200, Narrow: 99, Wide: -3, State: 2, X: 1000, Far: 0.5, Near: 1e300, Huge: -1,
		Yaw: -math.Pi, Target: bulk.NewHandle(5, 3), Slots: [3]int32{-300, 300, 9}, Key: "äöü", Serial: []byte("1"),
	}
	values, texts := make([]uint32, n), make([]string, m)
	client.Quantise(&in, values)
	require.NotZero(t, client.UpdateTexts(&in, texts))
	var out served
	server.Restore(values, &out)
	server.SetTexts(true, texts, &out)
	require.InDelta(t, 1, out.Facing[3], 0.01)
	require.Equal(t, out.Facing, out.Lost, "the identity, as for a zero quaternion")
	out.Facing, out.Lost = [4]float32{}, [4]float32{}
	require.Equal(t, served{
		Gone: 2, Wide: -3, Narrow: 15, Signed: 200, State: 2, X: 512, Far: 0.5, Near: math.MaxFloat32, Yaw: -math.Pi,
		Target: bulk.NewHandle(5, 3), Armed: true, Slots: [2]int8{-128, 127}, Name: "Zoë Ümit Z", Key: []byte("äö"), Serial: []byte("1"), Was: math.MaxInt32,
	}, out)
	require.Zero(t, client.UpdateTexts(&in, texts), "unchanged")
	in.Narrow, in.X = -1, -1000
	client.Quantise(&in, values)
	server.Restore(values, &out)
	require.Zero(t, out.Narrow)
	require.EqualValues(t, -512, out.X)
}

// Near, Equals and Adopt compare states as far as the struct can hold them, so that a prediction
// with an older component agrees with the server.
func TestBoundStatesAgree(t *testing.T) {
	server, client, n, _ := boundComponent(t)
	r := rand.New(rand.NewPCG(1, 2))
	values, scratch := make([]uint32, n), make([]uint32, n)
	for range 2000 {
		in := served{
			Gone: 2 + 8*r.Float32(), Wide: int64(r.Uint64()), Narrow: uint8(r.Uint32()), Signed: int16(r.Uint32()), State: uint8(r.Uint32N(5)), X: 1024*r.Float32() - 512,
			Far: 1e300 * r.NormFloat64(), Near: r.Float32(), Huge: 8e60 * r.Float64(), Yaw: 7 * r.Float32(), Facing: [4]float32{r.Float32(), 0, 0, 1}, Slots: [2]int8{1, 2},
		}
		server.Quantise(&in, values)
		var out declared
		client.Initialise(&out)
		client.Adopt(values, &out)
		require.True(t, client.Near(values, &out))
		require.True(t, client.Equals(values, &out, scratch))
		require.EqualValues(t, []any{uint16(7), int32(3)}, []any{out.Shield, out.Slots[2]})
		out.Slots[0]++
		require.False(t, client.Near(values, &out))
		require.False(t, client.Equals(values, &out, scratch))
	}
}

// A float32 holds the nearest of numbers that the server's range or angle tells apart, and a
// prediction with it agrees with the server.
func TestBoundFinerThanFloat32(t *testing.T) {
	type served struct {
		X   float64 `net:"range=-65536..65536,step=1/16384"`
		Yaw float64 `net:"angle,bits=32"`
	}
	type declared struct {
		X   float32 `net:"range=-512..512,step=1/64"`
		Yaw float32 `net:"angle,bits=12"`
	}
	s, own := schema.New(), schema.New()
	schema.Define[served](s, "c")
	schema.Define[declared](own, "c")
	bound := must.Get(schema.Parse(s.Text()))
	must.Get(bound.Bind(own))
	server, client := rowschema.New(s).Component(0), rowschema.New(bound).Component(0)
	values, scratch := make([]uint32, s.Values()), make([]uint32, s.Values())
	check := func(in served, out declared) {
		t.Helper()
		server.Quantise(&in, values)
		server.Restore(values, &in)
		client.Adopt(values, &out)
		require.True(t, client.Near(values, &out), "%v as %v", in, out)
		require.True(t, client.Equals(values, &out, scratch), "%v as %v", in, out)
		require.InDelta(t, in.X, out.X, 1.0/256)
		require.InDelta(t, 0, math.Remainder(in.Yaw-float64(out.Yaw), 2*math.Pi), 1e-6)
	}
	check(served{-65536, -math.Pi}, declared{})
	check(served{50000.0123, math.Pi - 1e-9}, declared{})
	r := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		in := served{131072*r.Float64() - 65536, 7 * r.Float64()}
		check(in, declared{})
		check(in, declared{float32(in.X), float32(in.Yaw)})
	}
	out := declared{X: 50000, Yaw: 2}
	client.Quantise(&out, values)
	out.X++
	require.False(t, client.Near(values, &out))
	out = declared{X: 50000, Yaw: 2.001}
	require.False(t, client.Near(values, &out))
}

// Near allows for the rounding of the coarser side, at any distance from zero, and for no more.
func TestBoundNearAtThePrecisionOfFloat32(t *testing.T) {
	type fine struct {
		Ranged float64 `net:"range=-1048576..1048576,step=1/1024"`
		Yaw    float64 `net:"angle,bits=32"`
		Whole  float64
		Single float32
	}
	type coarse struct {
		Ranged float32
		Yaw    float32 `net:"angle,bits=12"`
		Whole  float32
		Single float64
	}
	s, own := schema.New(), schema.New()
	schema.Define[fine](s, "c")
	schema.Define[coarse](own, "c")
	bound := must.Get(schema.Parse(s.Text()))
	must.Get(bound.Bind(own))
	server, client := rowschema.New(s).Component(0), rowschema.New(bound).Component(0)
	values := make([]uint32, s.Values())
	is := func(want bool, in fine, out coarse) {
		t.Helper()
		server.Quantise(&in, values)
		require.Equal(t, want, client.Near(values, &out), "%v as %v", in, out)
	}
	for _, x := range []float64{1e6, -1e6, 1 << 20, 1000, 1, 0.01} {
		in := fine{Ranged: x, Whole: x, Single: float32(x)}
		last := float32(x)
		ulp := math.Abs(x) / (1 << 23)
		is(true, in, coarse{last, 0, last, x})
		is(true, in, coarse{last, 0, last, x * (1 - 1.0/(1<<23))})
		is(true, in, coarse{last, 0, last * (1 - 1.0/(1<<23)), x})
		is(true, in, coarse{float32(x - ulp), 0, last, x})
		is(false, in, coarse{float32(x - max(8*ulp, 1.0/256)), 0, last, x})
		is(false, in, coarse{last, 0, float32(x - 8*ulp), x})
		is(false, in, coarse{last, 0, last, x - 8*ulp})
	}
	huge := fine{Whole: math.MaxFloat32, Single: math.MaxFloat32}
	is(true, huge, coarse{Whole: math.MaxFloat32, Single: 1e300})
	is(false, huge, coarse{Whole: 1, Single: math.MaxFloat32})
	is(false, huge, coarse{Whole: float32(math.Inf(1)), Single: math.MaxFloat32})
	is(false, huge, coarse{Whole: float32(math.NaN()), Single: math.MaxFloat32})
	is(false, fine{Whole: 1}, coarse{Whole: -1})
	is(true, fine{Yaw: math.Pi - 1e-7}, coarse{Yaw: -math.Pi})
	is(false, fine{Yaw: math.Pi - 1e-3}, coarse{Yaw: -math.Pi})
	is(false, fine{Yaw: 1}, coarse{Yaw: -1})
}

// Messages are bound as components are.
func TestBoundMessages(t *testing.T) {
	type v1 struct {
		Damage uint16
		Verb   string `net:"max=8"`
	}
	type v2 struct {
		By     bulk.Handle `net:"ref"`
		Damage uint8
		Crit   bool
		Name   string `net:"max=4" was:"Verb"`
	}
	old, fresh := schema.New(), schema.New()
	schema.DefineEvent[v1](old, "hit")
	schema.DefineCommand[v1](old, "strike")
	schema.DefineEvent[v2](fresh, "hit").WithDefault(v2{Crit: true, Damage: 9})
	schema.DefineCommand[v2](fresh, "strike")
	require.NoError(t, fresh.Err())
	bound := must.Get(schema.Parse(old.Text()))
	must.Get(bound.Bind(fresh))
	server, client := rowschema.NewMessages(old), rowschema.NewMessages(bound)
	var got v2
	require.NoError(t, client.Events[0].ReadValue(must.Get(server.Events[0].AppendValue(nil, v1{300, "burnt"})), &got))
	require.Equal(t, v2{Damage: 255, Crit: true, Name: "burn"}, got)
	var sent v1
	require.NoError(t, server.Args[0].ReadValue(must.Get(client.Args[0].AppendValue(nil, v2{By: bulk.NewHandle(4, 2), Damage: 8, Crit: true, Name: "Ada"})), &sent))
	require.Equal(t, v1{8, "Ada"}, sent)

	bound = must.Get(schema.Parse(fresh.Text()))
	must.Get(bound.Bind(old))
	server, client = rowschema.NewMessages(fresh), rowschema.NewMessages(bound)
	var seen v1
	require.NoError(t, client.Events[0].ReadValue(must.Get(server.Events[0].AppendValue(nil, v2{Damage: 8, Name: "Ada"})), &seen))
	require.Equal(t, v1{Damage: 8}, seen, "only the new version knows the former name")
}
