package host

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/botrun"
	"github.com/worldd/worldd/internal/programtest"
)

// playLonger is programtest.PlayLonger with the results of the last run.
func playLonger(t *testing.T, short string, play func(duration string) (int, string, string), enough func(status int, out, errs string) bool) (status int, out, errs string) {
	programtest.PlayLonger(t, short, "30s", func(duration string) (string, bool) {
		status, out, errs = play(duration)
		return out + errs, enough(status, out, errs)
	})
	return status, out, errs
}

// succeeds is enough for most runs.
func succeeds(status int, _, _ string) bool { return status == exitOK }

// The demo plays a game with its own bots, in a child process.
func TestDemo(t *testing.T) {
	programtest.SetChildren(t, "tag")
	var report botrun.Report
	status, out, errs := playLonger(t, "3s", func(duration string) (int, string, string) {
		return play(t, "demo", "--bots=3", "--duration="+duration, "--json")
	}, func(status int, out, _ string) bool {
		report = botrun.Report{}
		return status == exitOK && json.Unmarshal([]byte(out), &report) == nil && report.Handles.CommandsExecuted > 0 && report.Input.P50Ms != nil
	})
	require.Equal(t, exitOK, status, "%s%s", errs, out)
	require.Regexp(t, `tag demo: game tag, 3 bots for \d+s over QUIC on `, errs)
	require.NoError(t, json.Unmarshal([]byte(out), &report))
	require.Equal(t, 3, report.Connected)
	require.NotZero(t, report.Handles.Probes)
	require.NotZero(t, report.Handles.CommandsExecuted)
	require.NotNil(t, report.Input.P50Ms, "a change of the input is seen in the bot's own body")

	t.Setenv(lyingTag, "1")
	status, out, errs = playLonger(t, "1s", func(duration string) (int, string, string) {
		return play(t, "demo", "--bots=1", "--duration="+duration, "--json")
	}, func(_ int, out, _ string) bool { return strings.Contains(out, `"failed":1`) })
	require.Equal(t, exitError, status)
	require.Contains(t, out, `"failed":1`)
	require.Contains(t, errs, "nobody has been it so often")

	status, _, errs = play(t, "demo", "--bots=9")
	require.Equal(t, exitUsage, status)
	require.Equal(t, "tag: --bots is 9, but game tag takes 8 players: want fewer\n", errs)
}

// The command loadtest uses the game's bots, over bad links, in scenarios, against thresholds.
// Bots of a game without bots only watch.
func TestLoadtest(t *testing.T) {
	addr, pin := serving(t, tag())
	loadUntil := func(enough func(int, string, string) bool, d Definition, args ...string) (int, string, string) {
		return playLonger(t, "3s", func(duration string) (int, string, string) {
			return playOf(t, d, append([]string{"loadtest", "--addr=" + addr, "--fingerprint=" + pin, "--bots=4", "--duration=" + duration}, args...)...)
		}, enough)
	}
	says := func(words string) func(int, string, string) bool {
		return func(_ int, said, _ string) bool { return strings.Contains(said, words) }
	}
	load := func(d Definition, args ...string) (int, string, string) { return loadUntil(succeeds, d, args...) }
	status, said, errs := load(tag(), "--loss=0.05", "--delay=20ms", "--fail=commands_executed<1", "--fail=input_visible_p99_ms>60000", "--fail=confusions>0")
	require.Equal(t, exitOK, status, "%s%s", errs, said)
	require.Equal(t, 1, strings.Count(said, "confusions>0"), said)
	status, said, _ = loadUntil(says("✗ commands_executed"), tag(), "--fail=commands_executed>0")
	require.Equal(t, exitError, status)
	require.Contains(t, said, "commands_executed")
	for _, scenario := range []string{"idle", "churn", "restless", "hostile"} {
		status, said, errs := load(tag(), "--scenario="+scenario)
		require.Equal(t, exitOK, status, "%s: %s%s", scenario, errs, said)
	}
	status, _, errs = loadUntil(says(""), tag(), "--scenario=combat")
	require.Equal(t, exitUsage, status)
	require.Contains(t, errs, `scenario "combat"`)

	require.NoError(t, os.Setenv(panickingTag, "1"))
	status, said, _ = loadUntil(says("the game failed"), tag())
	require.NoError(t, os.Unsetenv(panickingTag))
	require.Equal(t, exitError, status)
	require.Contains(t, said, "the server ended the session: wire: internal: the game failed")

	lookers := tag()
	lookers.Bots = nil
	status, said, errs = load(lookers, "--fail=probes<1")
	require.Equal(t, exitOK, status, "%s%s", errs, said)
	status, _, _ = playOf(t, tag(), "loadtest", "--addr=nowhere")
	require.Equal(t, exitUsage, status)
}

// A demo without --duration ends by itself, unless somebody watches it on a terminal.
func TestDemoDuration(t *testing.T) {
	var c demoCommand
	require.Equal(t, "for 1m0s", c.setDuration(&bytes.Buffer{}))
	c.Duration = 3 * time.Second
	require.Equal(t, "for 3s", c.setDuration(&bytes.Buffer{}))
	terminal, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skip("no terminals: ", err)
	}
	defer terminal.Close()
	require.Equal(t, "for 3s", c.setDuration(terminal))
	c.Duration = 0
	require.Equal(t, "until Ctrl-C", c.setDuration(terminal))
}
