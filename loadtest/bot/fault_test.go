//go:build faults

package bot_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/fault"
	"github.com/worldd/worldd/loadtest/bot"
)

// TestFaultIsReported runs a client that compares handles by index alone: the bots must
// notice.
func TestFaultIsReported(t *testing.T) {
	fault.Inject("IgnoreGeneration")
	defer fault.Inject("")
	for _, world := range []string{"calm", "storm"} {
		t.Run(world, func(t *testing.T) {
			h := host(t, world)
			ctx, enough := context.WithCancel(t.Context())
			defer enough()
			report, err := bot.Run(ctx, bot.Config{Addr: h.addr, Fingerprint: h.fingerprint, Bots: 3, Duration: patience}, func(p *bot.Progress) {
				if p.Connected == 3 && p.Handles.Confusions > 0 {
					enough()
				}
			})
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
