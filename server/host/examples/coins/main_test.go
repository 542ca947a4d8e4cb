package main

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/programtest"
)

const asMain = "COINS_TEST_AS_MAIN"

func TestMain(m *testing.M) {
	if os.Getenv(asMain) != "" {
		main()
	}
	os.Exit(m.Run())
}

// The bots play the demo without a mistake, and collect coins.
func TestDemo(t *testing.T) {
	self, err := os.Executable()
	require.NoError(t, err)
	var out []byte
	collected := false // a coin that is collected is destroyed
	programtest.PlayLonger(t, "3s", "30s", func(duration string) (string, bool) {
		demo := exec.CommandContext(t.Context(), self, "demo", "--bots=8", "--duration="+duration)
		demo.Env = append(os.Environ(), asMain+"=1")
		out, err = demo.CombinedOutput()
		collected = !strings.Contains(string(out), " 0 destroyed")
		return string(out), err == nil && collected
	})
	require.NoError(t, err, "%s", out)
	require.True(t, collected, "%s", out)
	require.Contains(t, string(out), "8 bots")
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
