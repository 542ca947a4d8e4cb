//go:build faults

package bot_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/fault"
	"github.com/worldd/worldd/loadtest/bot"
)

// TestFaultIsReported runs with a client that compares handles by index alone:
// the bots must notice.
func TestFaultIsReported(t *testing.T) {
	fault.Inject("IgnoreGeneration")
	defer fault.Inject("")
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
