package rowcodec_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/internal/rowcodec"
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
		require.NoError(t, schema.Add[turns](s, fmt.Sprint("turns", i)))
		err = rowcodec.CheckRows(s)
	}
	require.ErrorContains(t, err, "rows could take")
	fit := s.Components() - 1
	require.Greater(t, fit, 10)
	require.Less(t, s.Load(1<<fit-1), wire.MaxLoad/4)
	s = schema.New()
	require.NoError(t, schema.Add[plain](s, "one"))
	require.NoError(t, schema.Add[plain](s, "two"))
	require.Equal(t, wire.MaxLoad, wire.MaxRows*s.Load(3))
}

// CheckRows rejects a schema whose rows may exceed a datagram.
func TestCheckRows(t *testing.T) {
	type big struct{ A [30]uint64 }
	s := schema.New()
	for i := range 4 {
		require.NoError(t, schema.Add[big](s, fmt.Sprint("big", i)))
		require.NoError(t, rowcodec.CheckRows(s))
	}
	require.NoError(t, schema.Add[big](s, "last"))
	err := rowcodec.CheckRows(s)
	require.ErrorContains(t, err, `"last"`)
	require.ErrorContains(t, err, "quantise its fields")
}
