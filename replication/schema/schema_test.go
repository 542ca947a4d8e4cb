package schema_test

import (
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/internal/bitio"
	"github.com/worldd/worldd/internal/rowschema"
	"github.com/worldd/worldd/internal/rowtest"
	"github.com/worldd/worldd/replication/schema"
	"github.com/worldd/worldd/replication/wire"
)

func TestSchemaTagErrors(t *testing.T) {
	for _, c := range []struct {
		component any
		want      []string // what the error must say
	}{
		{struct{ S string }{}, []string{`component "c"`, "field S (string)", "wants its most bytes", `net:"max=24"`}},
		{struct{ B []byte }{}, []string{"field B ([]uint8)", "wants its most bytes"}},
		{struct{ B []int8 }{}, []string{"field B", "not supported"}},
		{structOf[string]("S", `net:"bits=8"`), []string{"field S", "takes no option but max and owner"}},
		{structOf[string]("S", `net:"owner"`), []string{"field S", "takes no option but max and owner"}},
		{structOf[string]("S", `net:"max=0"`), []string{"max=0", "1 to 1024"}},
		{structOf[string]("S", `net:"max=1025"`), []string{"max=1025", "1 to 1024"}},
		{structOf[string]("S", `net:"max=24,always"`), []string{"field S", "no option beside it but owner"}},
		{structOf[string]("S", `net:"max=24,predict=linear"`), []string{"field S", "no option beside it but owner"}},
		{structOf[[]byte]("S", `net:"max=24,bits=3"`), []string{"field S", "no option beside it but owner"}},
		{structOf[int32]("I", `net:"max=24"`), []string{"field I", "max is for string and []byte"}},
		{structOf[[2]uint8]("A", `net:"max=24"`), []string{"field A[0]", "max is for string and []byte"}},
		{struct {
			A [60]uint8
			S [5]string `net:"max=1"`
		}{}, []string{"field S[4]", "64 fields"}},
		{struct{ P *int32 }{}, []string{"field P", "not supported"}},
		{struct{ M map[int32]int32 }{}, []string{"field M", "not supported"}},
		{struct{ I int }{}, []string{"field I", "int32"}},
		{struct{ H bulk.Handle }{}, []string{"field H", "ref"}},
		{struct {
			In struct{ H bulk.Handle } `net:"bits=3"`
		}{}, []string{"field In.H", "ref"}},
		{struct {
			In struct{ X uint8 } `net:"ref"`
		}{}, []string{"field In", "ref is for bulk.Handle"}},
		{structOf[float32]("F", `net:"ref"`), []string{"field F", "ref is for bulk.Handle"}},
		{structOf[float32]("F", `net:"range=1..0,step=1"`), []string{"range=1..0"}},
		{structOf[float32]("F", `net:"range=0,step=1"`), []string{"range=0", "like"}},
		{structOf[float32]("F", `net:"range=0..NaN,step=1"`), []string{"range=0..NaN"}},
		{structOf[float32]("F", `net:"range=0..1"`), []string{"belong together"}},
		{structOf[float32]("F", `net:"step=1"`), []string{"belong together"}},
		{structOf[float32]("F", `net:"range=0..1,step=1/0"`), []string{"step=1/0"}},
		{structOf[float32]("F", `net:"range=0..1,step=0.3"`), []string{"whole number of steps"}},
		{structOf[float32]("F", `net:"range=-100000..100000,step=1/64"`), []string{"finer than the type resolves"}},
		{structOf[float64]("F", `net:"range=0..8589934592,step=1"`), []string{"steps of 1"}},
		{structOf[float32]("F", `net:"bits=8"`), []string{"bits is for integers"}},
		{structOf[int32]("I", `net:"range=0..10,step=1"`), []string{"range is for floats"}},
		{structOf[uint8]("I", `net:"bits=9"`), []string{"more than the type has"}},
		{structOf[int64]("I", `net:"bits=33"`), []string{"want 1 to 32"}},
		{structOf[int64]("I", `net:"bits=0"`), []string{"want 1 to 32"}},
		{structOf[bool]("B", `net:"bits=1"`), []string{"a bool takes one bit"}},
		{structOf[int32]("I", `net:"bits=3,ref"`), []string{"exclude each other"}},
		{structOf[int32]("I", `net:"bitz=3"`), []string{"unknown option", "bitz=3"}},
		{structOf[int32]("I", `net:""`), []string{"unknown option"}},
		{struct {
			i int32 `net:"bits=3"`
		}{}, []string{"field i", "not exported"}},
		// go vet rejects these tags in source, so they are constructed.
		{tagged(`net:owner`), []string{"field I", "Go cannot read it"}},
		{tagged(`net: "owner"`), []string{"field I", "net: \"owner\""}},
		{tagged(`net:'owner'`), []string{"double quotes"}},
		{tagged(`net="owner"`), []string{"double quotes"}},
		{tagged("net:`owner`"), []string{"double quotes"}},
		{tagged(`json:"i",net:"owner"`), []string{"double quotes"}},
		{tagged(`Net:"owner"`), []string{`key "Net"`, "want net"}},
		{tagged(`json:"i" NET:"anything"`), []string{`key "NET"`}},
		{tagged(`nte:"owner"`), []string{`key "nte"`}},
		{tagged(`nett:"bits=3"`), []string{`key "nett"`}},
		{tagged(`ent:"-"`), []string{`key "ent"`}},
		{tagged(`net:"always" Net:"owner"`), []string{`key "Net"`}},
		{tagged(`net:"owner`), []string{"double quotes"}},
		{tagged(`net:"always" net:"owner"`), []string{"key net is there twice"}},
		{tagged(`net:"always" net: "owner"`), []string{"double quotes"}},
		{tagged(`was:Old`), []string{"field I", `want was:"..."`}},
		{tagged(`net:"owner" was:Old`), []string{"field I", `want was:"..."`}},
		{tagged(`Was:"Old"`), []string{`key "Was"`, "want was"}},
		{tagged(`was:"Old, Older"`), []string{"former names"}},
		{struct{ A [65]uint8 }{}, []string{"field A[64]", "64 fields"}},
		{structOf[[4]float32]("Q", `net:"quat"`), []string{"field Q", "want bits=N"}},
		{structOf[[4]float32]("Q", `net:"quat,bits=11"`), []string{"field Q", "2 to 10"}},
		{structOf[[3]float32]("Q", `net:"quat,bits=9"`), []string{"field Q", "[4]float32"}},
		{structOf[float32]("Q", `net:"quat,bits=9"`), []string{"field Q", "[4]float32"}},
		{structOf[float32]("A", `net:"angle"`), []string{"field A", "want bits=N"}},
		{structOf[float32]("A", `net:"angle=9"`), []string{"field A", "angle takes no value", "bits=N"}},
		{structOf[int32]("I", `net:"owner=false"`), []string{"owner takes no value"}},
		{structOf[float32]("A", `net:"angle,bits=23"`), []string{"field A", "at most 22"}},
		{structOf[int32]("A", `net:"angle,bits=9"`), []string{"field A", "for floats"}},
		{structOf[float32]("A", `net:"angle,quat,bits=9"`), []string{"exclude each other"}},
		{structOf[uint8]("E", `net:"enum=1"`), []string{"enum=1", "2 to 65535"}},
		{structOf[uint8]("E", `net:"enum=257"`), []string{"field E", "0 to 256"}},
		{structOf[int8]("E", `net:"enum=5"`), []string{"field E", "unsigned"}},
		{structOf[uint8]("E", `net:"enum=5,bits=3"`), []string{"exclude each other"}},
		{structOf[bool]("B", `net:"enum=2"`), []string{"a bool takes one bit"}},
		{structOf[float32]("F", `net:"predict=linear"`), []string{"field F", "give a float a range"}},
		{structOf[float32]("F", `net:"range=0..1,step=1,predict=cubic"`), []string{"predict=cubic", "predict=linear"}},
		{structOf[float32]("F", `net:"range=0..1,step=1,predict=linear,always"`), []string{"nothing to predict"}},
		{structOf[[3]float32]("P", `net:"range=0..1,step=1,parent=On"`), []string{"parent wants predict=linear"}},
		{structOf[[3]float32]("P", `net:"range=0..1,step=1,predict=linear,parent=On"`), []string{"field P[0]", "parent=On", "no replicated handle"}},
		{struct {
			P  [3]float32  `net:"range=0..1,step=1,predict=linear,parent=On"`
			On bulk.Handle `net:"ref"`
			N  int32       `net:"owner"`
		}{}, []string{"field N", "cannot have owner fields"}},
		{struct {
			P  float32     `net:"range=0..1,step=1,predict=linear,parent=On"`
			On bulk.Handle `net:"ref"`
		}{}, []string{"field P", "array of 3"}},
		{struct {
			P, Q [3]float32  `net:"range=0..1,step=1,predict=linear,parent=On"`
			On   bulk.Handle `net:"ref"`
		}{}, []string{"field Q", "one position"}},
		{structOf[bool](strings.Repeat("X", 257), ""), []string{"at most 256"}},
		{int32(0), []string{"want a struct"}},
	} {
		s := schema.New()
		schema.DefineType(s, "c", reflect.TypeOf(c.component))
		err := s.Err()
		require.Error(t, err, "%T", c.component)
		for _, want := range c.want {
			require.ErrorContains(t, err, want)
		}
		if reflect.TypeOf(c.component).Kind() == reflect.Struct {
			fault := &schema.TagError{}
			require.ErrorAs(t, err, &fault)
			require.NotEmpty(t, fault.Path)
			require.Equal(t, "c", fault.Component)
		}
		require.Zero(t, len(s.Components()), "an error leaves the schema unchanged")
		require.Zero(t, s.Values())
	}
}

