package field

import (
	"encoding/binary"
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/must"
)

// TestShippedResults pins the shipped effects' results on every machine and kernel
// (F1): FNV-1a of the output's bits. They change only with an effect's text, or with
// the language's arithmetic, which must not change.
func TestShippedResults(t *testing.T) {
	for name, want := range map[string]uint64{
		"explosion":  0x8fed60f1e1889625,
		"gust":       0x8fed60f1e1889625,
		"storm_cell": 0x3801ff55803cceaa,
		"updraft":    0x55eca9caab9215be,
		"whirl":      0xf89735a5f8a5752b,
		"wind":       0x323cd00076844906,
	} {
		text, _ := Shipped(name)
		p := must.Get(Compile(text))
		h := fnv.New64a()
		for _, bits := range evaluateAt(t, p, randomPoints(rand.New(rand.NewPCG(10, 11)), 2000)) {
			h.Write(binary.LittleEndian.AppendUint32(nil, bits))
		}
		if h.Sum64() != want {
			t.Errorf("%s: %#x, not %#x", name, h.Sum64(), want)
		}
	}
}

// TestShippedBind: this build's vector kernels run every shipped effect, with and
// without an origin. No other test would notice: the interpreter gives the same bits.
func TestShippedBind(t *testing.T) {
	for _, name := range ShippedNames() {
		text, _ := Shipped(name)
		p := must.Get(Compile(text))
		requireBound(t, p)
	}
}

// TestShipped: each program has its file's name, and results of reasonable size in its box.
func TestShipped(t *testing.T) {
	require.Equal(t, []string{"explosion", "gust", "storm_cell", "updraft", "whirl", "wind"}, ShippedNames())
	for _, name := range ShippedNames() {
		t.Run(name, func(t *testing.T) {
			text := must.Have(Shipped(name))
			p := must.Get(Compile(text))
			require.Equal(t, name, p.Name())
			require.Empty(t, must.Get(UnusedParams(text)))
			requireRoundTrip(t, p)
			t.Log(len(p.code), "instructions", p.registers, "registers")

			box, boxed := p.Box()
			require.Equal(t, name != "wind", boxed)
			points := somewhere(rand.New(rand.NewPCG(5, 9)), 4000, 1)
			n := len(points.X)
			for i := range n {
				for lane, plane := range [3][]float32{points.X, points.Y, points.Z} {
					plane[i] *= 60
					if boxed {
						plane[i] = (box.Min[lane]+box.Max[lane])/2 + float32(plane[i]/120*(box.Max[lane]-box.Min[lane]))
					}
				}
			}
			out := Planes{X: make([]float32, n), Y: make([]float32, n), Z: make([]float32, n)}
			require.NoError(t, p.Evaluate(points, out, Env{Time: 0.125}, make([]float32, p.Scratch())))
			blown := 0
			for i := range n {
				for _, f := range []float32{out.X[i], out.Y[i], out.Z[i]} {
					require.Less(t, abs32(f), float32(100))
				}
				if out.X[i] != 0 || out.Y[i] != 0 || out.Z[i] != 0 {
					blown++
				}
			}
			require.Greater(t, blown, 80)
		})
	}
	must.Lack(Shipped("nothing"))
	must.Lack(Shipped("../shipped"))
	require.True(t, slices.IsSorted(ShippedNames()))
}
