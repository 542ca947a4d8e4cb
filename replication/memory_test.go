package replication_test

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/invariants"
	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/replication"
	"github.com/worldd/worldd/world"
)

// TestViewerMemory: a viewer's memory depends on the entities that it knows, not on the
// size of the world. Each viewer's 1,000 entities are spread at random over a million
// slots, so that hardly two share a word.
func TestViewerMemory(t *testing.T) {
	if testing.Short() || invariants.Enabled {
		t.Skip("a world of a million slots")
	}
	const slots, groups, near, viewers = 1_000_000, 100, 1_000, 500
	a := newManyViewers(t, 0, 0, near, replication.Config{SnapshotHz: 30, EnterRadius: 12, BudgetBytesPerSecond: 1_200_000})
	// Groups of 1,000 stand apart; the other entities are out of every view.
	position := func(group int) world.Vec3 {
		return world.Vec3{X: float32(group%10)*40 - 180, Y: 1, Z: float32(group/10)*40 - 180}
	}
	inGroup := map[int][]int{}
	for i := range slots {
		at := world.Vec3{X: -400, Y: 60, Z: -400}
		if a.rand.IntN(slots) < groups*near {
			group := a.rand.IntN(groups)
			at = position(group)
			inGroup[group] = append(inGroup[group], i)
		}
		h := must.Get(a.world.Spawn(a.crate, at, world.Vec3{}))
		a.crowd = append(a.crowd, h)
	}
	a.written = make([]uint32, 1+viewers)
	look := func(group int) {
		a.viewers = append(a.viewers, a.rep.AddViewer(a.crowd[inGroup[group%groups][0]]))
	}
	look(0) // allocates memory that all viewers share
	a.settle()
	before, interest := inUse(), a.interest()
	for i := range viewers {
		look(i)
	}
	a.settle()
	bytes, known := float64(inUse()-before)/viewers, float64(a.interest()-interest)/viewers
	t.Logf("%.0f bytes a viewer, %.0f entities each", bytes, known)
	require.Greater(t, known, near*0.9)
	require.Less(t, bytes, 64_000.0)
}

// inUse returns the memory of live objects.
func inUse() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
