//go:build linux

package main

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/must"
)

func TestSearchMost(t *testing.T) {
	for _, c := range []struct{ first, most, want int }{
		{100, 730, 700}, {100, 749, 700}, {100, 750, 750}, {800, 120, 100}, {50, 49, 0}, {1, 60, 50}, {100, 1 << 30, mostLimit},
	} {
		tried := 0
		got := must.Get(searchMost(c.first, func(n int) (bool, error) {
			tried++
			return n <= c.most, nil
		}))
		require.Equal(t, c.want, got)
		require.Less(t, tried, 14)
	}
	_, err := searchMost(100, func(int) (bool, error) { return false, errors.New("interrupted") })
	require.ErrorContains(t, err, "interrupted")
}
