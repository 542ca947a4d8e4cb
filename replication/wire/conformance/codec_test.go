package conformance

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/bitio"
	"github.com/worldd/worldd/internal/rowcodec"
	"github.com/worldd/worldd/internal/rowtest"
	"github.com/worldd/worldd/replication/schema"
)

func TestCodecConformance(t *testing.T) {
	tables := readTables(rowcodec.DefaultTables().Bytes())
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 9))
		s := rowtest.RandomSchema(r)
		c := rowcodec.New(s, rowcodec.DefaultTables())
		rows, carriers := rowtest.States(s, r, 3), rowtest.States(s, r, 3)
		parts := codecParts(parseSchemaText(t, s.Text()), rows[2].Owned)
		past := rowtest.RandomPast(c, r, rows, carriers)
		if past == nil {
			continue // in full, like an Enter
		}
		known := &pagePast{base: past.Base, older: past.Older}
		if past.Older != nil {
			known.r = min(int64(past.Age)<<16/int64(past.Gap), 32<<16)
		}
		if past.Anchor != nil {
			known.anchor = &[3][]uint32{carriers[2].Values, carriers[1].Values, past.Older}
		}
		var w bitio.Writer
		c.Append(&w, rows[2], past)
		decoder := &pageDecoder{b: w.Bytes()}
		out := make([]uint32, s.Values())
		func() {
			defer func() {
				if err := recover(); err != nil {
					require.Fail(t, "page and package differ", "seed %d: %v\n%s", seed, err, s.Text())
				}
			}()
			decoder.codedRow(&tables, parts, rows[2].Mask, known, out)
			decoder.expectEnd()
		}()
		require.Equal(t, rows[2].Values, out, "seed %d: %s", seed, s.Text())
	}
}

func TestCodecConformanceShapes(t *testing.T) {
	s := schema.New()
	schema.Define[rowtest.Everything](s, "everything")
	require.NoError(t, s.Err())
	parts := codecParts(parseSchemaText(t, s.Text()), true)
	require.Equal(t, "PQfqvNnNNffnbbffa", parts[0].shape)
	require.Equal(t, [][2]int{{0, 3}, {3, 8}, {8, 15}, {15, 17}}, parts[0].groups)
}
