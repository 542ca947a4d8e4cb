package rowtrain_test

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/worldd/worldd/internal/bitio"
	"github.com/worldd/worldd/internal/rowcodec"
	"github.com/worldd/worldd/internal/rowtest"
	"github.com/worldd/worldd/internal/rowtrain"
)

// The Pricer writes the same bits as the codec and attributes each of them, with a past
// and without. Shares equal the costs per component.
func TestPricerEqualsCodec(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		s := rowtest.RandomSchema(r)
		c := rowcodec.New(s, rowcodec.DefaultTables())
		rows := rowtest.States(s, r, 3)
		past := rowtest.RandomPast(c, r, rows, rowtest.States(s, r, 3))
		if r.IntN(4) == 0 {
			past = nil
		}
		var plain, told bitio.Writer
		shares := c.Append(&plain, rows[2], past)
		bits, byComponent := 0, make([]uint64, len(s.Components()))
		pricer := rowtrain.NewPricer(c, func(component, field string, n int) {
			i, known := s.ByName(component)
			require.True(t, known, component)
			require.GreaterOrEqual(t, n, 0)
			bits += n
			byComponent[i] += uint64(n)
		})
		pricer.Append(&told, rows[2], past)
		require.Equal(t, plain.Bytes(), told.Bytes())
		require.Equal(t, plain.Bits(), bits)
		for i, want := range byComponent {
			require.Equal(t, want, shares.Bits(i), "component %d", i)
		}
	})
}

// Vectors are reported by name, array elements with their index.
func TestPricerNamesFields(t *testing.T) {
	c, row, past, _ := rowtest.Coded(5)
	costs := map[string]int{}
	var w bitio.Writer
	rowtrain.NewPricer(c, func(_, field string, bits int) { costs[field] += bits }).Append(&w, row, past)
	for _, field := range []string{"", "Position", "Facing", "Ammo"} {
		require.Positive(t, costs[field], field)
	}
	require.Equal(t, 64, costs["Identity"])
	require.Zero(t, costs["Serial"], "unchanged")
	require.Contains(t, costs, "Serial")
	require.NotContains(t, costs, "Position[0]")
}
