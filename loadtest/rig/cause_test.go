package rig_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/client"
	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/loadtest/rig"
	"github.com/worldd/worldd/replication"
	"github.com/worldd/worldd/replication/schema"
	"github.com/worldd/worldd/server"
	"github.com/worldd/worldd/world"
)

// The causes of a thousand deaths in one tick reach a client over a bad link. The entities are
// in its view, have left it, or die of age. The client receives no other deaths.
func TestCausesOfManyDeaths(t *testing.T) {
	s, w := schema.New(), must.Get(world.New(world.Config{Seed: 1, Gravity: -1}))
	schema.Define[schema.Body](s, schema.BodyComponent)
	ok(s.Err())
	kind := must.Get(w.AddKind(world.Kind{Name: "leaf", Body: &world.BodyDef{Kinematic: true}}))
	r := must.Get(rig.New(1, rig.Config{
		Link: rig.Link{Delay: 40 * time.Millisecond, Jitter: 20 * time.Millisecond, Loss: 0.2},
		Server: server.Config{
			WorldConfig: server.WorldConfig{
				World: w, Schema: s, Replication: replication.Config{EnterRadius: 50, LeaveRadius: 60, BudgetBytesPerSecond: 100_000},
			},
		},
	}))
	t.Cleanup(r.Close)
	const mortal, aged = 1000, 100
	var all []bulk.Handle
	for i := range mortal + aged {
		life := uint32(0)
		if i >= mortal {
			life = 60 * 20
		}
		all = append(all, must.Get(w.SpawnFor(kind, world.Vec3{X: float32(i % 30), Z: float32(i % 29)}, world.Vec3{}, life)))
	}
	unseen := must.Get(w.Spawn(kind, world.Vec3{X: 300}, world.Vec3{}))
	causes := map[bulk.Handle]uint8{}
	c := must.Get(r.Dial(client.Config{Schema: s, Observer: client.Observer{Destroy: func(h bulk.Handle, cause uint8) {
		require.NotContains(t, causes, h)
		causes[h] = cause
	}}}))
	for _, h := range all {
		require.NoError(t, r.RunUntil(10*time.Second, func() bool { return c.Replica().Entity(h) != nil }))
	}
	for _, h := range all[:mortal/2] {
		w.SetPosition(h, world.Vec3{X: 300})
	}
	require.NoError(t, r.RunUntil(5*time.Second, func() bool { return c.Replica().Entity(all[0]) == nil && c.Replica().Entity(all[mortal/2-1]) == nil }))
	require.Empty(t, causes)
	want := map[bulk.Handle]uint8{}
	for i, h := range all {
		want[h] = 0
		if i < mortal {
			want[h] = uint8(i)
			require.True(t, w.DestroyBecause(h, uint8(i)))
		}
	}
	w.DestroyBecause(unseen, 7)
	require.NoError(t, r.RunFor(20*time.Second))
	require.Equal(t, want, causes)
}
