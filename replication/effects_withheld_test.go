package replication

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/field"
	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/replication/schema"
	"github.com/worldd/worldd/world"
)

// hiddenEffects is a world with exact bodies and a viewer that simulates.
type hiddenEffects struct {
	*Replicator
	t        *testing.T
	leaf     world.KindID
	onGround world.KindID
}

func newHiddenEffects(t *testing.T, c world.Config) *hiddenEffects {
	w := must.Get(world.New(c))
	s := schema.New()
	schema.Define[schema.Body](s, schema.BodyComponent)
	require.NoError(t, s.Err())
	h := &hiddenEffects{t: t}
	for _, k := range []struct {
		id   *world.KindID
		name string
		body world.BodyDef
	}{
		{&h.leaf, "leaf", world.BodyDef{Drag: 1}},
		{&h.onGround, "ball", world.BodyDef{Radius: 0.5, Friction: 0.5}},
	} {
		*k.id = must.Get(w.AddKind(world.Kind{Name: k.name, Exact: true, Body: &k.body}))
	}
	require.NoError(t, DeclareWorld(s, w))
	h.Replicator = must.Get(New(w, s, Config{SnapshotHz: min(w.TickHz(), 20)}))
	require.True(t, h.AddViewer(0).Simulate())
	return h
}

func (h *hiddenEffects) spawn(kind world.KindID, at world.Vec3) bulk.Handle {
	return must.Get(h.world.Spawn(kind, at, world.Vec3{}))
}

func (h *hiddenEffects) step(n int) {
	for range n {
		h.world.Step()
		h.AfterStep()
	}
}

// disturbed reports whether a row of e is owed because of the last step.
func (h *hiddenEffects) disturbed(e bulk.Handle) bool {
	s := h.clean.slotOf(e.Index(), e)
	return s != nil && s.disturbed[0] == h.Tick()
}

// gust adds an effect that follows leader.
func (h *hiddenEffects) gust(leader bulk.Handle, lifeTicks uint32) {
	p := must.Get(field.Compile("effect gust\nbox (-5,-5,-5) (5,5,5)\noutput = add output, (0.01,0,0,0)\n"))
	must.Get(h.world.AddEffect(world.EffectDef{Program: p, Mode: world.Acceleration, Follow: leader, LifeTicks: lifeTicks}))
}

// An effect that follows an entity acts at the entity's new position even in its last step.
// Clients do not know the effect: the bodies at that position are disturbed.
func TestFollowingEffectEndsWhereItsLeaderWasPut(t *testing.T) {
	for _, life := range []uint32{2, 3} { // it acts at the new position in its last step, or in its last two
		h := newHiddenEffects(t, world.Config{})
		leader, near := h.spawn(h.leaf, world.Vec3{Y: 50}), h.spawn(h.onGround, world.Vec3{X: 40, Y: 0.5})
		h.step(100)
		require.False(t, h.world.Awake(near))
		h.gust(leader, life)
		h.step(1)
		require.False(t, h.disturbed(near))
		require.True(t, h.world.SetPosition(leader, world.Vec3{X: 40, Y: 1}))
		h.step(1)
		require.True(t, h.world.Awake(near))
		require.True(t, h.disturbed(near), "life of %d steps", life)
	}
}

// In a long tick a body travels far before it hits the ground and stops. A withheld effect
// on its way disturbs the body.
func TestFollowingEffectAboveTheGround(t *testing.T) {
	h := newHiddenEffects(t, world.Config{TickHz: 10})
	leader := h.spawn(h.leaf, world.Vec3{X: 4, Y: 12})
	falling := must.Get(h.world.Spawn(h.leaf, world.Vec3{Y: 17}, world.Vec3{Y: -100}))
	h.step(1)
	h.gust(leader, 2)
	before, _ := h.world.Velocity(falling)
	h.step(1)
	after, _ := h.world.Velocity(falling)
	require.NotEqual(t, before.X, after.X)
	require.True(t, h.disturbed(falling))
}
