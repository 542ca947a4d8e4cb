package rowtrain_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/bitio"
	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/internal/rowcodec"
	"github.com/worldd/worldd/internal/rowschema"
	"github.com/worldd/worldd/internal/rowtest"
	"github.com/worldd/worldd/internal/rowtrain"
	"github.com/worldd/worldd/replication/schema"
)

// thrown returns samples of flying bodies, every three ticks.
func thrown(t testing.TB, s *schema.Schema, seed uint64) (rows []rowtrain.Sample) {
	type throw struct {
		Position [3]float32 `net:"range=-256..256,step=1/512,predict=linear"`
		Facing   [4]float32 `net:"quat,bits=9,predict=linear"`
		Lit      bool
	}
	if len(s.Components()) == 0 {
		schema.Define[throw](s, "throw")
		require.NoError(t, s.Err())
	}
	r, layout := rand.New(rand.NewPCG(seed, 0)), rowschema.New(s)
	for range 60 {
		var v throw
		var values [][]uint32
		speed, spin := [3]float64{r.NormFloat64() * 4, r.NormFloat64() * 4, r.Float64() * 9}, r.NormFloat64()*5
		for step := range 12 {
			at := float64(step) * 0.05
			for i := range speed {
				v.Position[i] = float32(speed[i] * at)
			}
			v.Position[2] -= float32(4.9 * at * at)
			v.Facing[2], v.Facing[3] = float32(math.Sin(spin*at)), float32(math.Cos(spin*at))
			row := rowtest.NewRow(s, 1)
			layout.Component(0).Quantise(&v, row.Values)
			values = append(values, row.Values)
			if step >= 3 {
				rows = append(rows, rowtrain.Sample{
					Row: row, Past: &rowcodec.Past{Base: values[step-2], Older: values[step-3], Age: 6, Gap: 3},
				})
			}
		}
	}
	return rows
}

func each(samples []rowtrain.Sample) func(yield func(rowtrain.Sample) bool) {
	return func(yield func(rowtrain.Sample) bool) {
		for _, s := range samples {
			if !yield(s) {
				return
			}
		}
	}
}

func bitsOf(s *schema.Schema, tables *rowcodec.Tables, samples []rowtrain.Sample) int {
	c := rowcodec.New(s, tables)
	var w bitio.Writer
	for _, sample := range samples {
		c.Append(&w, sample.Row, sample.Past)
	}
	return w.Bits()
}

func TestTraining(t *testing.T) {
	s := schema.New()
	samples, others := thrown(t, s, 1), thrown(t, s, 2)
	trained := rowtrain.Train(s, each(samples))
	require.Equal(t, trained.Bytes(), rowtrain.Train(s, each(samples)).Bytes(), "the same samples give the same tables")
	read := must.Get(rowcodec.ParseTables(trained.Bytes()))
	require.Equal(t, trained.Version(), read.Version())
	require.NotEqual(t, trained.Version(), rowcodec.DefaultTables().Version())

	before, after := bitsOf(s, rowcodec.Untrained().Tables(), others), bitsOf(s, read, others)
	require.Less(t, after, before*3/10, "other falling bodies: %d bits a row, %d untrained", after/len(others), before/len(others))
	// Training without samples gives complete codes.
	empty := rowtrain.Train(s, each(nil))
	require.InDelta(t, before, bitsOf(s, empty, others), float64(before)/10)
}

// Tables of several trainings code each shape with the set trained on it, and any other
// shape with the first set.
func TestTablesOfSeveralShapes(t *testing.T) {
	s := schema.New()
	samples := thrown(t, s, 1)
	other := schema.New()
	schema.Define[schema.Body](other, "body")
	require.NoError(t, other.Err())
	r := rand.New(rand.NewPCG(4, 4))
	var bodies []rowtrain.Sample
	for range 400 {
		rows := rowtest.States(other, r, 3)
		bodies = append(bodies, rowtrain.Sample{Row: rows[2], Past: &rowcodec.Past{Base: rows[1].Values, Older: rows[0].Values, Age: 3, Gap: 3}})
	}
	falling, shaken := rowtrain.Train(s, each(samples)), rowtrain.Train(other, each(bodies))
	both := falling.With(shaken)
	require.Equal(t, bitsOf(s, falling, samples), bitsOf(s, both, samples))
	require.Equal(t, bitsOf(other, shaken, bodies), bitsOf(other, both, bodies))
	require.Less(t, bitsOf(other, both, bodies), bitsOf(other, falling, bodies))
	read := must.Get(rowcodec.ParseTables(both.Bytes()))
	require.Equal(t, both.Bytes(), read.Bytes())
	require.Equal(t, bitsOf(other, both, bodies), bitsOf(other, read, bodies))

	again := both.With(shaken)
	require.Equal(t, both.Bytes(), again.Bytes(), "known shapes are replaced")
	plain := both.With(falling) // the first set has no shape and codes all other shapes
	require.Equal(t, bitsOf(s, falling, samples), bitsOf(s, plain, samples))
	require.Equal(t, bitsOf(other, shaken, bodies), bitsOf(other, plain, bodies))
}

// The default tables were trained on the shape of the component "body".
func TestDefaultTablesKnowBodies(t *testing.T) {
	s := schema.New()
	schema.Define[schema.Body](s, "body")
	require.NoError(t, s.Err())
	type fall struct {
		Position [3]float32 `net:"range=-1024..1024,step=1/256,predict=linear"`
		Velocity [3]float32 `net:"range=-128..128,step=1/32,predict=linear"`
		Lit      bool       // gives a shape without training
	}
	strange := schema.New()
	schema.Define[fall](strange, "fall")
	require.NoError(t, strange.Err())
	var known, unknown []rowtrain.Sample
	r, layout := rand.New(rand.NewPCG(1, 1)), rowschema.New(s)
	for range 200 {
		v, at := schema.Body{}, [3][]uint32{}
		for i := range v.Position {
			v.Position[i], v.Velocity[i] = r.Float32()*100-50, float32(r.NormFloat64()*3)
		}
		for step := range at {
			for i := range v.Position {
				v.Position[i] += v.Velocity[i] * 0.05
				v.Velocity[i] = v.Velocity[i]*0.98 + float32(r.NormFloat64()*0.05)
			}
			row := rowtest.NewRow(s, 1)
			layout.Component(0).Quantise(&v, row.Values)
			at[step] = row.Values
		}
		sample := func(extra ...uint32) rowtrain.Sample {
			values := func(i int) []uint32 { return append(append([]uint32(nil), at[i]...), extra...) }
			return rowtrain.Sample{Row: rowschema.Row{Mask: 1, Values: values(2)}, Past: &rowcodec.Past{Base: values(1), Older: values(0), Age: 3, Gap: 3}}
		}
		known, unknown = append(known, sample()), append(unknown, sample(0))
	}
	tables := rowcodec.DefaultTables()
	require.Less(t, bitsOf(s, tables, known)*10, bitsOf(strange, tables, unknown)*9)
}
