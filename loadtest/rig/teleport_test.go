package rig_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/client"
	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/loadtest/rig"
	"github.com/worldd/worldd/replication"
	"github.com/worldd/worldd/replication/schema"
	"github.com/worldd/worldd/server"
	"github.com/worldd/worldd/world"
)

// push is the input of players, which moves nothing.
type push struct {
	On bool
}

// hopping is a world with bodies that are teleported again and again between two islands, and drift on each.
type hopping struct {
	t      *testing.T
	rig    *rig.Rig
	world  *world.World
	far    world.Entity // leaps farther than a body moves in a tick
	near   world.Entity // leaps less, and the game marks it
	since  uint64       // tick of the newest leap
	places map[uint32]map[world.Entity]float32
}

// Distances of the islands, in metres. A tick at 60 Hz moves a body at most 2.2 m.
const (
	farLeap  = 30
	nearLeap = 1.5
	drift    = 0.5 // m/s
)

func newHopping(t *testing.T, link rig.Link) *hopping {
	w, s := must.Get(world.New(world.Config{Seed: 1, Gravity: -1})), schema.New()
	schema.Define[schema.Body](s, schema.BodyComponent)
	pushes := schema.DefineInput[push](s)
	require.NoError(t, s.Err())
	kind := must.Get(w.AddKind(world.Kind{Name: "hopper", Exact: true, Body: &world.BodyDef{Drag: 0}}))
	h := &hopping{t: t, world: w, places: map[uint32]map[world.Entity]float32{}}
	spawn := func(z float32) world.Entity {
		return must.Get(w.Spawn(kind, world.Vec3{Y: 40, Z: z}, world.Vec3{X: drift}))
	}
	h.far, h.near = spawn(0), spawn(10)
	join := func(*server.Session) (world.Entity, error) { return h.near, nil }
	h.rig = must.Get(rig.New(5, rig.Config{Link: link, Server: server.Config{
		WorldConfig: server.WorldConfig{World: w, Schema: s, Replication: replication.Config{EnterRadius: 100}, Hooks: server.Hooks{Join: join, Input: server.OnInput(pushes, func(*server.Session, uint64, push) {})}},
	}}))
	t.Cleanup(h.rig.Close)
	return h
}

// step makes a tick, before which the bodies may leap.
func (h *hopping) step(leap bool) {
	if leap {
		h.since = h.world.Tick() + 1
		for e, distance := range map[world.Entity]float32{h.far: farLeap, h.near: nearLeap} {
			at := must.Have(h.world.Position(e))
			if at.X > distance/2 {
				distance = 0
			}
			at.X = distance
			require.True(h.t, h.world.SetPosition(e, at))
		}
		require.True(h.t, h.world.MarkTeleported(h.near))
	}
	require.NoError(h.t, h.rig.Step())
	now := map[world.Entity]float32{}
	for _, e := range []world.Entity{h.far, h.near} {
		now[e] = must.Have(h.world.Position(e)).X
	}
	h.places[uint32(h.world.Tick())] = now
}

// A teleported body is shown where it was until the tick of its teleport, and where it is from then on, however its
// client receives states and whatever the link loses: never on the way.
func TestTeleportsAreNoMotion(t *testing.T) {
	bad := rig.Link{Delay: 40 * time.Millisecond, Jitter: 30 * time.Millisecond, Loss: 0.1, Reorder: 0.05, Duplicate: 0.02}
	for name, config := range map[string]client.Config{"rows": {}, "plain rows": {PlainRows: true}, "computed": {Simulate: true}} {
		t.Run(name, func(t *testing.T) {
			h := newHopping(t, bad)
			config.Schema = h.rig.Core().Config().Schema
			c := must.Get(h.rig.Dial(config))
			shown := map[world.Entity]map[bool]int{h.far: {}, h.near: {}}
			c.EachFrame(60, func() error {
				if err := c.Update(); err != nil {
					return err
				}
				m := c.Render()
				for e, distance := range map[world.Entity]float32{h.far: farLeap, h.near: nearLeap} {
					b, ok := client.Body.At(c.Entity(e), m)
					truth := h.places[uint32(m.Tick)]
					if !ok || truth == nil {
						continue
					}
					require.InDelta(t, truth[e], b.Position[0], 0.35, "at moment %v of leaps of %v m, the newest in tick %d", m.Tick, distance, h.since)
					shown[e][b.Position[0] > distance/2]++
				}
				return nil
			})
			for tick := range 60 * 20 {
				h.step(tick%23 == 22)
			}
			require.NoError(t, c.Err())
			for _, islands := range shown {
				require.Greater(t, islands[true], 300)
				require.Greater(t, islands[false], 300)
			}
		})
	}
}

// The player's own entity is drawn at its new place as soon as the client knows of the teleport, though the way is short
// enough for a correction that is blended.
func TestPredictionFollowsTeleports(t *testing.T) {
	for name, simulate := range map[string]bool{"rows": false, "computed": true} {
		t.Run(name, func(t *testing.T) {
			h := newHopping(t, rig.Link{Delay: 40 * time.Millisecond})
			s := h.rig.Core().Config().Schema
			c := must.Get(h.rig.Dial(client.Config{Schema: s, Simulate: simulate}))
			own := must.Get(client.Predict(c.Client, func(_ uint32, b *schema.Body, _ push) { b.Position[0] += drift / 60.0 }, client.PredictConfig{}))
			drawn := map[bool]int{}
			c.EachFrame(60, func() error {
				if _, err := c.SetInputValue(&push{}); err != nil {
					return err
				}
				if err := c.Update(); err != nil {
					return err
				}
				b, ok := own.At(c.Render())
				if !ok {
					return nil
				}
				isFar := b.Position[0] > 0.9
				island := float32(0)
				if isFar {
					island = nearLeap
				}
				require.InDelta(t, island+0.2, b.Position[0], 0.3, "leapt in tick %d", h.since)
				drawn[isFar]++
				return nil
			})
			for tick := range 60 * 10 {
				h.step(tick%23 == 22)
			}
			require.NoError(t, c.Err())
			require.Greater(t, drawn[true], 100)
			require.Greater(t, drawn[false], 100)
		})
	}
}