// structOf returns a struct with one field, of type T.
func structOf[T any](name string, tag reflect.StructTag) any {
	return reflect.Zero(reflect.StructOf([]reflect.StructField{{Name: name, Type: reflect.TypeFor[T](), Tag: tag}})).Interface()
}

func tagged(tag reflect.StructTag) any { return structOf[int32]("I", tag) }

// Tags without the key net are ignored, however malformed.
func TestSchemaIgnoresOtherTags(t *testing.T) {
	for _, tag := range []reflect.StructTag{``, `json:"i"`, `json:"net:owner"`, `json:i`, `a:"\"net" b:"net"`, `set:"items"`, `json:"owner"`, `get:""`} {
		s := schema.New()
		schema.DefineType(s, "c", reflect.TypeOf(tagged(tag)))
		require.NoError(t, s.Err(), "%s", tag)
		require.Equal(t, "worldd schema 2\ncomponent c\nI int 32\ninput raw\n", s.Text(), "%s", tag)
	}
}

func TestSchemaNamesAndBounds(t *testing.T) {
	s := schema.New()
	for _, name := range []string{"", "two words", "tab\t", "\x7f", "\u0085", "\u00a0", "\xff", strings.Repeat("x", wire.MaxName+1)} {
		require.Error(t, mistake(s, func(s *schema.Schema) { schema.Define[rowtest.Empty](s, name) }), name)
	}
	require.Error(t, mistake(s, func(s *schema.Schema) { schema.DefineType(s, "nil", nil) }))
	schema.Define[rowtest.Empty](s, "a")
	require.NoError(t, s.Err())
	require.ErrorContains(t, mistake(s, func(s *schema.Schema) { schema.Define[rowtest.Health](s, "a") }), "twice")
	for i := range wire.MaxComponents - 1 {
		schema.Define[rowtest.Empty](s, "b"+strings.Repeat("x", i))
		require.NoError(t, s.Err())
	}
	require.ErrorContains(t, mistake(s, func(s *schema.Schema) { schema.Define[rowtest.Empty](s, "last") }), "one more")

	row := rowschema.Row{Mask: 1<<32 - 1} // all 32 components, and no values
	var w bitio.Writer
	rowschema.New(s).AppendFull(&w, row)
	require.Equal(t, 32, w.Bits())
	var r bitio.Reader
	r.Reset(w.Bytes())
	var again rowschema.Row
	require.NoError(t, rowschema.New(s).ReadFull(&r, &again))
	require.Equal(t, row, again)
}

