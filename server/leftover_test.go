package server

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/renameio/v2"
	"github.com/stretchr/testify/require"
)

// TestSweep: what a killed save left goes, and nothing else does.
func TestSweep(t *testing.T) {
	l, path, seen := savingLoop(t, func(*ImageConfig) {})
	dir := filepath.Dir(path)
	// The library's own name for it, as if the process ended here.
	pending, err := renameio.NewPendingFile(path, renameio.WithTempDir(dir))
	require.NoError(t, err)
	require.NoError(t, pending.File.Close())
	kept := []string{"world.image", ".world.image", ".world.image1a", ".world.images12", "world.image12", ".other.image12"}
	for _, name := range kept {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), nil, 0o600))
	}
	require.NoError(t, os.Mkdir(filepath.Join(dir, ".world.image99"), 0o700))
	require.NoError(t, l.saver.begin())
	require.NoFileExists(t, pending.Name())
	for _, name := range kept {
		require.FileExists(t, filepath.Join(dir, name))
	}
	require.DirExists(t, filepath.Join(dir, ".world.image99"))
	require.Equal(t, 1, seen.FilterMessage("removing what a killed save left").Len())
}
