package replication_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/internal/racetest"
	"github.com/worldd/worldd/replication"
)

// P6: a viewer that does not simulate receives the same bytes whether the earlier viewers
// all simulate or are ordinary.
func TestOrdinaryViewerJoinsClean(t *testing.T) {
	racetest.SkipSequential(t)
	traces := func(simulating bool) (all [][]byte) {
		m := newStormWorld(t, 8, 0, replication.Config{BudgetBytesPerSecond: 1 << 20}, simulating)
		run := func(ticks int) {
			for range ticks {
				m.step()
				m.send(0, nil)
			}
		}
		run(90)
		for range 2 { // the second joins after the first has left and the others were alone again
			h := must.Get(m.scene.Join())
			m.viewers = append(m.viewers, &walker{Viewer: m.rep.AddViewer(h), entity: h})
			run(120)
			last := len(m.viewers) - 1
			all = append(all, m.viewers[last].trace)
			m.rep.RemoveViewer(m.viewers[last].Viewer)
			m.viewers = m.viewers[:last]
			run(30)
		}
		return all
	}
	want := traces(false)
	for _, trace := range want {
		require.Greater(t, len(trace), 10_000)
	}
	require.Equal(t, want, traces(true))
}
