package main

import (
	"os"
	"os/exec"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/programtest"
)

const asMain = "ARENA_TEST_AS_MAIN"

func TestMain(m *testing.M) {
	if os.Getenv(asMain) != "" {
		main()
	}
	os.Exit(m.Run())
}

// playDemo plays a demo that succeeds and prints what want matches.
func playDemo(t *testing.T, want, short, long string, flags ...string) {
	self, err := os.Executable()
	require.NoError(t, err)
	var out []byte
	programtest.PlayLonger(t, short, long, func(duration string) (string, bool) {
		demo := exec.CommandContext(t.Context(), self, append([]string{"demo", "--duration=" + duration}, flags...)...)
		demo.Env = append(os.Environ(), asMain+"=1")
		out, err = demo.CombinedOutput()
		return string(out), err == nil && regexp.MustCompile(want).Match(out)
	})
	require.NoError(t, err, "%s", out)
	require.Regexp(t, want, string(out))
}

// The program plays its demo, with bots of the arena, and no bot finds a mistake.
func TestDemo(t *testing.T) { playDemo(t, "3 bots", "4s", "30s", "--bots=3") }

// In the demo of the lobby, bots queue, fight and come back.
func TestLobbyDemo(t *testing.T) {
	playDemo(t, `"matches_ended":\s*[1-9]`, "15s", "1m", "--room=lobby", "--bots=8", "--json")
}

// Journals, recordings and replays repeat the game.
func TestDeterminism(t *testing.T) {
	self, err := os.Executable()
	require.NoError(t, err)
	check := exec.CommandContext(t.Context(), self, "check", "--determinism")
	check.Env = append(os.Environ(), asMain+"=1")
	out, err := check.CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Regexp(t, `: deterministic: 6\d\d ticks of 8 bots`, string(out))
}
