//go:build faults

package botrun_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/fault"
	"github.com/worldd/worldd/loadtest/bot"
	"github.com/worldd/worldd/loadtest/rig"
)

// TestFaultIsReportedInCombat runs faulty clients and servers in virtual time. Fighting bots
// must notice each fault, by the named invariant.
func TestFaultIsReportedInCombat(t *testing.T) {
	t.Cleanup(func() { fault.Inject("") })
	for name, broken := range map[string]string{
		"SwapProvisionals": "B12",
		"KeepRefused":      "B12",
		"BindQuietly":      "B5 B12", // by a poke of the missile, or by its long life
		"ShootNow":         "B13",
		"ShootPresent":     "B13",
		"PredictExactly":   "B14",
	} {
		t.Run(name, func(t *testing.T) {
			fault.Inject(name)
			defer fault.Inject("")
			s, _ := fightOn(t, "calm", rig.Link{Delay: 75 * time.Millisecond, Jitter: 20 * time.Millisecond, Loss: 0.05}, 60*time.Second)
			var found []bot.Confusion
			for _, b := range s.bots {
				found = append(found, b.Confusions()...)
			}
			require.True(t, slices.ContainsFunc(found, func(c bot.Confusion) bool {
				invariant, _, _ := strings.Cut(c.What, ":")
				return slices.Contains(strings.Fields(broken), invariant)
			}), "%v", found)
			t.Log(found[0])
		})
	}
}