func TestSchemaHashCoversEverything(t *testing.T) {
	hashOf := func(add ...func(*schema.Schema) error) uint64 {
		s := schema.New()
		for _, f := range add {
			require.NoError(t, f(s))
		}
		return s.Hash()
	}
	as := func(name string, v any) func(*schema.Schema) error {
		return func(s *schema.Schema) error { schema.DefineType(s, name, reflect.TypeOf(v)); return s.Err() }
	}
	type x struct{ X int32 }
	type y struct{ Y int32 }
	seen := map[uint64]string{}
	for name, h := range map[string]uint64{
		"nothing":    hashOf(),
		"x":          hashOf(as("a", x{})),
		"named b":    hashOf(as("b", x{})),
		"y":          hashOf(as("a", y{})),
		"x y":        hashOf(as("a", x{}), as("b", y{})),
		"y x":        hashOf(as("b", y{}), as("a", x{})),
		"unsigned":   hashOf(as("a", struct{ X uint32 }{})),
		"8 bits":     hashOf(as("a", structOf[int32]("X", `net:"bits=8"`))),
		"always":     hashOf(as("a", structOf[int32]("X", `net:"always"`))),
		"float":      hashOf(as("a", struct{ X float32 }{})),
		"range":      hashOf(as("a", structOf[float32]("X", `net:"range=0..1,step=1/4"`))),
		"finer":      hashOf(as("a", structOf[float32]("X", `net:"range=0..1,step=1/8"`))),
		"linear":     hashOf(as("a", structOf[int32]("X", `net:"bits=32,predict=linear"`))),
		"enum":       hashOf(as("a", structOf[uint8]("X", `net:"enum=5"`))),
		"angle":      hashOf(as("a", structOf[float32]("X", `net:"angle,bits=8"`))),
		"quat":       hashOf(as("a", structOf[[4]float32]("X", `net:"quat,bits=8"`))),
		"finer quat": hashOf(as("a", structOf[[4]float32]("X", `net:"quat,bits=9"`))),
		"parent": hashOf(as("a", struct {
			X    [3]float32  `net:"range=0..1,step=1,predict=linear,parent=Y"`
			Y, Z bulk.Handle `net:"ref"`
		}{})),
		"other parent": hashOf(as("a", struct {
			X    [3]float32  `net:"range=0..1,step=1,predict=linear,parent=Z"`
			Y, Z bulk.Handle `net:"ref"`
		}{})),
		"lower": hashOf(as("a", structOf[float32]("X", `net:"range=-1..0,step=1/4"`))),
	} {
		require.Empty(t, seen[h], name)
		seen[h] = name
	}
	// A field's offset and unreplicated fields do not affect the hash.
	require.Equal(t, hashOf(as("a", x{})), hashOf(as("a", struct {
		private int64
		X       int32
		Cache   string `net:"-"`
	}{})))
	// The sample schema's text and hash are pinned: a change breaks every peer.
	require.Equal(t, uint64(0xc79d244a13559f6b), rowtest.SampleSchema().Hash(), rowtest.SampleSchema().Text())
}

