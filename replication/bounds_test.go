package replication_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/internal/bitio"
	"github.com/worldd/worldd/internal/rowschema"
	"github.com/worldd/worldd/replication"
	"github.com/worldd/worldd/replication/schema"
	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/world"
)

// crowdedWorld makes the viewer enter n entities around its focus.
func (s *viewedWorld) crowd(n int) []bulk.Handle {
	var all []bulk.Handle
	for i := range n {
		all = append(all, s.spawn(float32(i%128)/8-8, float32(i/128)/8-8))
	}
	structure := uint32(0)
	for s.viewer.Stats().Interest <= n {
		structure += uint32(len(records(s.t, s.snapshot())))
		s.acknowledge(structure)
	}
	return all
}

// TestEverythingDiesAtOnce: the deaths of one tick fill as many messages as needed. A
// message above the size limit of frames would end every session.
func TestEverythingDiesAtOnce(t *testing.T) {
	const n = 14_000
	s := newViewedWorld(t, replication.Config{BudgetBytesPerSecond: 10_000_000})
	for _, h := range s.crowd(n) {
		s.world.Destroy(h)
	}
	require.Len(t, records(t, s.snapshot()), n)
}

// TestEverythingLeavesAtOnce moves a viewer away from a crowd.
func TestEverythingLeavesAtOnce(t *testing.T) {
	const n = 14_000
	s := newViewedWorld(t, replication.Config{BudgetBytesPerSecond: 10_000_000})
	s.crowd(n)
	s.world.SetPosition(s.focus, world.Vec3{X: 500, Y: 1})
	require.Len(t, records(t, s.snapshot()), n)
}

// TestNextTenantIsUnknown: a slot whose known tenant died is unknown again. Its next
// tenant is Pending, and dies without a record (R2).
func TestNextTenantIsUnknown(t *testing.T) {
	s := newViewedWorld(t, replication.Config{EnterRadius: 10, LeaveRadius: 20})
	near := s.spawn(5, 0)
	s.snapshot()
	s.world.Destroy(near)
	require.Len(t, records(t, s.snapshot()), 1)
	next := s.spawn(100, 0)
	require.Equal(t, near.Index(), next.Index(), "the slot is used again")
	s.snapshot()
	require.Equal(t, wire.Pending, s.viewer.Resolve(next))
	s.world.Destroy(next)
	require.Empty(t, records(t, s.snapshot()), "the client does not know it")
}

// TestUnacknowledgedEntersStop: a client that reads and never acknowledges is not sent
// the whole world.
func TestUnacknowledgedEntersStop(t *testing.T) {
	s := newViewedWorld(t, replication.Config{BudgetBytesPerSecond: 10_000_000})
	for i := range 14_000 {
		s.spawn(float32(i%128)/8-8, float32(i/128)/8-8)
	}
	sent := 0
	for range 20 {
		sent += len(s.snapshot().Stream)
	}
	require.Less(t, sent, 64<<10)
	require.NoError(t, s.viewer.Acknowledge(wire.Ack{Structure: uint32(s.viewer.Stats().Interest)}))
	require.NotEmpty(t, records(t, s.snapshot()), "enters continue once the client acknowledges")
}

// TestInfiniteRadii: with infinite radii a viewer sees every entity, even if only the
// viewer moves.
func TestInfiniteRadii(t *testing.T) {
	s := newViewedWorld(t, replication.Config{EnterRadius: float32(math.Inf(1))})
	for i := range 100 {
		s.spawn(float32(i), 0)
	}
	s.snapshot()
	s.snapshot()
	s.world.SetPosition(s.focus, world.Vec3{X: 1, Y: 1})
	s.snapshot()
	s.spawn(-500, 500)
	s.snapshot()
	require.Equal(t, 102, s.viewer.Stats().Interest)
}

// TestSpawnedAfterTheFrame: an entity spawned after the capture, by a game that reacts
// to the end of a session while snapshots are sent, enters with the next frame.
func TestSpawnedAfterTheFrame(t *testing.T) {
	s := newViewedWorld(t, replication.Config{SnapshotHz: 60})
	old := s.spawn(1, 0)
	s.world.Step()
	s.rep.AfterStep()
	s.rep.Capture()
	s.viewer.Snapshot()
	s.world.Destroy(old)
	s.world.Step()
	s.rep.AfterStep()
	s.rep.Capture()
	late := []bulk.Handle{s.spawn(2, 0), s.spawn(3, 0)}
	require.Equal(t, old.Index(), late[0].Index(), "one takes a used slot, the other a new one")
	require.Equal(t, 1, len(records(t, s.viewer.Snapshot())), "the destroy")
	require.Len(t, records(t, s.snapshot()), 2)
	require.Equal(t, wire.Live, s.viewer.Resolve(late[1]))
}

// TestForgedReferenceIsNone: a handle that was never issued is forged, and may be issued
// later. A reference to a forged handle is sent as 0: otherwise a client would hold it
// Pending for ever.
func TestForgedReferenceIsNone(t *testing.T) {
	s := newViewedWorld(t, replication.Config{EnterRadius: 10, LeaveRadius: 20})
	near := s.spawn(1, 0)
	s.link.Set(near, link{bulk.NewHandle(near.Index()+1, 3)})
	rowSchema := schema.New()
	schema.Define[schema.Body](rowSchema, schema.BodyComponent)
	schema.Define[link](rowSchema, "link")
	require.NoError(t, rowSchema.Err())
	for _, record := range records(t, s.snapshot()) {
		var r bitio.Reader
		r.Reset(record.Row)
		row := rowschema.Row{Values: make([]uint32, rowSchema.Values())}
		require.NoError(t, rowschema.New(rowSchema).ReadFull(&r, &row))
		rowschema.New(rowSchema).References(row, func(h bulk.Handle) { require.Fail(t, "refers", "%v to %v", record.Handle, h) })
	}
}

// TestResyncEntersAgain: a resync enters the whole interest set again, once.
func TestResyncEntersAgain(t *testing.T) {
	s := newViewedWorld(t, replication.Config{})
	near := s.spawn(3, 0)
	s.snapshot()
	s.acknowledge(2)
	s.viewer.Resync()
	again := records(t, s.snapshot())
	require.Len(t, again, 2)
	require.Equal(t, []bulk.Handle{s.focus, near}, []bulk.Handle{again[0].Handle, again[1].Handle})
	require.Empty(t, records(t, s.snapshot()), "once")
}
