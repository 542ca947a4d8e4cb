//go:build unix

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/internal/programtest"
)

// withoutRoom limits the size of the files that a server writes to 512 or 1,024 bytes, as on a
// nearly full disk.
func withoutRoom(s *serving) {
	programtest.LimitByShell(s.process, "-f 1")
}

// A server that cannot write its recording still serves, and earlier recordings stay.
func TestServeWithoutRoomToRecord(t *testing.T) {
	path := filepath.Join(t.TempDir(), "storm.recording")
	s := startServing(t, "--record="+path)
	s.end(syscall.SIGTERM)
	before := must.Get(os.ReadFile(path))
	for range 2 {
		s := startServingBy(t, withoutRoom, "--record="+path)
		require.NoError(t, s.process.Process.Signal(syscall.SIGTERM))
		require.NoError(t, s.process.Wait())
		require.Equal(t, before, must.Get(os.ReadFile(path)))
		require.NoFileExists(t, path+".old-1")
		require.NoFileExists(t, path+".new")
	}
}

// A page that cannot be written leaves the earlier page.
func TestDemoWithoutRoomForItsPage(t *testing.T) {
	dir := t.TempDir()
	path, before := filepath.Join(dir, "page.html"), []byte("the page of before")
	require.NoError(t, os.WriteFile(path, before, 0o600))
	var out []byte
	var err error
	programtest.PlayLonger(t, "1s", "30s", func(duration string) (string, bool) {
		worldd := programtest.Command(t, "worldd", "demo", "--world=calm", "--bots=1", "--duration="+duration, "--html="+path)
		programtest.LimitByShell(worldd, "-f 1")
		out, err = worldd.CombinedOutput()
		return string(out), !strings.Contains(string(out), "no bot can join")
	})
	require.ErrorAs(t, err, new(*exec.ExitError))
	require.Contains(t, string(out), "cannot write the page")
	require.Equal(t, before, must.Get(os.ReadFile(path)))
	require.Len(t, must.Get(os.ReadDir(dir)), 1)
}
