package rowcodec_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/worldd/worldd/internal/bitio"
	"github.com/worldd/worldd/internal/rowcodec"
	"github.com/worldd/worldd/internal/rowschema"
	"github.com/worldd/worldd/replication/schema"
)

// Copying several chunks concatenates their bits at any bit offset. Cut removes later
// chunks and leaves earlier ones intact.
func TestCopyChunks(t *testing.T) {
	type name struct {
		Text [40]uint8
	}
	s := schema.New()
	schema.Define[name](s, "name")
	schema.Define[schema.Body](s, "body")
	require.NoError(t, s.Err())
	codec := rowcodec.New(s, rowcodec.DefaultTables())
	rapid.Check(t, func(t *rapid.T) {
		var k rowcodec.Chunks
		var chunks []rowcodec.Chunk
		var want bitio.Writer
		add := func(to *bitio.Writer) rowcodec.Chunk {
			row := rowschema.Row{Mask: uint32(rapid.IntRange(0, 3).Draw(t, "mask")), Values: make([]uint32, s.Values())}
			for i := range row.Values {
				if row.Mask == 3 || i < 40 == (row.Mask == 1) && row.Mask != 0 {
					row.Values[i] = uint32(rapid.Byte().Draw(t, "value"))
				}
			}
			before := to.Bits()
			codec.Append(to, row, nil)
			chunk := k.Add(codec, row, nil)
			require.Equal(t, to.Bits()-before, chunk.Bits())
			return chunk
		}
		first := uint(rapid.IntRange(0, 63).Draw(t, "bits before"))
		want.Write(0, first)
		for range rapid.IntRange(0, 8).Draw(t, "rows") {
			chunks = append(chunks, add(&want))
		}
		length := k.Len()
		for range rapid.IntRange(0, 3).Draw(t, "rows too many") {
			add(&bitio.Writer{})
		}
		k.Cut(length)
		require.Equal(t, length, k.Len())
		var got bitio.Writer
		got.Write(0, first)
		k.Copy(&got, chunks...)
		require.Equal(t, want.Bytes(), got.Bytes())
	})
}
