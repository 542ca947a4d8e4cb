package wire_test

import (
	"math"
	"math/rand/v2"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/replication/wire"
)

// thrown are bodies on their way through the air, in steps of three ticks.
func thrown(t testing.TB, s *wire.Schema, seed uint64) (rows []wire.Sample) {
	type throw struct {
		Position [3]float32 `net:"range=-256..256,step=1/512,predict=linear"`
		Facing   [4]float32 `net:"quat,bits=9,predict=linear"`
		Lit      bool
	}
	if s.Components() == 0 {
		require.NoError(t, wire.AddComponent[throw](s, "throw"))
	}
	r := rand.New(rand.NewPCG(seed, 0))
	for range 60 {
		var v throw
		var words [][]uint32
		speed, spin := [3]float64{r.NormFloat64() * 4, r.NormFloat64() * 4, r.Float64() * 9}, r.NormFloat64()*5
		for step := range 12 {
			at := float64(step) * 0.05
			for i := range speed {
				v.Position[i] = float32(speed[i] * at)
			}
			v.Position[2] -= float32(4.9 * at * at)
			v.Facing[2], v.Facing[3] = float32(math.Sin(spin*at)), float32(math.Cos(spin*at))
			row := newRow(s, 1)
			s.Quantise(0, unsafe.Pointer(&v), row.Words)
			if words = append(words, row.Words); step >= 3 {
				rows = append(rows, wire.Sample{
					Row: row, Past: &wire.Past{Base: words[step-2], Older: words[step-3], Age: 6, Gap: 3}, Gap: step % 3,
				})
			}
		}
	}
	return rows
}

func each(samples []wire.Sample) func(yield func(wire.Sample) bool) {
	return func(yield func(wire.Sample) bool) {
		for _, s := range samples {
			if !yield(s) {
				return
			}
		}
	}
}

func bitsOf(s *wire.Schema, tables *wire.Tables, samples []wire.Sample) int {
	c := wire.NewCodec(s, tables)
	var w wire.BitWriter
	for _, sample := range samples {
		c.Append(&w, sample.Row, sample.Past)
	}
	return w.Bits()
}

func TestTraining(t *testing.T) {
	s := wire.NewSchema()
	samples, others := thrown(t, s, 1), thrown(t, s, 2)
	trained := wire.Train(s, each(samples))
	require.Equal(t, trained.Bytes(), wire.Train(s, each(samples)).Bytes(), "the same samples give the same tables")
	read, err := wire.ParseTables(trained.Bytes())
	require.NoError(t, err)
	require.Equal(t, trained.Version(), read.Version())
	require.NotEqual(t, trained.Version(), wire.DefaultTables().Version())

	before, after := bitsOf(s, wire.UntrainedTables(), others), bitsOf(s, read, others)
	require.Less(t, after, before*2/3, "falling bodies that were not trained on: %d bits a row, %d untrained", after/len(others), before/len(others))
	// nothing to go by: nothing is learnt, and the codes are still complete
	empty := wire.Train(s, each(nil))
	require.InDelta(t, before, bitsOf(s, empty, others), float64(before)/10)
}
