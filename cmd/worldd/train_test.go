package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/internal/racetest"
	"github.com/worldd/worldd/internal/rowcodec"
)

// Tables trained on a world encode it in fewer bits than the defaults.
func TestTrainCommand(t *testing.T) {
	racetest.SkipUnchecked(t)
	dir := t.TempDir()
	path, out := filepath.Join(dir, "a.recording"), filepath.Join(dir, "a.tables")
	require.NoError(t, os.WriteFile(path, recording(t, "storm", nil), 0o600))
	status, said, complained := worldd(t, "train", "--out", out, path)
	require.Equal(t, exitOK, status, complained)
	require.Regexp(t, `\d+ rows learned, \d+ held back`, said)
	written := must.Get(os.ReadFile(out))
	tables := must.Get(rowcodec.ParseTables(written))
	require.NotEqual(t, rowcodec.DefaultTables().Version(), tables.Version())
	require.Contains(t, said, filepath.Base(out))

	status, _, complained = worldd(t, "train", "--out", out, filepath.Join(dir, "none"))
	require.Equal(t, exitUsage, status)
	require.Contains(t, complained, "cannot read")
	status, _, _ = worldd(t, "train", path)
	require.Equal(t, exitUsage, status, "--out is required")
}
