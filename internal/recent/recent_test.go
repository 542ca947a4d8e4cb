package recent

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSet(t *testing.T) {
	s := NewSet[int](3)
	dice := func(n int) int { return n - 1 }
	require.Zero(t, s.Draw(dice))
	require.True(t, s.IsEmpty())
	for _, v := range []int{1, 2, 2, 3} {
		s.Add(v)
	}
	require.False(t, s.Has(1))
	require.True(t, s.Has(2))
	require.True(t, s.Has(3))
	s.Add(4)
	require.True(t, s.Has(2), "once more")
	s.Add(5)
	require.False(t, s.Has(2))
	require.NotZero(t, s.Draw(dice))
	require.Len(t, s.count, 3)
}
