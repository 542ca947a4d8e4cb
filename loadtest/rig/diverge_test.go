package rig_test

import (
	"reflect"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/client"
	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/loadtest/rig"
	"github.com/worldd/worldd/replication"
	"github.com/worldd/worldd/replication/schema"
	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/server"
	"github.com/worldd/worldd/world"
)

// A client whose computed states keep differing from the server's replaces its session by one
// that receives rows. The old session ends at once.
func TestDivergenceEndsSimulating(t *testing.T) {
	w := must.Get(world.New(world.Config{Seed: 1, Gravity: -1}))
	kind := must.Get(w.AddKind(world.Kind{Name: "leaf", Exact: true, Body: &world.BodyDef{Drag: 0.2, Radius: 0.2}}))
	s := schema.New()
	schema.Define[schema.Body](s, schema.BodyComponent)
	require.NoError(t, s.Err())
	var left []uint64
	r := must.Get(rig.New(1, rig.Config{Link: rig.Link{Delay: 30 * time.Millisecond}, Server: server.Config{
		WorldConfig: server.WorldConfig{
			World: w, Schema: s, Replication: replication.Config{SnapshotHz: 20},
			Hooks: server.Hooks{
				Join: func(*server.Session) (world.Entity, error) {
					return w.Spawn(kind, world.Vec3{Y: 100}, world.Vec3{X: 20, Z: 5})
				},
				Leave: func(s *server.Session) { left = append(left, s.ID()) },
			},
		},
	}}))
	t.Cleanup(r.Close)
	for i := range wire.AuditTurns { // each audit covers a part of the slots
		must.Get(w.Spawn(kind, world.Vec3{X: float32(i), Y: 100}, world.Vec3{X: 20, Z: 5}))
	}
	coupling := reflect.ValueOf(w).Elem().FieldByName("motion").FieldByName("Kinds").Index(int(kind)).FieldByName("Coupling")
	*(*float32)(coupling.Addr().UnsafePointer()) *= 1.01 // differs from what the clients received; exported functions cannot do that
	var changes []client.StateChange
	diverged := 0
	c := must.Get(r.Dial(client.Config{
		Schema: s, Simulate: true, State: func(s client.StateChange) { changes = append(changes, s) },
		Observer: client.Observer{Diverge: func(uint32, []bulk.Handle) { diverged++ }},
	}))
	first := c.Welcome()
	require.EqualValues(t, 1, first.Simulate)
	require.NoError(t, r.RunUntil(40*time.Second, func() bool { return c.Welcome().Session != first.Session }))
	require.Positive(t, diverged)
	require.Len(t, changes, 3)
	require.Equal(t, client.StateChange{State: client.Reconnecting, Err: client.ErrDiverged}, changes[1])
	require.Equal(t, client.StateChange{State: client.Joined}, changes[2])
	require.Zero(t, c.Welcome().Simulate)
	require.True(t, c.Stats().Ordinary)
	require.NoError(t, r.RunFor(time.Second))
	require.Equal(t, []uint64{first.Session}, left)

	faults := c.Stats().Replica.Motion.Faults
	require.Positive(t, faults)
	c.Break()
	require.NoError(t, r.RunFor(20*time.Second))
	require.Equal(t, client.Joined, c.State())
	require.EqualValues(t, 1, c.Welcome().Resumed)
	require.Equal(t, faults, c.Stats().Replica.Motion.Faults)
	require.NotNil(t, c.Replica().Entity(c.Controlled()))
}