type quantities struct {
	A float32 `net:"range=-512..512,step=1/512"`
	B float32 `net:"range=-1..1,step=1/127"`
	C float64 `net:"range=0..1000000,step=1/1000"`
	D float32 `net:"range=5..9,step=0.1"`
	E int16   `net:"bits=5"`
	F uint32  `net:"bits=7"`
	G int64   `net:"bits=32"`
	H float32
	I int8
	J uint64
	K bool
	L bulk.Handle `net:"ref"`
}

func quantise(l *rowschema.Layout, v quantities) []uint32 {
	out := make([]uint32, l.Values())
	l.Component(0).Quantise(&v, out)
	return out
}

func restore(l *rowschema.Layout, values []uint32) quantities {
	var v quantities
	l.Component(0).Restore(values, &v)
	return v
}

func quantitiesLayout(t testing.TB) *rowschema.Layout {
	s := schema.New()
	schema.Define[quantities](s, "q")
	require.NoError(t, s.Err())
	return rowschema.New(s)
}

func TestQuantiseEdges(t *testing.T) {
	l := quantitiesLayout(t)
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	low := restore(l, quantise(l, quantities{A: -inf, B: -2, C: math.Inf(-1), D: 0, E: -100, G: math.MinInt64, L: bulk.NewHandle(7, 2)}))
	require.Equal(t, quantities{A: -512, B: -1, C: 0, D: 5, E: -16, G: math.MinInt32}, low)
	high := restore(l, quantise(l, quantities{A: inf, B: 2, C: 1e300, D: 10, E: 100, F: 1 << 20, G: math.MaxInt64, L: bulk.NewHandle(wire.MaxSlots, 3)}))
	require.Equal(t, quantities{A: 512, B: 1, C: 1e6, D: 9, E: 15, F: 127, G: math.MaxInt32}, high)
	none := restore(l, quantise(l, quantities{A: nan, B: nan, C: math.NaN(), D: nan}))
	require.Equal(t, quantities{D: 5}, none, "NaN quantises as 0")
	half := restore(l, quantise(l, quantities{A: 0.5 / 512, D: 5.05, C: 0.0005}))
	require.Equal(t, float32(1.0/512), half.A, "halves are rounded up")
	require.Equal(t, 0.001, half.C)
	half = restore(l, quantise(l, quantities{A: -0.5 / 512}))
	require.Equal(t, float32(0), half.A, "halves are rounded up below zero")
	exact := quantities{E: -7, F: 99, G: -5, H: nan, I: -128, J: 1<<63 + 5, K: true, L: bulk.NewHandle(wire.MaxSlots-1, math.MaxUint32), D: 5}
	back := restore(l, quantise(l, exact))
	require.Equal(t, math.Float32bits(nan), math.Float32bits(back.H))
	exact.H, back.H = 0, 0
	require.Equal(t, exact, back)
}

