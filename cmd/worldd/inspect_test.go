package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/internal/racetest"
)

// TestInspectCommand: every field with a cost has a line, the most expensive first.
func TestInspectCommand(t *testing.T) {
	racetest.SkipUnchecked(t)
	dir := t.TempDir()
	path := filepath.Join(dir, "a.recording")
	require.NoError(t, os.WriteFile(path, recording(t, "storm", nil), 0o600))
	status, said, complained := worldd(t, "inspect", path)
	require.Equal(t, exitOK, status, complained)
	require.Regexp(t, `^component +field +bits a row +share +rows with it\nbody +`, said)
	require.Regexp(t, `identity +Mark +16\.00 +\d+\.\d % +100\.0 %\n`, said)
	var shares []float64
	for _, line := range regexp.MustCompile(`(\d+\.\d) % +\d+\.\d %\n`).FindAllStringSubmatch(said, -1) {
		share := must.Get(strconv.ParseFloat(line[1], 64))
		shares = append(shares, -share)
	}
	require.Len(t, shares, 5, "two fields and what has changed of body, the mark and that of identity")
	require.IsNonDecreasing(t, shares)
	require.Contains(t, said, "(what has changed)")
	require.Regexp(t, `sent to each of 8 viewers`, said)
	require.Regexp(t, `\d+ rows coded`, said)

	bad := filepath.Join(dir, "bad.tables")
	require.NoError(t, os.WriteFile(bad, []byte("tables"), 0o600))
	for _, args := range [][]string{
		{"inspect"},
		{"inspect", filepath.Join(dir, "none")},
		{"inspect", path, "--tables", bad},
		{"inspect", path, "--tables", bad + "no"},
		{"serve", "--listen=127.0.0.1:0", "--tables", bad},
	} {
		status, _, complained := worldd(t, args...)
		require.Equal(t, exitUsage, status, "%v: %s", args, complained)
		require.NotContains(t, complained, "fix the sender", "nobody sent it")
	}
}
