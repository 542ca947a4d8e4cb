package rowcodec_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/bitio"
	"github.com/worldd/worldd/internal/rowcodec"
	"github.com/worldd/worldd/internal/rowschema"
	"github.com/worldd/worldd/internal/rowtest"
	"github.com/worldd/worldd/replication/schema"
)

// BenchmarkBodyRow encodes the row of a slowing body for the first viewer, copies it for
// another viewer, and reads it.
func BenchmarkBodyRow(b *testing.B) {
	s := schema.New()
	schema.Define[schema.Body](s, "body")
	require.NoError(b, s.Err())
	c := rowcodec.New(s, rowcodec.DefaultTables())
	state := func(x, v float32) []uint32 {
		row := rowtest.NewRow(s, 0)
		rowtest.Set(s, &row, "body", schema.Body{Position: [3]float32{x, 1, -7}, Velocity: [3]float32{v, 0, 1}})
		return row.Values
	}
	past := &rowcodec.Past{Base: state(10.15, 3), Older: state(10, 3.1), Age: 6, Gap: 3}
	row := rowschema.Row{Mask: 1, Values: state(10.44, 2.8)}
	var chunks rowcodec.Chunks
	var w bitio.Writer
	buffer := make([]byte, 0, 256)
	b.Run("append", func(b *testing.B) {
		for b.Loop() {
			chunks.Reset()
			chunks.Add(c, row, past)
		}
	})
	chunks.Reset()
	chunk := chunks.Add(c, row, past)
	b.Run("copy", func(b *testing.B) {
		for b.Loop() {
			w.Reset(buffer)
			chunks.Copy(&w, chunk)
		}
	})
	w.Reset(buffer)
	chunks.Copy(&w, chunk)
	bits := append(w.Bytes(), make([]byte, 8)...) // more rows follow
	out := rowtest.NewRow(s, 1)
	var r bitio.Reader
	b.Run("read", func(b *testing.B) {
		for b.Loop() {
			r.Reset(bits)
			if err := c.Read(&r, &out, past); err != nil {
				b.Fatal(err)
			}
		}
	})
	require.Equal(b, row, out)
}
