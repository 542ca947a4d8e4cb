package replication_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/internal/racetest"
	"github.com/worldd/worldd/internal/shorttest"
	"github.com/worldd/worldd/replication"
	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/world"
)

// TestCrowdJoins makes 10,000 entities enter a viewer with 40 moving ones in view. The
// budget is kept, every snapshot includes the moving entities, and all of the crowd
// enters.
func TestCrowdJoins(t *testing.T) {
	const budget, movers, crowdedWorld = 64_000, 40, 10_000
	s := newViewedWorld(t, replication.Config{BudgetBytesPerSecond: budget, EnterRadius: 200})
	var moving []bulk.Handle
	for i := range movers {
		moving = append(moving, s.spawn(float32(i)/4, 1))
	}
	structure := uint32(0)
	for s.viewer.Stats().Interest <= movers {
		structure += uint32(len(records(t, s.snapshot())))
		s.acknowledge(structure)
	}
	for i := range crowdedWorld {
		s.spawn(float32(i%100)-50, float32(i/100)-50)
	}
	snapshots, total, limit := 0, 0, shorttest.Pick(crowdedWorld/20, 60)
	for ; s.viewer.Stats().Interest <= movers+crowdedWorld && snapshots < limit; snapshots++ {
		for i, h := range moving {
			s.world.SetVelocity(h, world.Vec3{X: float32(1 - (snapshots+i)%2*2)})
		}
		u := s.snapshot()
		total += bytesOf(u)
		entered := len(records(t, u))
		structure += uint32(entered)
		require.GreaterOrEqual(t, rows(u), movers, "snapshot %d: every moving row is sent", snapshots)
		require.NotZero(t, entered, "snapshot %d: the crowd keeps entering", snapshots)
		s.acknowledge(structure)
	}
	require.LessOrEqual(t, total, budget/20*(snapshots+2), "budget")
	if !testing.Short() {
		require.Equal(t, movers+crowdedWorld+1, s.viewer.Stats().Interest, "all have entered")
	}
}

// TestBudgetIsSpent: a viewer that sees more motion than its budget allows uses the budget
// to within 2 %, at any snapshot rate.
func TestBudgetIsSpent(t *testing.T) {
	for _, c := range []struct{ hz, budget int }{{20, 64_000}, {25, 64_000}, {30, 64_000}, {60, 64_000}, {20, 16_000}, {30, 120_000}} {
		t.Run(fmt.Sprint(c), func(t *testing.T) {
			racetest.SkipSequential(t)
			s := newViewedWorld(t, replication.Config{SnapshotHz: c.hz, BudgetBytesPerSecond: c.budget, EnterRadius: 300})
			var moving []bulk.Handle
			for i := range 1500 {
				moving = append(moving, s.spawn(float32(i%50), float32(i/50)))
			}
			structure := uint32(0)
			for s.viewer.Stats().Interest <= len(moving) {
				structure += uint32(len(records(t, s.snapshot())))
				s.acknowledge(structure)
			}
			total, seconds := 0, 5
			for n := range seconds * c.hz {
				for i, h := range moving {
					s.world.SetVelocity(h, world.Vec3{X: float32((n+i)%7 - 3), Z: float32((n+2*i)%5 - 2)})
				}
				u := s.snapshot()
				total += bytesOf(u)
				s.acknowledge(structure)
			}
			require.InEpsilon(t, c.budget*seconds, total, 0.02)
		})
	}
}

// TestFlapDoesNotStarve: entities next to the viewer whose component sets change in each
// snapshot are always the nearest to enter. Distant entities must still enter, even under
// the smallest budget.
func TestFlapDoesNotStarve(t *testing.T) {
	s := newViewedWorld(t, replication.Config{BudgetBytesPerSecond: 20 * 64, EnterRadius: 50})
	var near, far []bulk.Handle
	for i := range 8 {
		near = append(near, s.spawn(0.5, float32(i)/8))
	}
	structure := s.receive(80)
	require.Equal(t, 9, s.viewer.Stats().Interest)
	for i := range 20 {
		far = append(far, s.spawn(49, float32(i)/8))
	}
	again := 0
	for i := range 200 {
		for _, h := range near {
			if i%2 == 0 {
				s.link.Set(h, link{s.focus})
			} else {
				s.link.Remove(h)
			}
		}
		for _, r := range records(t, s.snapshot()) {
			structure++
			if r.Handle.Index() <= near[7].Index() {
				again++
			}
		}
		s.acknowledge(structure)
	}
	for _, h := range far {
		require.Equal(t, wire.Live, s.viewer.Resolve(h), "%v waits for ever", h)
	}
	require.Greater(t, again, 50, "flapping entities enter again as well")
}

// TestNewcomersDoNotStarve: a stream of short-lived entities next to the viewer must
// not keep out a distant one for ever.
func TestNewcomersDoNotStarve(t *testing.T) {
	s := newViewedWorld(t, replication.Config{BudgetBytesPerSecond: 20 * 64, EnterRadius: 50})
	s.snapshot()
	far := s.spawn(49, 0)
	var sparks []bulk.Handle
	structure := uint32(1)
	for snapshot := range 100 {
		for _, h := range sparks {
			s.world.Destroy(h)
		}
		sparks = sparks[:0]
		for i := range 10 {
			sparks = append(sparks, s.spawn(float32(i)/10, 0.5))
		}
		structure += uint32(len(records(t, s.snapshot())))
		s.acknowledge(structure)
		if s.viewer.Resolve(far) == wire.Live {
			require.Positive(t, snapshot, "under this budget it has to wait")
			return
		}
	}
	require.Fail(t, "it waits for ever")
}

// The focus is in the first datagram of every snapshot while it moves, however many rows
// wait.
func TestFocusFirst(t *testing.T) {
	s := newViewedWorld(t, replication.Config{BudgetBytesPerSecond: 12_000, EnterRadius: 100})
	urgent := must.Get(s.world.AddKind(world.Kind{Name: "urgent", Priority: 100, Body: &world.BodyDef{Kinematic: true}}))
	for i := range 300 {
		must.Get(s.world.Spawn(urgent, world.Vec3{X: float32(i % 20), Z: float32(i / 20)}, world.Vec3{X: 0.5}))
	}
	s.world.SetVelocity(s.focus, world.Vec3{X: 0.5})
	structure, full := uint32(0), 0
	for range 400 {
		u := s.snapshot()
		structure += uint32(len(records(t, u)))
		s.acknowledge(structure)
		if s.viewer.Stats().Interest == 301 {
			full++
		}
		if full > 1 { // the entity entered in an earlier one
			require.Contains(t, slots(t, u.Datagrams[0]), s.focus.Index())
		}
	}
	require.NotZero(t, full)
}
