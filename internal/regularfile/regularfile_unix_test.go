//go:build unix

package regularfile_test

import (
	"net"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/internal/regularfile"
)

// Opening a pipe blocks until its other end is open.
func TestRefusesPipesAndSockets(t *testing.T) {
	dir := t.TempDir()
	pipe, socket := filepath.Join(dir, "pipe"), filepath.Join(dir, "s")
	require.NoError(t, syscall.Mkfifo(pipe, 0o600))
	listener := must.Get(net.Listen("unix", socket))
	defer listener.Close()
	for path, kind := range map[string]string{pipe: "a named pipe", socket: "a socket", "/dev/zero": "a device"} {
		require.EqualError(t, must.Fail(regularfile.Open(path)), "open "+path+": not a regular file: it is "+kind)
		require.EqualError(t, must.Fail(regularfile.Create(path)), "open "+path+": not a regular file: it is "+kind)
	}
}

func TestWorldReadable(t *testing.T) {
	path := filepath.Join(t.TempDir(), "key")
	require.NoError(t, os.WriteFile(path, nil, 0o600))
	for mode, want := range map[os.FileMode]bool{0o600: false, 0o640: false, 0o644: true, 0o604: true} {
		require.NoError(t, os.Chmod(path, mode))
		require.Equal(t, want, regularfile.WorldReadable(path), "%o", mode)
	}
	require.False(t, regularfile.WorldReadable(path+" that is not there"))
}