// Quantising by a product gives the same number as by a quotient.
func TestQuantiseEqualsQuotient(t *testing.T) {
	type scales struct {
		A float64 `net:"range=-1024..1024,step=1/256"`
		B float64 `net:"range=-3..3,step=1/1048576"`
		C float64 `net:"range=-4096..4096,step=64"`
		D float64 `net:"range=-10..10,step=1/1000"`
		E float64 `net:"range=0..30,step=3"`
	}
	s := schema.New()
	schema.Define[scales](s, "scales")
	require.NoError(t, s.Err())
	component := rowschema.New(s).Component(0)
	random := rand.New(rand.NewPCG(1, 8))
	values := make([]uint32, s.Values())
	for range 20_000 {
		x := random.NormFloat64() * math.Exp2(float64(random.IntN(24)-12))
		all := scales{x, x, x, x, x}
		component.Quantise(&all, values)
		for i, f := range []struct{ low, high, step float64 }{{-1024, 1024, 1.0 / 256}, {-3, 3, 1.0 / 1048576}, {-4096, 4096, 64}, {-10, 10, 1.0 / 1000}, {0, 30, 3}} {
			want := math.Floor((min(max(x, f.low), f.high)-f.low)/f.step + 0.5)
			require.Equal(t, uint32(want), values[i], "%v in steps of %v", x, f.step)
		}
	}
}

