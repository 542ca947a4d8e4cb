//go:build unix

package atomicfile_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/atomicfile"
	"github.com/worldd/worldd/internal/must"
)

func TestWriteKeepsPermissions(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x")
	require.NoError(t, os.WriteFile(path, nil, 0o600))
	for _, mode := range []os.FileMode{0o666, 0o600, 0o440} {
		require.NoError(t, os.Chmod(path, mode))
		require.NoError(t, atomicfile.Write(path, []byte("x"), 0o644))
		require.Equal(t, mode, must.Get(os.Stat(path)).Mode())
	}
}

// A directory may be writable but not readable.
func TestSyncDirOfAClosedDirectory(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.Chmod(dir, 0o300))
	require.NoError(t, atomicfile.Write(filepath.Join(dir, "x"), nil, 0o600))
}
