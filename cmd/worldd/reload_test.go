package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/replication/wire"
)

// TestReload: SIGHUP takes the limits of the file as it is now; what cannot be
// taken is told and changes nothing.
func TestReload(t *testing.T) {
	world := filepath.Join(t.TempDir(), "world.yaml")
	write := func(players, budget int) {
		require.NoError(t, os.WriteFile(world, []byte(room(players, budget)), 0o644))
	}
	write(2, 60000)
	log := &screen{}
	s := startServingTo(t, log, "--world="+world)
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	hup := func() { require.NoError(t, s.process.Process.Signal(syscall.SIGHUP)) }
	first, err := s.dial(ctx, 0)
	require.NoError(t, err)
	defer first.Close()
	said := func(words string) { // who says nothing meanwhile may lose its place
		t.Helper()
		first.until(t, ctx, func() bool { return strings.Contains(log.String(), words) })
	}
	full := func() {
		t.Helper()
		_, err := s.dial(ctx, 0)
		require.Equal(t, wire.ServerFull, wire.CodeOf(err), "%v", err)
	}

	write(1, 70000)
	hup()
	said(`"max_sessions":1,"max_sessions_per_address":0,"budget_bytes_per_second":70000`)
	full()
	write(3, 60000)
	hup()
	said("started for 2: more takes a restart")
	full()
	write(2, 5)
	hup()
	said("budget_bytes_per_second is 5")
	full()
	require.NotContains(t, log.String(), "takes a restart\",\"keys")
	require.NoError(t, os.WriteFile(world, []byte(strings.Replace(room(2, 60000), "name: room", "name: hall\ntick_hz: 30", 1)), 0o644))
	hup()
	said(`"max_sessions":2,`)
	require.Contains(t, log.String(), `"keys":["name","tick_hz"]`, "what is not taken is told")
	second, err := s.dial(ctx, 0)
	require.NoError(t, err)
	require.NoError(t, second.Close())
	s.end(syscall.SIGTERM)
}

// room is the file of a small world.
func room(players, budget int) string {
	return fmt.Sprintf("name: room\nlimits: {max_players: %d}\nbudget_bytes_per_second: %d\n"+
		"kinds:\n  avatar: {body: {kinematic: true}}\nplayers: {kind: avatar, region: {min: [-5, 0.5, -5], max: [5, 0.5, 5]}}\n", players, budget)
}

// startServingTo is startServing with its log to be read.
func startServingTo(t *testing.T, log io.Writer, args ...string) *serving {
	return startServingBy(t, func(s *serving) { s.process.Stderr = log }, args...)
}

// SIGHUP is no end, not even when it comes with one: systemd and terminals send it
// right after SIGTERM, while the world is being saved.
func TestHangupWhileItEnds(t *testing.T) {
	image := filepath.Join(t.TempDir(), "world.image")
	s := startServing(t, "--image="+image)
	require.NoError(t, s.process.Process.Signal(syscall.SIGTERM))
	ended := make(chan error, 1)
	go func() { ended <- s.process.Wait() }()
	for {
		select {
		case err := <-ended:
			require.NoError(t, err)
			return
		default:
			_ = s.process.Process.Signal(syscall.SIGHUP) // an error if it has ended meanwhile
			time.Sleep(time.Millisecond)
		}
	}
}
