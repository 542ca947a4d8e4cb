package main

import (
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/client"
	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/replication/wire"
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

// TestDrainFor: at SIGTERM a server with --drain-for admits nobody new, plays on, and ends once its
// players have left, after the time, or at a second signal.
func TestDrainFor(t *testing.T) {
	t.Parallel()
	for name, leave := range map[string]func(*serving, *player){
		"the players leave": func(_ *serving, g *player) { require.NoError(t, g.Close()) },
		"a second signal": func(s *serving, g *player) {
			at := g.Replica().Tick() // signals of the first second count as one
			g.until(t, t.Context(), func() bool { return g.Replica().Tick() > at+2*uint32(g.Welcome().TickHz) })
			require.NoError(t, s.process.Process.Signal(syscall.SIGTERM))
			g.until(t, t.Context(), func() bool { return g.State() != client.Joined })
			require.NoError(t, g.Close())
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := startServing(t, "--drain-for=1h")
			g := must.Get(s.dial(t.Context(), 0))
			g.until(t, t.Context(), func() bool { return len(g.met) > 0 })
			require.NoError(t, s.process.Process.Signal(syscall.SIGTERM))
			g.until(t, t.Context(), func() bool {
				late, err := s.dial(t.Context(), 0)
				if err == nil {
					require.NoError(t, late.Close())
				}
				return wire.CodeOf(err) == wire.Draining
			})
			at := g.Replica().Tick()
			g.until(t, t.Context(), func() bool { return g.Replica().Tick() > at })
			leave(s, g)
			require.NoError(t, s.process.Wait())
		})
	}
	s := startServing(t, "--drain-for=1ms")
	g := must.Get(s.dial(t.Context(), 0))
	s.end(syscall.SIGTERM)
	require.Zero(t, s.process.ProcessState.ExitCode())
	require.NoError(t, g.Close())
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
