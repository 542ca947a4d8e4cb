package rowcodec_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/bitio"
	"github.com/worldd/worldd/internal/rowcodec"
	"github.com/worldd/worldd/internal/rowschema"
	"github.com/worldd/worldd/internal/rowtest"
)

// The bits of a row for a non-owner do not depend on owner fields, in full, coded and as a
// chunk. They are read as zeros.
func TestPublicRowsLackOwnerFields(t *testing.T) {
	tables := rowcodec.DefaultTables()
	differ := 0
	for seed := range uint64(100) {
		r := rand.New(rand.NewPCG(seed, 1))
		s := rowtest.RandomSchema(r)
		c := rowcodec.New(s, tables)
		rows := rowtest.States(s, r, 3)
		past := rowtest.RandomPast(c, r, rows, rowtest.States(s, r, 3))
		hidden := func(values []uint32) []uint32 {
			if values == nil {
				return nil
			}
			row := rowschema.Row{Values: slices.Clone(values)}
			c.Layout().HideOwned(row)
			return row.Values
		}
		public := rowschema.Row{Mask: rows[2].Mask, Values: hidden(rows[2].Values)}
		with := rowschema.Row{Mask: rows[2].Mask, Values: rows[2].Values} // owner fields are set
		var pastWithout *rowcodec.Past
		if past != nil {
			copied := *past
			copied.Base, copied.Older = hidden(past.Base), hidden(past.Older)
			pastWithout = &copied
		}
		var a, b, full, fullOf bitio.Writer
		c.Append(&a, public, pastWithout)
		c.Append(&b, with, past)
		require.Equal(t, a.Bytes(), b.Bytes(), "seed %d", seed)
		c.Layout().AppendFull(&full, public)
		c.Layout().AppendFull(&fullOf, with)
		require.Equal(t, full.Bytes(), fullOf.Bytes(), "seed %d", seed)
		if rows[2].Owned && c.Layout().OwnedMask()&rows[2].Mask != 0 {
			differ++
		}

		var reader bitio.Reader
		reader.Reset(a.Bytes())
		got := rowtest.BlankRow(s, public)
		require.NoError(t, c.Read(&reader, &got, pastWithout))
		require.Equal(t, public, got, "seed %d", seed)
		reader.Reset(full.Bytes())
		require.NoError(t, c.Layout().ReadFull(&reader, &got))
		require.Equal(t, public, got, "seed %d", seed)
	}
	require.Positive(t, differ, "no row had owner fields")
}