// The values are the same on every machine.
func TestQuantiseGolden(t *testing.T) {
	l := quantitiesLayout(t)
	require.Equal(t, []uint32{313344, 169, 123456789, 13, 29, 77, 4294967293, 0x3fc00000, 254, 5, 1, 1, 17, 3},
		quantise(l, quantities{100, 1.0 / 3, 123456.7891, 6.25, -3, 77, -3, 1.5, -2, 1<<32 + 5, true, bulk.NewHandle(17, 3)}))
}

// Q1: restored values quantise to the same numbers.
func TestRestoredQuantisesToSame(t *testing.T) {
	l := quantitiesLayout(t)
	rapid.Check(t, func(t *rapid.T) {
		f32 := rapid.Float32()
		v := quantities{
			A: f32.Draw(t, "A"), B: f32.Draw(t, "B"), C: rapid.Float64().Draw(t, "C"), D: f32.Draw(t, "D"),
			E: rapid.Int16().Draw(t, "E"), F: rapid.Uint32().Draw(t, "F"), G: rapid.Int64().Draw(t, "G"),
			H: f32.Draw(t, "H"), I: rapid.Int8().Draw(t, "I"), J: rapid.Uint64().Draw(t, "J"), K: rapid.Bool().Draw(t, "K"),
			L: bulk.Handle(rapid.Uint64().Draw(t, "L")),
		}
		once := quantise(l, v)
		require.Equal(t, once, quantise(l, restore(l, once)))
	})
	// Every number of the ranged fields.
	values := make([]uint32, l.Values())
	for i, largest := range map[int]uint32{0: 1024 * 512, 1: 254, 3: 40} {
		for q := range largest + 1 {
			values[i] = q
			if got := quantise(l, restore(l, values)); got[i] != q {
				t.Fatalf("value %d: %d becomes %d", i, q, got[i])
			}
		}
	}
	for q := uint32(0); q < 1e9; q += 999_983 {
		values[2] = q
		require.Equal(t, q, quantise(l, restore(l, values))[2])
	}
}

func TestRestoreKeepsOtherFields(t *testing.T) {
	type health struct {
		Now   int16 `net:"bits=10"`
		Cache int32 `net:"-"`
		local int32
	}
	s := schema.New()
	schema.Define[health](s, "h")
	require.NoError(t, s.Err())
	v := health{Now: 5, Cache: 7, local: 8}
	values := make([]uint32, s.Values())
	rowschema.New(s).Component(0).Restore(values, &v)
	require.Equal(t, health{Now: 0, Cache: 7, local: 8}, v)
}

func TestReferences(t *testing.T) {
	s := rowtest.SampleSchema()
	row := rowtest.SampleRow(s, 4)
	var got []bulk.Handle
	rowschema.New(s).References(row, func(h bulk.Handle) { got = append(got, h) })
	require.Equal(t, []bulk.Handle{bulk.NewHandle(4000, 3), bulk.NewHandle(2, 1)}, got)
	i, _ := s.ByName("link")
	row.Mask &^= 1 << i
	rowschema.New(s).References(row, func(h bulk.Handle) { require.Fail(t, "an absent component has no references") })
}

func TestSchemaFormat(t *testing.T) {
	s := rowtest.SampleSchema()
	row := rowtest.NewRow(s, 0)
	rowtest.Set(s, &row, "health", rowtest.Health{Now: -7, Max: 9, Alive: true})
	require.Equal(t, "health{Now=-7 Max=9 Alive=true Tiny=0}", rowschema.New(s).Format(row, nil))
}

type turns struct {
	Q    [4]float32 `net:"quat,bits=9"`
	A    float32    `net:"angle,bits=12"`
	B    float64    `net:"angle,bits=32"`
	E    uint8      `net:"enum=5"`
	Wide [4]float32 `net:"quat,bits=10"`
}

