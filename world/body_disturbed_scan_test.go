package world

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// AppendDisturbed finds each slot, in tables of every length.
func TestAppendDisturbedFindsAll(t *testing.T) {
	for n := range 30 {
		w := &World{disturbed: make([]uint64, n)}
		for slot := range n {
			w.disturbed[slot] = 7
			require.Equal(t, []uint32{uint32(slot)}, w.AppendDisturbed(nil, 7))
			require.Empty(t, w.AppendDisturbed(nil, 8))
			w.disturbed[slot] = 6
		}
		require.Empty(t, w.AppendDisturbed(nil, 7))
		require.Len(t, w.AppendDisturbed(nil, 6), n)
	}
}
