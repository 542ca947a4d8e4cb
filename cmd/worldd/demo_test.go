package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/worldd/worldd/internal/botrun"
	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/internal/programtest"
)

// TestDemoJSON runs the whole demo with its child until all bots are in, and decodes
// its result.
func TestDemoJSON(t *testing.T) {
	programtest.SetChildren(t, "worldd")
	ctx, enough := context.WithCancel(t.Context())
	defer enough()
	var stdout programtest.Screen
	stderr := &programtest.Screen{Words: " 5/5 ", Seen: enough}
	status := run(ctx, []string{"demo", "--bots=5", "--duration=10m", "--world=storm", "--seed=5", "--json"}, streams{strings.NewReader(""), &stdout, stderr})
	out, err := stdout.String(), stderr.String()
	require.Equal(t, exitOK, status, "%s%s", err, out)
	require.Equal(t, 1, strings.Count(out, "\n"), "one line and nothing else: %s", out)
	var report botrun.Report
	decoder := json.NewDecoder(strings.NewReader(out))
	decoder.DisallowUnknownFields()
	require.NoError(t, decoder.Decode(&report))
	require.Equal(t, 5, report.Bots)
	require.Equal(t, 5, report.Connected)
	require.Zero(t, report.Failed)
	require.NotNil(t, report.Tick)
	require.Equal(t, 60, report.Tick.RateHz)
	require.NotZero(t, report.Tick.Count)
	require.LessOrEqual(t, report.Tick.P50Ms, report.Tick.P99Ms)
	require.LessOrEqual(t, report.Tick.P99Ms, report.Tick.MaxMs)
	require.NotNil(t, report.World)
	require.Equal(t, report.World.Entities, report.World.Awake+report.World.Asleep)
	require.EqualValues(t, report.World.Spawned-report.World.Destroyed, report.World.Entities)
	require.Regexp(t, "^[0-9a-f]{16}$", report.World.StateHash)
	require.NotZero(t, report.Handles.Probes)
	require.Zero(t, report.Handles.Confusions)
	require.Contains(t, err, "tick p99", "the live table is on standard error")
	require.Contains(t, err, "✓ no handle lied")
	for end := time.Now().Add(time.Minute); goleak.Find() != nil && time.Now().Before(end); {
		// what ends takes its time
	}
	goleak.VerifyNone(t)
}

// TestDemoForPeople: without --json everything goes to standard output. The duration counts
// from the first bot.
func TestDemoForPeople(t *testing.T) {
	programtest.SetChildren(t, "worldd")
	var status int
	var out, err string
	programtest.PlayLonger(t, "4s", "30s", func(duration string) (string, bool) {
		status, out, err = worldd(t, "demo", "--bots=1", "--duration="+duration, "--world=calm")
		return out, status == exitOK
	})
	require.Equal(t, exitOK, status, "%s%s", err, out)
	require.Empty(t, err)
	require.Contains(t, out, "tick p99", "the live table")
	require.Regexp(t, `in a browser: http://127\.0\.0\.1:\d+/live\?demo\n`, out)
	require.NotContains(t, out, "interrupted")
	require.Contains(t, out, "✓ every bot connected")
	require.NotContains(t, out, "\x1b", "no colors in a pipe")
}

// TestDemoFails: with bots that cannot join, the status is 1 after the summary. Here
// they exceed the file limit.
func TestDemoFails(t *testing.T) {
	const bots, files = 200, 22 // eight bots share a socket
	// In a small world none fails since the machine is busy: the output lists few failures.
	world := filepath.Join(t.TempDir(), "world.yaml")
	require.NoError(t, os.WriteFile(world, []byte(room(bots, 60_000)), 0o644))
	out, rest, err := interruptedDemo(t, world, bots, files, " failed")
	var status *exec.ExitError
	require.ErrorAs(t, err, &status)
	require.Equal(t, exitError, status.ExitCode(), "%s%s", rest, out)
	require.Regexp(t, `"connected":[1-9]\d*,"failed":[1-9]\d*,`, out)
	require.Contains(t, rest, "✗ no bot failed")
	require.Contains(t, rest, "too many open files")
}

// TestDemoOfTooManyBots: more bots than the world allows are rejected before anything
// starts, with advice.
func TestDemoOfTooManyBots(t *testing.T) {
	world, page := filepath.Join(t.TempDir(), "world.yaml"), filepath.Join(t.TempDir(), "page.html")
	require.NoError(t, os.WriteFile(world, []byte(room(3, 60_000)), 0o644))
	status, out, err := worldd(t, "demo", "--bots=4", "--duration=10m", "--world="+world, "--html="+page)
	require.Equal(t, exitUsage, status)
	require.Empty(t, out)
	for _, words := range []string{"--bots is 4", "world room takes 3 players", "limits.max_players", "--world", "at most 4096"} {
		require.Contains(t, err, words)
	}
	require.NoFileExists(t, page)
}

// TestDemoInterrupted sends Ctrl-C to the demo alone: it prints the result and ends, as
// does its child.
func TestDemoInterrupted(t *testing.T) {
	out, rest, err := interruptedDemo(t, "calm", 3, 0, "3/3")
	require.NoError(t, err, "status 0: all connected and nothing lied\n%s", rest)
	require.Contains(t, rest, "interrupted")
	require.Contains(t, out, `"connected":3,"failed":0,`)
}

// interruptedDemo runs a demo in its own process with a limit of open files (0: none),
// and interrupts it when a line contains the given words. It returns the output and the
// error.
func interruptedDemo(t *testing.T, world string, bots, files int, words string) (out, rest string, ended error) {
	demo := programtest.Command(t, "worldd", "demo", fmt.Sprint("--bots=", bots), "--duration=10m", "--world="+world, "--json")
	if files > 0 {
		programtest.LimitByShell(demo, fmt.Sprint("-n ", files))
	}
	var stdout bytes.Buffer
	demo.Stdout = &stdout
	stderr := must.Get(demo.StderrPipe())
	require.NoError(t, demo.Start())
	lines := bufio.NewScanner(stderr)
	for lines.Scan() {
		if strings.Contains(lines.Text(), words) {
			require.NoError(t, demo.Process.Signal(os.Interrupt))
			break
		}
	}
	var b strings.Builder
	for lines.Scan() { // until the child has closed it too
		b.WriteString(lines.Text() + "\n")
	}
	ended = demo.Wait()
	return stdout.String(), b.String(), ended
}
