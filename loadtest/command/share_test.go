package command

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/scenes/bots"

	"github.com/worldd/worldd/loadtest/bot"
)

func TestShare(t *testing.T) {
	for text, want := range map[string]bot.Share{"0": 0, "0.05": 0.05, "5%": 0.05, "100%": 1, "1": 1} {
		var s bot.Share
		require.NoError(t, s.UnmarshalText([]byte(text)))
		require.InDelta(t, float64(want), float64(s), 1e-9, text)
	}
	for _, text := range []string{"", "%", "5", "101%", "-1%", "NaN", "x"} {
		require.ErrorContains(t, new(bot.Share).UnmarshalText([]byte(text)), "as 0.05 or 5%", text)
	}
}

// A share in the file of --config is a number or a string.
func TestShareInConfig(t *testing.T) {
	path := filepath.Join(t.TempDir(), "config.json")
	for value, fault := range map[string]string{`0.05`: "no bot can join", `"5%"`: "no bot can join", `5`: `"loss": "5": want a share`} {
		require.NoError(t, os.WriteFile(path, []byte(`{"loss": `+value+`}`), 0o600))
		var out, errs bytes.Buffer
		Main(t.Context(), bots.Player(), []string{"--addr=" + nobody, "--insecure-dev", "--config", path}, &out, &errs)
		require.Contains(t, errs.String(), fault, value)
	}
}
