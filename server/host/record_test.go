package host

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/worldd/worldd/internal/must"
)

// A full disk ends the recording with one log entry at once, which has the disk's error. The
// previous recording stays in place.
func TestRecordingToAFullDisk(t *testing.T) {
	const full = "/dev/full"
	if _, err := os.Stat(full); err != nil {
		t.Skip("no disk that is always full")
	}
	d := tag()
	g := must.Get(d.buildInstance(Options{}))
	dir := t.TempDir()
	path := filepath.Join(dir, "a.recording")
	require.NoError(t, os.WriteFile(path, []byte("of the run before"), 0o600))
	logs, seen := observer.New(zap.InfoLevel)
	file := must.Get(os.Create(full))
	r := newRecordFile(&recordDisk{path: path, file: file}, path, zap.New(logs))
	_, err := g.recordWorld(r, 0)
	if err != nil { // the disk was faster than the image
		require.ErrorIs(t, err, syscall.ENOSPC)
	}
	g.World.Step()
	require.ErrorIs(t, r.Close(), syscall.ENOSPC)
	told := seen.FilterMessage("the recording ended").All()
	require.Len(t, told, 1)
	require.Equal(t, path, told[0].ContextMap()["path"])
	requireOnly(t, dir, map[string]string{"a.recording": "of the run before"})
}

// A panic of the goroutine that writes the recording ends the recording. The world continues.
func TestRecordingPanics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := tag()
		g := must.Get(d.buildInstance(Options{}))
		logs, seen := observer.New(zap.InfoLevel)
		r := newRecordFile(nil, "a.recording", zap.New(logs))
		_, _ = g.recordWorld(r, 0) // its error, if any, depends on when the writer panics
		synctest.Wait()
		for range 2 * queuedSteps {
			g.World.Step()
		}
		require.ErrorContains(t, r.Close(), "panicked")
		require.Equal(t, 1, seen.FilterMessage("the recording ended").Len())
	})
}

// requireOnly requires a folder to hold these files.
func requireOnly(t *testing.T, dir string, want map[string]string) {
	t.Helper()
	files := must.Get(os.ReadDir(dir))
	found := map[string]string{}
	for _, f := range files {
		text := must.Get(os.ReadFile(filepath.Join(dir, f.Name())))
		found[f.Name()] = string(text)
	}
	require.Equal(t, want, found)
}

// The previous recording is moved only when the head of the next one is on the disk. A link
// stays a link.
func TestRecordingReplacesThePreviousOneWhenItsHeadIsWritten(t *testing.T) {
	dir := t.TempDir()
	path, link := filepath.Join(dir, "a.recording"), filepath.Join(t.TempDir(), "link")
	require.NoError(t, os.WriteFile(path, []byte("of the run before"), 0o600))
	require.NoError(t, os.Symlink(path, link))
	disk := must.Get(createRecordDisk(link))
	must.Get(disk.Write([]byte("head")))
	requireOnly(t, dir, map[string]string{"a.recording": "of the run before", "a.recording.new": "head"})
	require.NoError(t, disk.publishFile())
	must.Get(disk.Write([]byte(" and steps")))
	require.NoError(t, disk.closeFile())
	requireOnly(t, dir, map[string]string{"a.recording.old-1": "of the run before", "a.recording": "head and steps"})
	require.Equal(t, path, must.Get(os.Readlink(link)))
}

// A world that cannot be recorded is served, and a log entry reports it.
func TestUnrecordedWorldIsServed(t *testing.T) {
	logs, seen := observer.New(zap.InfoLevel)
	d := tag()
	g := must.Get(d.buildInstance(Options{}))
	beginRecording(g, filepath.Join(t.TempDir(), "missing", "a.recording"), 0, zap.New(logs))()
	require.Equal(t, 1, seen.FilterMessage("the world is not recorded").Len())
	g.World.Step()
}

// A recording that reaches its limit is logged once and replays; the world continues.
func TestRecordingToItsLimit(t *testing.T) {
	d := tag()
	g := must.Get(d.buildInstance(Options{}))
	logs, seen := observer.New(zap.InfoLevel)
	path := filepath.Join(t.TempDir(), "a.recording")
	file := must.Get(createRecord(path, zap.New(logs)))
	const limit = 5000
	rec := must.Get(g.recordWorld(file, limit))
	for range 1000 {
		g.World.Step()
	}
	require.NoError(t, rec.Close())
	require.NoError(t, file.Close())
	lines := seen.All()
	require.Len(t, lines, 1)
	require.Contains(t, lines[0].Message, "--record-mb")
	require.Less(t, lines[0].ContextMap()["tick"], uint64(1000))
	require.LessOrEqual(t, must.Get(os.Stat(path)).Size(), int64(limit))
	for _, command := range []string{"replay", "inspect"} {
		status, out, errs := play(t, command, path)
		require.Equal(t, exitOK, status, errs)
		require.NotContains(t, out+errs, "early")
	}
}
