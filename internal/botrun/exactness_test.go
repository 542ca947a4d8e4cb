package botrun

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/client"
)

// The counts of several bots add up. Failed audits are kept up to a bound.
func TestExactness(t *testing.T) {
	var e exactness
	e.countBodies(client.MotionStats{Clean: 100, Owed: 3})
	e.countBodies(client.MotionStats{Clean: 200, Owed: 7})
	sum := e.plus(exactness{MotionStats: client.MotionStats{Owed: 7, Steps: 60, Rerun: 5, Audited: 4, Faults: 2, Overruns: 1}})
	require.Equal(t, &Motion{CleanBodies: 150, OwedPerClientS: 3.5, BodyTicks: 60, Rerun: 5, Audits: 4, Faults: 2, Overruns: 1}, sum.motionReport(sum.Owed, 2))
	require.Zero(t, *exactness{}.motionReport(7, 0), "nobody was connected")

	b := &loadBot{}
	for tick := range uint32(2 * recordedDivergences) {
		b.exactness.recordDivergence(4, tick, []bulk.Handle{bulk.NewHandle(17, 3)})
	}
	b.exactness.addClient(nil)
	require.Len(t, b.exactness.divergences, recordedDivergences, "they outlive the client")
	require.Equal(t, "bot 4, tick 0: the states of [17v3] are not the server's", b.exactness.divergences[0].String())
}
