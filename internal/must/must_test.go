package must_test

import (
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/must"
)

func TestGet(t *testing.T) {
	require.Equal(t, 3, must.Get(3, nil))
	require.PanicsWithValue(t, io.EOF, func() { must.Get(3, io.EOF) })
}

func TestDo(t *testing.T) {
	require.NotPanics(t, func() { must.Do(nil) })
	require.PanicsWithValue(t, io.EOF, func() { must.Do(io.EOF) })
}

func TestFail(t *testing.T) {
	require.Equal(t, io.EOF, must.Fail(3, io.EOF))
	require.Panics(t, func() { must.Fail(3, nil) })
}
