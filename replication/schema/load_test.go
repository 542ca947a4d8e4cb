package schema_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/replication/schema"
)

// Loads as in PROTOCOL.md, section 8.
func TestLoad(t *testing.T) {
	type (
		plain  struct{ Now uint8 }
		twelve struct{ Of [12]bool }
		turns  struct {
			Facing, Aim [4]float32 `net:"quat,bits=9"`
		}
		rides struct {
			At [3]float32  `net:"range=-64..64,step=1/64,predict=linear,parent=On"`
			On bulk.Handle `net:"ref"`
		}
		wide struct{ Words [64]float64 }
	)
	s := schema.New()
	require.NoError(t, schema.Add[plain](s, "plain"))
	require.NoError(t, schema.Add[twelve](s, "twelve"))
	require.NoError(t, schema.Add[turns](s, "turns"))
	require.NoError(t, schema.Add[rides](s, "rides"))
	for mask, want := range map[uint32]int{0: 1, 1: 3, 2: 4, 4: 7, 8: 9, 15: 1 + 2 + 3 + 6 + 8} {
		require.Equal(t, want, s.Load(mask), "%b", mask)
	}
	require.NoError(t, schema.Add[wide](s, "wide"))
	require.Equal(t, 3, s.Load(1), "152 values")
	require.NoError(t, schema.Add[wide](s, "wider"))
	require.Equal(t, 4, s.Load(1), "280 values, all of which are copied")
}
