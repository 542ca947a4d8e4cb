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
	require.PanicsWithValue(t, "no error, but 3", func() { must.Fail(3, nil) })
}

func TestHave(t *testing.T) {
	require.Equal(t, 3, must.Have(3, true))
	require.PanicsWithValue(t, "no value", func() { must.Have(3, false) })
}

func TestLack(t *testing.T) {
	require.NotPanics(t, func() { must.Lack(3, false) })
	require.PanicsWithValue(t, "a value: 3", func() { must.Lack(3, true) })
}
