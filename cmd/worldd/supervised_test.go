package main

import (
	"encoding/json"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/must"
)

// TestSupervised acts as systemd: the server is ready once it ticks, sends watchdog
// signals, and announces its end.
func TestSupervised(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "notify")
	told, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: socket, Net: "unixgram"})
	if err != nil {
		t.Skip(err)
	}
	defer told.Close()
	require.NoError(t, told.SetReadDeadline(time.Now().Add(3*time.Minute)))
	hear := func() string {
		buf := make([]byte, 1024)
		n := must.Get(told.Read(buf))
		return string(buf[:n])
	}
	t.Setenv("NOTIFY_SOCKET", socket)
	t.Setenv("WATCHDOG_USEC", "300000")
	s := startServing(t)
	require.Equal(t, "READY=1", hear())
	require.Regexp(t, `^STATUS=0 clients, \d+ entities awake of [1-9]`, hear(), "not of an empty world")
	alive := func() string { // the status is repeated every ten seconds
		for {
			if said := hear(); !strings.HasPrefix(said, "STATUS=0 clients, ") {
				return said
			}
		}
	}
	for range 3 {
		require.Equal(t, "WATCHDOG=1", alive())
	}
	until := func(want string) {
		for {
			said := alive()
			if strings.HasPrefix(said, want) {
				return
			}
			require.Equal(t, "WATCHDOG=1", said)
		}
	}
	require.NoError(t, s.process.Process.Signal(syscall.SIGHUP)) // as Type=notify-reload does
	until("RELOADING=1\nMONOTONIC_USEC=")
	until("READY=1")
	require.NoError(t, s.process.Process.Signal(syscall.SIGTERM))
	for last := ""; last != "STOPPING=1"; {
		last = alive()
		require.Contains(t, []string{"WATCHDOG=1", "STOPPING=1"}, last)
	}
	require.NoError(t, s.process.Wait())
}

// TestRestarts: systemd restarts a server that hangs and is aborted, but not one with a
// wrong world.
func TestRestarts(t *testing.T) {
	unit := must.Get(os.ReadFile("deploy/worldd.service"))
	require.Contains(t, string(unit), "\nRestart=on-failure\n")
	require.Contains(t, string(unit), "\nRestartPreventExitStatus="+strconv.Itoa(exitUsage)+"\n")
	traceback := regexp.MustCompile(`(?m)^Environment=GOTRACEBACK=(\w+)$`).FindStringSubmatch(string(unit))
	require.NotNil(t, traceback)
	t.Setenv("GOTRACEBACK", traceback[1])
	s := startServingBy(t, func(s *serving) { s.process.Dir = t.TempDir() }) // for a core file
	s.end(syscall.SIGABRT)
	ended := s.process.ProcessState.Sys().(syscall.WaitStatus)
	require.True(t, ended.Signaled(), "status %d", ended.ExitStatus())
}

// TestDashboard: the server exports every metric of the dashboard, with the labels
// used.
func TestDashboard(t *testing.T) {
	s := startServing(t, "--admin=127.0.0.1:0", "--image="+filepath.Join(t.TempDir(), "image"))
	g := must.Get(s.dial(t.Context(), 0))
	_, err := g.DoRaw("poke", 0, nil) // provokes a rejection
	require.NoError(t, err)
	for len(g.results) == 0 {
		require.NoError(t, g.Wait(t.Context()))
		require.NoError(t, g.Update())
	}
	require.NoError(t, g.Close())
	var metrics string
	require.Eventually(t, func() bool {
		response := must.Get(http.Get(s.admin + "/metrics"))
		defer response.Body.Close()
		text := must.Get(io.ReadAll(response.Body))
		metrics = string(text)
		return strings.Contains(metrics, `worldd_sessions_ended_total{code="ok"} 1`)
	}, time.Minute, 20*time.Millisecond)
	text := must.Get(os.ReadFile("deploy/grafana.json"))
	var dashboard struct {
		Panels []struct {
			Targets []struct{ Expr string }
		}
	}
	require.NoError(t, json.Unmarshal(text, &dashboard))
	shown := 0
	selector := regexp.MustCompile(`(worldd_\w+)\{([^}]*)\}`)
	for _, p := range dashboard.Panels {
		for _, target := range p.Targets {
			for _, found := range selector.FindAllStringSubmatch(target.Expr, -1) {
				shown++
				require.Regexp(t, `(?m)^`+found[1]+`[ {]`, metrics, target.Expr)
				for _, label := range regexp.MustCompile(`(\w+)="([^"]*)"`).FindAllString(found[2], -1) {
					require.Regexp(t, `(?m)^`+found[1]+`\{.*`+regexp.QuoteMeta(label), metrics, target.Expr)
				}
			}
		}
	}
	require.Greater(t, shown, 20)
}
