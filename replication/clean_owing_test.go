package replication

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/internal/racetest"
	"github.com/worldd/worldd/internal/scenes"
	"github.com/worldd/worldd/replication/schema"
)

// newExactStorm returns the storm with exact kinds, for viewers that may simulate.
func newExactStorm(t testing.TB) *Replicator {
	file := must.Get(scenes.Named("storm"))
	for i := range file.Kinds {
		file.Kinds[i].Exact = true
	}
	scene := must.Get(scenes.Build(file))
	s := schema.New()
	schema.Define[schema.Body](s, schema.BodyComponent)
	require.NoError(t, s.Err())
	require.NoError(t, DeclareWorld(s, scene.World))
	return must.Get(New(scene.World, s, Config{}))
}

// A snapshot of a viewer that simulates does not examine the rows of exact bodies that only
// motion changed, and these rows are not quantised unless the body falls asleep.
// CheckInvariants and TestOwedRows test that it examines all owed rows (R6, R13).
func TestMotionIsNotExamined(t *testing.T) {
	racetest.SkipSequential(t)
	r := newExactStorm(t)
	require.True(t, r.AddViewer(0).Simulate())
	moved, examined, quantised := 0, 0, 0
	for tick := range 120 {
		capture := r.changes.captures()
		r.world.Step()
		r.AfterStep()
		r.Capture()
		if tick == 0 {
			continue // everything is new
		}
		changed, owing := r.changes.changed.changedSince(capture), r.changes.owing.changedSince(capture)
		for slot := range changed.All() {
			if r.frame.summaries[slot].handle != 0 && r.world.Slots().Disturbed(slot) < r.world.Tick() {
				require.False(t, owing.Has(slot), "slot %d at tick %d", slot, tick)
				moved++
				if r.frame.summaries[slot].version == r.frame.tick {
					quantised++
				}
			}
		}
		examined += owing.Count()
	}
	require.Greater(t, moved, 10_000)
	require.Less(t, 20*examined, moved)
	require.Less(t, 20*quantised, moved)
}
