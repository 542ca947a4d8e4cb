package wire_test

import (
	"math/rand/v2"
	"slices"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/internal/bitio"
	"github.com/worldd/worldd/replication/wire"
)

// A row for somebody else has the same bits whatever its owners' fields hold, in
// full, coded, and as a chunk; and it is read with zeros in their place.
func TestOwnersFieldsAreInNobodyElsesRows(t *testing.T) {
	tables := wire.DefaultTables()
	differ := 0
	for seed := range uint64(100) {
		r := rand.New(rand.NewPCG(seed, 1))
		s := randomSchema(t, r)
		c := wire.NewCodec(s, tables)
		rows := states(s, r, 3)
		past := randomPast(c, r, rows, states(s, r, 3))
		hidden := func(words []uint32) []uint32 {
			if words == nil {
				return nil
			}
			row := wire.Row{Words: slices.Clone(words)}
			s.HideOwned(row)
			return row.Words
		}
		public := wire.Row{Mask: rows[2].Mask, Words: hidden(rows[2].Words)}
		with := wire.Row{Mask: rows[2].Mask, Words: rows[2].Words} // owners' fields hold something
		var pastWithout *wire.Past
		if past != nil {
			copied := *past
			copied.Base, copied.Older = hidden(past.Base), hidden(past.Older)
			pastWithout = &copied
		}
		var a, b, full, fullOf bitio.Writer
		c.Append(&a, public, pastWithout)
		c.Append(&b, with, past)
		require.Equal(t, a.Bytes(), b.Bytes(), "seed %d", seed)
		s.AppendFull(&full, public)
		s.AppendFull(&fullOf, with)
		require.Equal(t, full.Bytes(), fullOf.Bytes(), "seed %d", seed)
		if rows[2].Owned && s.OwnedMask()&rows[2].Mask != 0 {
			differ++
		}

		var reader bitio.Reader
		reader.Reset(a.Bytes())
		got := blankRow(s, public)
		require.NoError(t, c.Read(&reader, &got, pastWithout))
		require.Equal(t, public, got, "seed %d", seed)
		reader.Reset(full.Bytes())
		require.NoError(t, s.ReadFull(&reader, &got))
		require.Equal(t, public, got, "seed %d", seed)
	}
	require.Positive(t, differ, "no row had anything to hide")
}

type purse struct {
	Coins  int32       `net:"bits=12,owner"`
	Rank   uint8       `net:"enum=5"`
	Heat   float32     `net:"range=-8..8,step=1/4,owner"`
	Friend bulk.Handle `net:"ref,owner"`
}

func TestOwnersFieldsInTheSchema(t *testing.T) {
	s := wire.NewSchema()
	require.NoError(t, wire.AddComponent[wire.Body](s, "body"))
	require.Zero(t, s.OwnedMask())
	require.NoError(t, wire.AddComponent[purse](s, "purse"))
	require.Equal(t, uint32(2), s.OwnedMask())
	require.Contains(t, s.Text(), "\nCoins int 12 owner\nRank enum 5\nHeat range c020000000000000 3fd0000000000000 64 owner\nFriend ref owner\n")

	open := wire.NewSchema()
	require.NoError(t, wire.AddComponent[wire.Body](open, "body"))
	require.NoError(t, wire.AddComponent[struct {
		Coins  int32       `net:"bits=12"`
		Rank   uint8       `net:"enum=5"`
		Heat   float32     `net:"range=-8..8,step=1/4"`
		Friend bulk.Handle `net:"ref"`
	}](open, "purse"))
	require.NotEqual(t, open.Hash(), s.Hash())

	row := newRow(s, 2)
	spec := s.Component(1)
	in := purse{Coins: -3, Rank: 4, Heat: 2, Friend: bulk.NewHandle(9, 1)}
	s.Quantise(1, unsafe.Pointer(&in), row.Words[spec.Offset:])
	var named []bulk.Handle
	s.References(row, func(h bulk.Handle) { named = append(named, h) })
	require.Equal(t, []bulk.Handle{in.Friend}, named)
	require.NotContains(t, s.Format(row), "Coins")
	row.Owned = true
	require.Contains(t, s.Format(row), "Coins=-3")

	s.HideOwned(row)
	s.References(row, func(h bulk.Handle) { require.Fail(t, "told of", "%v", h) })
	out := purse{Coins: 1, Heat: 5}
	s.RestorePublic(1, row.Words[spec.Offset:], unsafe.Pointer(&out))
	require.Equal(t, purse{Coins: 1, Rank: 4, Heat: 5}, out, "what is not sent is left alone")
}
