package main

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/must"
)

// A server whose log and output have lost their readers continues to serve, saves its world,
// and ends with status 0.
func TestServeOutlivesTheReadersOfItsOutput(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no SIGTERM")
	}
	args := []string{"--world=calm", "--image=" + filepath.Join(t.TempDir(), "world.image"), "--image-every=1h"}
	reader, log, err := os.Pipe()
	require.NoError(t, err)
	s := startServingBy(t, func(s *serving) { s.process.Stderr = log }, args...)
	require.NoError(t, log.Close())
	require.NoError(t, reader.Close())
	require.NoError(t, s.out.Close())
	g := must.Get(s.dial(t.Context(), 0)) // this is logged
	g.until(t, t.Context(), func() bool { return len(g.met) > 0 })
	require.NoError(t, s.process.Process.Signal(syscall.SIGTERM))
	require.NoError(t, s.process.Wait())
	require.NoError(t, g.Close())

	s = startServing(t, args...)
	require.Regexp(t, `restored from .*: tick [1-9]`, strings.Join(s.said, "\n"), "the last image is saved")
}
