package main

import (
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/client"
	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/replication/wire"
)

// TestHandOverSupervised acts as systemd: after a hand-over the next process is the main one, which continues the signs of
// life, and nobody announces an end.
func TestHandOverSupervised(t *testing.T) {
	dir := t.TempDir()
	socket := filepath.Join(dir, "notify")
	told, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: socket, Net: "unixgram"})
	if err != nil {
		t.Skip(err)
	}
	defer told.Close()
	require.NoError(t, told.SetReadDeadline(time.Now().Add(3*time.Minute)))
	t.Setenv("NOTIFY_SOCKET", socket)
	t.Setenv("WATCHDOG_USEC", "300000")
	said := map[string]int{}
	var next int
	hear := func(want string) {
		for found := false; !found; {
			buf := make([]byte, 1024)
			text := string(buf[:must.Get(told.Read(buf))])
			found = strings.HasPrefix(text, want)
			said[text]++
			_, _ = fmt.Sscanf(text, "MAINPID=%d", &next)
		}
	}
	byShell := func(s *serving) { // systemd names the process that it has started
		s.process.Args = append([]string{"sh", "-c", `export WATCHDOG_PID=$$; exec "$0" "$@"`, s.process.Path}, s.process.Args[1:]...)
		s.process.Path = "/bin/sh"
	}
	s := startServingBy(t, byShell, "--image="+filepath.Join(dir, "world.image"), "--identity="+filepath.Join(dir, "identity.pem"), "--admin=127.0.0.1:0")
	hear("READY=1")
	g := must.Get(s.dial(t.Context(), 0))
	g.until(t, t.Context(), func() bool { return len(g.met) > 0 })
	require.NoError(t, must.Get(http.Post(s.admin+"/cordon", "", nil)).Body.Close())
	require.NoError(t, s.process.Process.Signal(syscall.SIGUSR2))
	for next == 0 || said["READY=1"] < 2 {
		hear("")
	}
	t.Cleanup(func() { _ = syscall.Kill(next, syscall.SIGKILL) })
	require.NoError(t, s.process.Wait())
	require.Zero(t, said["STOPPING=1"])
	hear("WATCHDOG=1")
	hear("WATCHDOG=1")
	before := g.Welcome()
	lost := false
	g.until(t, t.Context(), func() bool {
		lost = lost || g.State() == client.Reconnecting
		return lost && g.State() == client.Joined
	})
	require.Equal(t, before.Session, g.Welcome().Session)
	require.Equal(t, before.Epoch, g.Welcome().Epoch)
	_, err = s.dial(t.Context(), 0)
	require.Equal(t, wire.Draining, wire.CodeOf(err), "the cordon passes: %v", err)
	require.NoError(t, g.Close())
	require.NoError(t, syscall.Kill(next, syscall.SIGTERM))
	hear("STOPPING=1")
}
