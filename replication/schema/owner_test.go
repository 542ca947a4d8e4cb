package schema_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/internal/rowschema"
	"github.com/worldd/worldd/internal/rowtest"
	"github.com/worldd/worldd/replication/schema"
)

type purse struct {
	Coins  int32       `net:"bits=12,owner"`
	Rank   uint8       `net:"enum=5"`
	Heat   float32     `net:"range=-8..8,step=1/4,owner"`
	Friend bulk.Handle `net:"ref,owner"`
}

func TestOwnerFields(t *testing.T) {
	s := schema.New()
	schema.Define[schema.Body](s, "body")
	require.NoError(t, s.Err())
	require.Zero(t, rowschema.New(s).OwnedMask())
	schema.Define[purse](s, "purse")
	require.NoError(t, s.Err())
	require.Equal(t, uint32(2), rowschema.New(s).OwnedMask())
	require.Contains(t, s.Text(), "\nCoins int 12 owner\nRank enum 5\nHeat range c020000000000000 3fd0000000000000 64 owner\nFriend ref owner\n")

	open := schema.New()
	schema.Define[schema.Body](open, "body")
	schema.Define[struct {
		Coins  int32       `net:"bits=12"`
		Rank   uint8       `net:"enum=5"`
		Heat   float32     `net:"range=-8..8,step=1/4"`
		Friend bulk.Handle `net:"ref"`
	}](open, "purse")
	require.NoError(t, open.Err())
	require.NotEqual(t, open.Hash(), s.Hash())

	row := rowtest.NewRow(s, 2)
	spec := s.Components()[1]
	in := purse{Coins: -3, Rank: 4, Heat: 2, Friend: bulk.NewHandle(9, 1)}
	rowschema.New(s).Component(1).Quantise(&in, row.Values[spec.Offset:])
	var named []bulk.Handle
	rowschema.New(s).References(row, func(h bulk.Handle) { named = append(named, h) })
	require.Equal(t, []bulk.Handle{in.Friend}, named)
	require.NotContains(t, rowschema.New(s).Format(row, nil), "Coins")
	row.Owned = true
	require.Contains(t, rowschema.New(s).Format(row, nil), "Coins=-3")

	rowschema.New(s).HideOwned(row)
	rowschema.New(s).References(row, func(h bulk.Handle) { require.Fail(t, "told of", "%v", h) })
	out := purse{Coins: 1, Heat: 5}
	rowschema.New(s).Component(1).RestorePublic(row.Values[spec.Offset:], &out)
	require.Equal(t, purse{Coins: 1, Rank: 4, Heat: 5}, out, "fields not sent are unchanged")
}

// A field of a nested struct has its own tag instead of its parent's. Without owner everyone would receive it.
func TestOwnerIsRepeated(t *testing.T) {
	type item struct {
		Kind uint8 `net:"enum=4"`
	}
	type own struct {
		Kind uint8 `net:"enum=4,owner"`
		Note uint8 `net:"-"`
		Size uint8
	}
	s := schema.New()
	schema.Define[struct {
		Items [2]item `net:"owner"`
	}](s, "inventory")
	require.ErrorContains(t, s.Err(), "lacks owner: add it")
	s = schema.New()
	schema.Define[struct {
		Items [2]own `net:"owner"`
	}](s, "inventory")
	require.NoError(t, s.Err())
	require.Contains(t, s.Text(), "\nItems[0].Kind enum 4 owner\nItems[0].Size uint 8 owner\n")
}