// Q1 for rotations and angles, for any input.
func TestRestoredTurnsQuantiseToSame(t *testing.T) {
	s := schema.New()
	schema.Define[turns](s, "turns")
	require.NoError(t, s.Err())
	component := rowschema.New(s).Component(0)
	values, again := make([]uint32, s.Values()), make([]uint32, s.Values())
	rapid.Check(t, func(t *rapid.T) {
		f := rapid.Float32()
		v := turns{A: f.Draw(t, "A"), B: rapid.Float64().Draw(t, "B"), E: rapid.Uint8().Draw(t, "E")}
		for i := range v.Q {
			v.Q[i], v.Wide[i] = rapid.Float32Range(-1, 1).Draw(t, "Q"), f.Draw(t, "Wide")
		}
		component.Quantise(&v, values)
		component.Restore(values, &v)
		component.Quantise(&v, again)
		require.Equal(t, values, again)
		require.Less(t, v.E, uint8(5))
	})
	// Test every packed rotation, although most represent no unit quaternion.
	for packed := uint32(0); packed < 1<<29; packed += 4099 {
		values[0], values[4] = packed, packed*2+packed&3
		var v turns
		component.Restore(values, &v)
		component.Quantise(&v, again)
		require.Equal(t, values[0], again[0], "%#x: %v", packed, v.Q)
		require.Equal(t, values[4], again[4], "%#x: %v", values[4], v.Wide)
	}
}

func TestTurnsFormat(t *testing.T) {
	s := schema.New()
	schema.Define[turns](s, "turns")
	require.NoError(t, s.Err())
	row := rowtest.NewRow(s, 0)
	rowtest.Set(s, &row, "turns", turns{A: -math.Pi, E: 3})
	require.Regexp(t, `^turns\{Q=\[\S+ \S+ \S+ 0\.99\S+\] A=-3\.14159\d+ B=0 E=3 Wide=`, rowschema.New(s).Format(row, nil))
}

func TestTurnsAreAccurate(t *testing.T) {
	s := schema.New()
	schema.Define[turns](s, "turns")
	require.NoError(t, s.Err())
	component := rowschema.New(s).Component(0)
	values := make([]uint32, s.Values())
	through := func(v turns) (back turns) {
		component.Quantise(&v, values)
		component.Restore(values, &back)
		return back
	}
	back := through(turns{Q: [4]float32{0.1, -0.7, 0.1, 0.7}, A: 3 * math.Pi / 2, B: -math.Pi})
	for i, want := range [4]float64{-0.1, 0.7, -0.1, -0.7} {
		require.InDelta(t, want, back.Q[i], 0.01, "the largest component is positive")
	}
	require.InDelta(t, -math.Pi/2, back.A, 1e-6)
	require.Equal(t, -math.Pi, back.B)
	back = through(turns{A: float32(math.Inf(1)), B: math.NaN(), E: 200})
	require.Equal(t, turns{Q: [4]float32{back.Q[0], back.Q[1], back.Q[2], back.Q[3]}, Wide: back.Wide, E: 4}, back)
	require.Greater(t, back.Q[3], float32(0.999), "four zeros become the identity")
}

// Only a pointer to the component's type reaches its memory.
func TestStructsOfOtherTypes(t *testing.T) {
	l := quantitiesLayout(t)
	component := l.Component(0)
	values := make([]uint32, l.Values())
	for _, v := range []any{nil, quantities{}, new(schema.Body), new(any), (*quantities)(nil)} {
		require.Panics(t, func() { component.Quantise(v, values) }, "%T", v)
		require.Panics(t, func() { component.Restore(values, v) }, "%T", v)
		require.Panics(t, func() { component.RestorePublic(values, v) }, "%T", v)
		require.Panics(t, func() { component.Blend(true, values, values, 0.5, v) }, "%T", v)
	}
}
