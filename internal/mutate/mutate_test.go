package mutate_test

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/mutate"
)

func TestMutantsFollowTheSeed(t *testing.T) {
	pool := [][]byte{[]byte("some input"), []byte("another"), {}}
	a, b, other := mutate.NewSource(1, pool...), mutate.NewSource(1, pool...), mutate.NewSource(2, pool...)
	var changed, longer, shorter, apart int
	for range 2000 {
		m := a.Next()
		require.Equal(t, m, b.Next())
		if !bytes.Equal(m, other.Next()) {
			apart++
		}
		of := []byte("some input")
		switch m := a.Of(of); {
		case len(m) > len(of):
			longer++
		case len(m) < len(of):
			shorter++
		case !bytes.Equal(m, of):
			changed++
		}
		b.Of(of)
	}
	require.Equal(t, [][]byte{[]byte("some input"), []byte("another"), {}}, pool)
	for _, n := range []int{changed, longer, shorter, apart} {
		require.Greater(t, n, 300)
	}
}

// TestMutantsReachEverything: eventually every bit is flipped and every length occurs.
func TestMutantsReachEverything(t *testing.T) {
	of := make([]byte, 8)
	s := mutate.NewSource(3, of)
	flips, cuts := map[int]bool{}, map[int]bool{}
	for range 20_000 {
		m := s.Of(of)
		if bytes.Equal(m, of[:min(len(m), 8)]) {
			cuts[len(m)] = true
		}
		for bit := range 64 {
			one := make([]byte, 8)
			one[bit/8] = 1 << (bit % 8)
			flips[bit] = flips[bit] || bytes.Equal(m, one)
		}
	}
	for n := range 9 {
		require.True(t, cuts[n], "%d bytes", n)
	}
	for bit := range 64 {
		require.True(t, flips[bit], "bit %d", bit)
	}
}
