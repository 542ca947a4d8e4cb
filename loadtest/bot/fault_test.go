//go:build fault_generation

package bot_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/loadtest/bot"
)

// TestFaultIsReported runs with a client that compares handles by index alone:
// the bots must notice.
func TestFaultIsReported(t *testing.T) {
	for _, world := range []string{"calm", "storm"} {
		t.Run(world, func(t *testing.T) {
			h := host(t, world)
			report, err := bot.Run(t.Context(), bot.Config{Addr: h.addr, Fingerprint: h.fingerprint, Bots: 3, Duration: 3 * time.Second}, nil)
			require.NoError(t, err)
			require.Equal(t, 3, report.Connected)
			require.NotZero(t, report.Handles.Confusions)
			require.NotEmpty(t, report.Confusions)
			require.False(t, report.OK())
			for _, c := range report.Confusions[:min(4, len(report.Confusions))] {
				t.Log(c)
			}
		})
	}
}
