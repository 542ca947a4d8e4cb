package rowschema_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/internal/rowschema"
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
	schema.Define[plain](s, "plain")
	schema.Define[twelve](s, "twelve")
	schema.Define[turns](s, "turns")
	schema.Define[rides](s, "rides")
	require.NoError(t, s.Err())
	for mask, want := range map[uint32]int{0: 1, 1: 3, 2: 4, 4: 7, 8: 9, 15: 1 + 2 + 3 + 6 + 8} {
		require.Equal(t, want, rowschema.New(s).Load(mask), "%b", mask)
	}
	schema.Define[wide](s, "wide")
	require.NoError(t, s.Err())
	require.Equal(t, 3, rowschema.New(s).Load(1), "152 values")
	schema.Define[wide](s, "wider")
	require.NoError(t, s.Err())
	require.Equal(t, 4, rowschema.New(s).Load(1), "280 values, all of which are copied")
}
