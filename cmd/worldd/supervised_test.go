package main

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestSupervised plays systemd: the server is ready once it ticks, gives signs of
// life, and says that it ends.
func TestSupervised(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "notify")
	told, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: socket, Net: "unixgram"})
	if err != nil {
		t.Skip(err)
	}
	defer told.Close()
	require.NoError(t, told.SetReadDeadline(time.Now().Add(30*time.Second)))
	hear := func() string {
		buf := make([]byte, 1024)
		n, err := told.Read(buf)
		require.NoError(t, err)
		return string(buf[:n])
	}
	t.Setenv("NOTIFY_SOCKET", socket)
	t.Setenv("WATCHDOG_USEC", "300000")
	s := startServing(t)
	require.Equal(t, "READY=1", hear())
	require.True(t, strings.HasPrefix(hear(), "STATUS=0 clients, "))
	for range 3 {
		require.Equal(t, "WATCHDOG=1", hear())
	}
	require.NoError(t, s.process.Process.Signal(syscall.SIGTERM))
	for last := ""; last != "STOPPING=1"; {
		last = hear()
		require.Contains(t, []string{"WATCHDOG=1", "STOPPING=1"}, last)
	}
	require.NoError(t, s.process.Wait())
}

// TestDeployment: what stands in the unit and in the image is a command line that
// the program takes.
func TestDeployment(t *testing.T) {
	unit, err := os.ReadFile("deploy/worldd.service")
	require.NoError(t, err)
	image, err := os.ReadFile("deploy/Dockerfile")
	require.NoError(t, err)
	_, line, found := strings.Cut(string(unit), "ExecStart=/usr/local/bin/worldd ")
	require.True(t, found)
	line, _, _ = strings.Cut(line, "\n")
	_, list, found := strings.Cut(string(image), "CMD [")
	require.True(t, found)
	list, _, _ = strings.Cut(list, "]")
	for _, args := range [][]string{strings.Fields(line), strings.Fields(strings.NewReplacer(`"`, "", ",", " ").Replace(list))} {
		c, status := parse(args, streams{strings.NewReader(""), &screen{}, &screen{}})
		require.Equal(t, exitOK, status, args)
		require.IsType(t, &serveCommand{}, c)
	}
}
