//go:build faults

package imagefile

import (
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/fault"
	"github.com/worldd/worldd/internal/must"
)

// outcome is a test whose failures are expected.
type outcome struct {
	testing.TB
	failed bool
}

func (o *outcome) Errorf(string, ...any) { o.failed = true }
func (o *outcome) FailNow()              { runtime.Goexit() }

// TestFaultDisk runs the tests on the simulated disk with every deliberate fault of a journal's files.
func TestFaultDisk(t *testing.T) {
	t.Cleanup(func() { fault.Inject("") })
	faults := must.Get(fault.All())
	n := 0
	for _, f := range faults {
		if !strings.HasPrefix(f.Name, "Disk") {
			continue
		}
		n++
		fault.Inject(f.Name)
		o := &outcome{TB: t}
		caught := -1
		for i, play := range []func(testing.TB){
			playCrashes, playLives, playWithoutImage, recoverOlder, recoverGap, recoverUnwritten, recoverZeros, recoverBesideRivals, recoverDiverged, pruneSegments, playFailures, recoverFlips, playPowerLoss,
		} {
			if o.failed {
				break
			}
			caught = i
			done := make(chan bool)
			go func() {
				defer close(done)
				play(o)
			}()
			<-done
		}
		fault.Inject("")
		t.Logf("%-14s caught by check %d", f.Name, caught)
		require.True(t, o.failed, "fault %s survives: %s", f.Name, f.Breaks)
	}
	require.Equal(t, 23, n)
}
