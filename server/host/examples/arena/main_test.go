package main

import (
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"
)

const asMain = "ARENA_TEST_AS_MAIN"

func TestMain(m *testing.M) {
	if os.Getenv(asMain) != "" {
		main()
	}
	os.Exit(m.Run())
}

// The program plays its demo, with bots of the arena, and no bot finds a mistake.
func TestDemo(t *testing.T) {
	self, err := os.Executable()
	require.NoError(t, err)
	demo := exec.CommandContext(t.Context(), self, "demo", "--bots=3", "--duration=4s")
	demo.Env = append(os.Environ(), asMain+"=1")
	out, err := demo.CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Contains(t, string(out), "3 bots")
}

// In the demo of the lobby, bots queue, fight and come back.
func TestLobbyDemo(t *testing.T) {
	self, err := os.Executable()
	require.NoError(t, err)
	demo := exec.CommandContext(t.Context(), self, "demo", "--room=lobby", "--bots=8", "--duration=15s", "--json")
	demo.Env = append(os.Environ(), asMain+"=1")
	out, err := demo.Output()
	require.NoError(t, err, "%s", out)
	require.Regexp(t, `"matches_ended":\s*[1-9]`, string(out))
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
