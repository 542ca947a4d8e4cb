package columns_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/internal/columns"
)

func TestColumn(t *testing.T) {
	var c columns.Column[int64]
	require.Nil(t, c.At(0))
	require.Nil(t, c.Word(0))
	c.Grow(0)
	require.Nil(t, c.At(0))

	c.Grow(1)
	first := c.At(0)
	require.NotNil(t, c.At(bulk.BlockLen-1), "whole blocks")
	require.Nil(t, c.At(bulk.BlockLen))
	require.Nil(t, c.At(1<<32-1))
	require.Nil(t, c.Word(bulk.BlockLen/64))
	require.Nil(t, c.Word(1<<26-1))

	c.Grow(3*bulk.BlockLen + 1)
	require.Same(t, first, c.At(0), "pointers never move")
	for i := range uint32(4 * bulk.BlockLen) {
		require.Zero(t, *c.At(i))
		*c.At(i) = int64(i)
	}
	for w := range uint32(4 * bulk.BlockLen / 64) {
		for i, v := range c.Word(w) {
			require.Equal(t, int64(w)*64+int64(i), v)
		}
	}
	c.Grow(5)
	require.NotNil(t, c.At(4*bulk.BlockLen-1), "never shrinks")
}
