package replication_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/replication"
	"github.com/worldd/worldd/world"
)

// Clients compute bodies of kinds that were added after the schema was made, also after a
// Resync.
func TestAddedKinds(t *testing.T) {
	m := newDisturbedWorld(t, 1, 1, replication.Config{})
	m.settled = true
	v, c := m.viewers[0], newSDKClient(t, m.rep, m.world)
	run := func() {
		for range 60 {
			m.world.Step()
			m.rep.AfterStep()
			if m.rep.Due(0) {
				m.rep.Capture()
				u := v.Snapshot()
				c.stream(u.Stream)
				for _, d := range u.Datagrams {
					must.Get(c.ApplyState(d))
				}
				c.compare()
				require.NoError(t, v.Acknowledge(c.Stats().Ack))
			}
		}
	}
	center := world.Vec3{Y: 3}
	focus := must.Get(m.world.Spawn(m.kinds[0], center, world.Vec3{}))
	v.SetFocus(focus)
	run()
	for i, exact := range []bool{true, false, true} {
		kind := must.Get(m.world.AddKind(world.Kind{Name: string(rune('x' + i)), Exact: exact, Body: &world.BodyDef{Drag: 0.1 * float32(i), Radius: 0.5, Restitution: 0.9}}))
		h := must.Get(m.world.Spawn(kind, center.Add(world.Vec3{Y: 3, X: float32(i)}), world.Vec3{Y: 9}))
		run()
		e := c.Entity(h)
		require.NotNil(t, e)
		_, _, ok := e.Exact()
		require.Equal(t, exact, ok)
		v.Resync()
		run()
		_, _, ok = c.Entity(h).Exact()
		require.Equal(t, exact, ok)
	}
	// Constants that the protocol lacks keep a kind ordinary.
	kind := must.Get(m.world.AddKind(world.Kind{Name: "negative", Exact: true, Body: &world.BodyDef{Friction: float32(math.Copysign(0, -1)), Radius: 0.5}}))
	h := must.Get(m.world.Spawn(kind, center, world.Vec3{}))
	run()
	_, _, ok := c.Entity(h).Exact()
	require.False(t, ok)
	require.Zero(t, c.Stats().Motion.Faults)
	require.Positive(t, c.Stats().Motion.Audited)
}
