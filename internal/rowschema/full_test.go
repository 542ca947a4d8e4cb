package rowschema_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/worldd/worldd/internal/bitio"
	"github.com/worldd/worldd/internal/rowcodec"
	"github.com/worldd/worldd/internal/rowschema"
	"github.com/worldd/worldd/internal/rowtest"
	"github.com/worldd/worldd/replication/schema"
	"github.com/worldd/worldd/replication/wire"
)

// anyRow draws a valid row: random bits read as a full row, or a zero row if the bits are
// rejected.
func anyRow(t *rapid.T, s *schema.Schema, label string, mask uint32) rowschema.Row {
	row := rowtest.NewRow(s, 0)
	bytes := rapid.SliceOfN(rapid.Byte(), 256, 256).Draw(t, label)
	var w bitio.Writer
	var r bitio.Reader
	w.Reset(nil)
	w.Write(uint64(mask), uint(len(s.Components())))
	r.Reset(append(w.Bytes(), bytes...))
	if rowschema.New(s).ReadFull(&r, &row) == nil {
		return row
	}
	return rowschema.Row{Mask: mask, Values: make([]uint32, s.Values())}
}

// small has fields with few invalid numbers, so random bits are often a valid row.
type small struct {
	A uint32  `net:"bits=3"`
	B uint32  `net:"bits=5"`
	C int32   `net:"bits=9"`
	D uint32  `net:"bits=13"`
	E int32   // 32 bits
	F uint32  `net:"bits=4,always"`
	G float32 `net:"range=0..130,step=1"` // 131 numbers in 8 bits: the ring is not a power of two
	H bool
	I float64
	J uint64
}

type small2 struct {
	A bool
	B float32
}

func smallSchema(t testing.TB) *schema.Schema {
	s := schema.New()
	schema.Define[small](s, "small")
	schema.Define[small2](s, "small2")
	require.NoError(t, s.Err())
	return s
}

func TestFullRoundTrip(t *testing.T) {
	s := smallSchema(t)
	layout := rowschema.New(s)
	c := rowcodec.New(s, rowcodec.DefaultTables())
	rapid.Check(t, func(t *rapid.T) {
		mask := uint32(rapid.IntRange(0, 3).Draw(t, "mask"))
		row := anyRow(t, s, "row", mask)
		var w bitio.Writer
		layout.AppendFull(&w, row)
		var r bitio.Reader
		r.Reset(w.Bytes())
		got := rowtest.NewRow(s, 0)
		require.NoError(t, layout.ReadFull(&r, &got))
		require.NoError(t, wire.ExpectEnd(&r))
		require.Equal(t, row, got)

		// A row of a State without a baseline has the same bits, without the mask.
		bits := w.Bits()
		w.Reset(nil)
		c.Append(&w, row, nil)
		require.Equal(t, bits-len(s.Components()), w.Bits())
		r.Reset(w.Bytes())
		again := rowtest.NewRow(s, mask)
		require.NoError(t, c.Read(&r, &again, nil))
		require.NoError(t, wire.ExpectEnd(&r))
		require.Equal(t, row, again)
	})
}

func TestFullRejects(t *testing.T) {
	s := schema.New()
	schema.Define[rowtest.Link](s, "link")
	schema.Define[schema.Body](s, "body")
	require.NoError(t, s.Err())
	layout := rowschema.New(s)
	for name, c := range map[string]struct {
		index int
		value uint32
		ok    bool
	}{
		"handle":            {1, 3, true},
		"even generation":   {1, 2, false},
		"slot too high":     {0, wire.MaxSlots, false},
		"largest position":  {8, 2048 * 256, true},
		"above the largest": {8, 2048*256 + 1, false},
	} {
		row := rowtest.NewRow(s, 3)
		row.Values[1] = 1 // a target, in slot 0
		row.Values[c.index] = c.value
		var w bitio.Writer
		var r bitio.Reader
		layout.AppendFull(&w, row)
		r.Reset(w.Bytes())
		again := rowtest.NewRow(s, 0)
		err := layout.ReadFull(&r, &again)
		if c.ok {
			require.NoError(t, err, name)
			require.Equal(t, row, again)
		} else {
			require.ErrorIs(t, err, &wire.Error{Code: wire.BadMessage}, name)
		}
	}
}

// A full row truncated anywhere or with any bit flipped is read to its end or rejected.
// An accepted row has the same bits when written again.
func TestFullReadsAnyInput(t *testing.T) {
	c, row, _, _ := rowtest.Coded(8)
	s, layout := c.Schema(), c.Layout()
	for _, owned := range []bool{false, true} {
		row.Owned = owned
		if !owned {
			layout.HideOwned(row)
		}
		var w bitio.Writer
		layout.AppendFull(&w, row)
		bytes := w.Bytes()
		var r bitio.Reader
		got := rowtest.BlankRow(s, row)
		for n := range bytes {
			r.Reset(bytes[:n])
			require.ErrorIs(t, layout.ReadFull(&r, &got), &wire.Error{Code: wire.BadMessage}, "cut to %d bytes", n)
		}
		differs := 0
		for bit := range len(bytes) * 8 {
			flipped := append([]byte(nil), bytes...)
			flipped[bit/8] ^= 1 << (bit % 8)
			r.Reset(flipped)
			err := layout.ReadFull(&r, &got)
			if err == nil {
				err = wire.ExpectEnd(&r)
			}
			if err != nil {
				require.ErrorIs(t, err, &wire.Error{Code: wire.BadMessage}, "bit %d", bit)
				continue
			}
			require.NoError(t, rowtest.CheckRoundTrip(s, got))
			require.NotEqual(t, row, got, "bit %d says nothing", bit)
			differs++
		}
		require.NotZero(t, differs, "no bit is a number's")
	}
}
