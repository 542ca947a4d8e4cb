package host

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
)

// A full disk ends the recording with one log entry, when it happens, and the disk's
// error.
func TestRecordingToAFullDisk(t *testing.T) {
	const full = "/dev/full"
	if _, err := os.Stat(full); err != nil {
		t.Skip("no disk that is always full")
	}
	logs, seen := observer.New(zap.InfoLevel)
	file, err := os.Create(full)
	require.NoError(t, err)
	r := newRecordFile(file, full, zap.New(logs))
	_, err = r.Write(make([]byte, 2<<20))
	require.NoError(t, err, "it is queued")
	_, _ = r.Write([]byte("more"))
	require.ErrorIs(t, r.Close(), syscall.ENOSPC)
	told := seen.FilterMessage("the recording ended").All()
	require.Len(t, told, 1)
	require.Equal(t, full, told[0].ContextMap()["path"])
}

// A recording that reaches its limit is logged once and replays; the world runs on.
func TestRecordingToItsLimit(t *testing.T) {
	d := tag()
	g, err := d.build(Options{})
	require.NoError(t, err)
	logs, seen := observer.New(zap.InfoLevel)
	path := filepath.Join(t.TempDir(), "a.recording")
	file, err := createRecord(path, zap.New(logs))
	require.NoError(t, err)
	const limit = 5000
	rec, err := g.record(file, limit)
	require.NoError(t, err)
	for range 1000 {
		g.World.Step()
	}
	require.NoError(t, rec.Close())
	require.NoError(t, file.Close())
	lines := seen.All()
	require.Len(t, lines, 1)
	require.Contains(t, lines[0].Message, "--record-mb")
	require.Less(t, lines[0].ContextMap()["tick"], uint64(1000))
	info, err := os.Stat(path)
	require.NoError(t, err)
	require.LessOrEqual(t, info.Size(), int64(limit))
	for _, command := range []string{"replay", "inspect"} {
		status, out, errs := play(t, command, path)
		require.Equal(t, exitOK, status, errs)
		require.NotContains(t, out+errs, "early")
	}
}
