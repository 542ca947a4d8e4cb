package rowcodec_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/internal/bitio"
	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/internal/rowcodec"
	"github.com/worldd/worldd/internal/rowschema"
	"github.com/worldd/worldd/replication/schema"
	"github.com/worldd/worldd/replication/wire"
)

// Every single row fits into a datagram by load, and so do 256 rows of two plain
// components.
func TestLoadOfRowsFits(t *testing.T) {
	type (
		turns struct {
			Facing, Aim, Way [4]float32  `net:"quat,bits=9"`
			At               [3]float32  `net:"range=0..1,step=1/64,predict=linear,parent=On"`
			On               bulk.Handle `net:"ref"`
		}
		plain struct{ Now uint8 }
	)
	s := schema.New()
	var err error
	for i := 0; err == nil; i++ {
		schema.Define[turns](s, fmt.Sprint("turns", i))
		require.NoError(t, s.Err())
		err = rowcodec.CheckRows(s)
	}
	require.ErrorContains(t, err, "rows could take")
	fit := len(s.Components()) - 1
	require.Greater(t, fit, 10)
	require.Less(t, rowschema.New(s).Load(1<<fit-1), wire.MaxLoad/4)
	s = schema.New()
	schema.Define[plain](s, "one")
	schema.Define[plain](s, "two")
	require.NoError(t, s.Err())
	require.Equal(t, wire.MaxLoad, wire.MaxRows*rowschema.New(s).Load(3))
}

// CheckRows rejects a schema whose rows may exceed a datagram.
func TestCheckRows(t *testing.T) {
	type big struct{ A [30]uint64 }
	s := schema.New()
	for i := range 4 {
		schema.Define[big](s, fmt.Sprint("big", i))
		require.NoError(t, s.Err())
		require.NoError(t, rowcodec.CheckRows(s))
	}
	schema.Define[big](s, "last")
	require.NoError(t, s.Err())
	err := rowcodec.CheckRows(s)
	require.ErrorContains(t, err, `"last"`)
	require.ErrorContains(t, err, "quantise its fields")
}

// withBody returns a schema with a body, and with always fields that take free bits.
func withBody(t *testing.T, name string, free int) *schema.Schema {
	s := schema.New()
	schema.Define[schema.Body](s, name)
	require.NoError(t, s.Err())
	text := strings.TrimSuffix(s.Text(), "input raw\n")
	for c := 0; free > 0; c++ {
		text += fmt.Sprintf("component c%d\n", c)
		free-- // the bit in the mask
		for f := range 64 {
			n := min(free, 32)
			if n > 0 {
				text += fmt.Sprintf("F%d uint %d always\n", f, n)
			}
			free -= n
		}
	}
	s = must.Get(schema.Parse(text + "input raw\n"))
	return s
}

// The exact part of a body counts too: a row with exact part and header fits, and so does
// its Enter.
func TestCheckRowsWithABody(t *testing.T) {
	const (
		body  = 12 + 3*(12+20) + 3*(12+19) // a head, and six residuals
		limit = wire.MaxRowBytes*8 - wire.MaxRowHeaderBits - body
	)
	for name, most := range map[string]int{"body": limit - wire.MaxExactBits, "corpse": limit} {
		require.NoError(t, rowcodec.CheckRows(withBody(t, name, most)), name)
		require.ErrorContains(t, rowcodec.CheckRows(withBody(t, name, most+1)), fmt.Sprintf("rows could take %d bits", wire.MaxRowBytes*8+1), name)
	}

	// The longest row in full and the longest exact part fit into an Enter.
	s := withBody(t, "body", limit-wire.MaxExactBits)
	x := math.Float32frombits(1<<32 - 1)
	far := wire.BodyState{Position: [3]float32{x, x, x}, Velocity: [3]float32{x, x, x}, Rest: 1<<32 - 1, Awake: true}
	var w bitio.Writer
	rowschema.New(s).AppendFull(&w, rowschema.Row{Mask: 1<<len(s.Components()) - 1, Values: make([]uint32, s.Values())})
	wire.AppendBody(&w, wire.Raw, &far, &wire.Grid{})
	require.LessOrEqual(t, len(w.Bytes()), wire.MaxEnterBytes)
}
