package wire_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/worldd/worldd/internal/bitio"
	"github.com/worldd/worldd/replication/wire"
)

// Headers written at once are those written one by one, and what takes their
// bits says what they take.
func TestRowHeadersAtOnce(t *testing.T) {
	edge := func(t *rapid.T, name string, shifts int) uint32 {
		return rapid.Uint32().Draw(t, name) >> rapid.IntRange(32-shifts, 32).Draw(t, name+" shift")
	}
	rapid.Check(t, func(t *rapid.T) {
		baseline := func() (b wire.Baseline) {
			if b.Age = edge(t, "age", 32); b.Age != 0 {
				b.Gap = edge(t, "gap", 32)
			}
			return b
		}
		c := wire.RowCoding{SkipBits: uint8(rapid.IntRange(0, wire.MaxSkipBits).Draw(t, "skip bits")), Usual: baseline()}
		var headers []wire.RowHeader
		for range rapid.IntRange(0, 40).Draw(t, "rows") {
			h := wire.RowHeader{Skip: edge(t, "skip", 24), Baseline: c.Usual}
			if rapid.Bool().Draw(t, "own") {
				h.Baseline = baseline()
			}
			headers = append(headers, h)
		}
		first := uint(rapid.IntRange(0, 9).Draw(t, "bits before"))
		var one, all bitio.Writer
		one.Write(0, first)
		all.Write(0, first)
		bits := int(first)
		for _, h := range headers {
			wire.AppendRowHeader(&one, c, h.Skip, h.Baseline)
			bits += wire.RowHeaderBits(c, h.Skip, h.Baseline)
		}
		wire.AppendRowHeaders(&all, c, headers)
		require.Equal(t, bits, all.Bits())
		require.Equal(t, one.Bytes(), all.Bytes())
		var r bitio.Reader
		r.Reset(all.Bytes())
		r.Read(first)
		for _, h := range headers {
			skip, b := wire.ReadRowHeader(&r, c, 1<<32-1)
			if uint64(h.Age)+uint64(h.Gap) >= 1<<32-1 || uint64(c.Usual.Age)+uint64(c.Usual.Gap) >= 1<<32-1 {
				return // before the first tick
			}
			require.NoError(t, r.Err())
			require.Equal(t, h, wire.RowHeader{Skip: skip, Baseline: b})
		}
		require.NoError(t, wire.ExpectEnd(&r))
	})
}

// Chunks copied at once are their bits, one after the other, from whatever bit
// on; those that were cut off are gone, and those before them are not touched.
func TestChunksAtOnce(t *testing.T) {
	type name struct {
		Text [40]uint8
	}
	s := wire.NewSchema()
	require.NoError(t, wire.AddComponent[name](s, "name"))
	require.NoError(t, wire.AddComponent[wire.Body](s, "body"))
	codec := wire.NewCodec(s, wire.DefaultTables())
	rapid.Check(t, func(t *rapid.T) {
		var k wire.Chunks
		var chunks []wire.Chunk
		var want bitio.Writer
		add := func(to *bitio.Writer) wire.Chunk {
			row := wire.Row{Mask: uint32(rapid.IntRange(0, 3).Draw(t, "mask")), Words: make([]uint32, s.Words())}
			for i := range row.Words {
				if row.Mask == 3 || i < 40 == (row.Mask == 1) && row.Mask != 0 {
					row.Words[i] = uint32(rapid.Byte().Draw(t, "word"))
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
