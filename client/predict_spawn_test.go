package client_test

import (
	"fmt"
	"math"
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

type push struct{ X, Z int8 }

// spawnModel sets the velocity of a tick along one axis.
type spawnModel func(position, velocity, push float32) float32

const spawnDT = float32(1.0 / 60)

var spawnModels = map[string]spawnModel{
	"the push is the speed": func(_, _, push float32) float32 { return 8 * push },
	"the push accelerates":  func(_, v, push float32) float32 { return min(max(v+float32(20*push*spawnDT), -12), 12) },
	"drag":                  func(_, v, push float32) float32 { return float32(v*0.95) + 1.5*push },
	"a spring":              func(x, v, push float32) float32 { return v + float32((20*push-4*x)*spawnDT) },
}

// TestSpawnNeedsNoGrid: a player who spawns between the steps of positions and velocities is corrected no
// more often than one on the grid. All corrections are due to the first inputs, which are late: the client
// learns the delay of the link by them.
func TestSpawnNeedsNoGrid(t *testing.T) {
	for name, model := range spawnModels {
		for _, delay := range []time.Duration{5, 30, 100} {
			t.Run(fmt.Sprintf("%s, %d ms", name, delay), func(t *testing.T) {
				link := rig.Link{Delay: delay * time.Millisecond}
				onGrid := pushFrom(t, model, link, world.Vec3{X: 3}, world.Vec3{})
				require.Equal(t, onGrid.Missed, onGrid.Corrected, "all by late inputs")
				require.Less(t, onGrid.Corrected, uint64(4))
				require.Greater(t, onGrid.Agreed, uint64(190))
				for i := range 4 {
					off := float32(i) / 4 / 256
					between := pushFrom(t, model, link, world.Vec3{X: 3.1 + off, Y: off, Z: -off}, world.Vec3{X: 0.011 * float32(i)})
					between.Replayed = onGrid.Replayed // moving a state across the edge of a step replays ticks
					between.Fields = onGrid.Fields     // late inputs correct by other distances
					require.InDelta(t, onGrid.Agreed, between.Agreed, 1, "a snapshot without news may be omitted at another time")
					between.Agreed = onGrid.Agreed
					require.Equal(t, onGrid, between, "%v m off the grid", off)
				}
			})
		}
	}
}

// pushFrom plays a player who spawns in a state, and pushes to all sides for 10 s.
func pushFrom(t *testing.T, model spawnModel, link rig.Link, at, velocity world.Vec3) client.PredictionStats {
	protocol := schema.NewWithBody()
	pushes := schema.DefineInput[push](protocol)
	w := must.Get(world.New(world.Config{TickHz: 60}))
	kind := must.Get(w.AddKind(world.Kind{Name: "runner", Body: &world.BodyDef{Kinematic: true}}))
	step := func(b *schema.Body, in push) {
		b.Velocity[0] = model(b.Position[0], b.Velocity[0], float32(in.X)/127)
		b.Velocity[2] = model(b.Position[2], b.Velocity[2], float32(in.Z)/127)
	}
	newest := map[*server.Session]push{}
	require.NoError(t, w.AddSystem(world.Before, "push", func(w *world.World) {
		for s, in := range newest {
			at, _ := w.Position(s.Entity())
			v, _ := w.Velocity(s.Entity())
			b := schema.Body{Position: at.Array(), Velocity: v.Array()}
			step(&b, in)
			w.SetVelocity(s.Entity(), world.Vec3{X: b.Velocity[0], Y: b.Velocity[1], Z: b.Velocity[2]})
		}
	}))
	r := must.Get(rig.New(1, rig.Config{
		Link: link,
		Server: server.Config{WorldConfig: server.WorldConfig{World: w, Schema: protocol, Replication: replication.Config{SnapshotHz: 20}, Hooks: server.Hooks{
			Join: func(s *server.Session) (world.Entity, error) {
				newest[s] = push{}
				return w.Spawn(kind, at, velocity)
			},
			Input: server.OnInput(pushes, func(s *server.Session, _ uint64, in push) { newest[s] = in }),
		}}},
	}))
	defer r.Close()
	c := must.Get(r.Join("ada"))
	own := must.Get(client.Predict(c, func(_ uint32, b *schema.Body, in push) {
		step(b, in)
		for i := range b.Position {
			b.Position[i] += float32(b.Velocity[i] * spawnDT)
		}
	}, client.PredictConfig{}))
	sides, frame := []push{{X: 127}, {-100, 60}, {-127, -127}, {Z: 127}}, 0
	c.EachFrame(60, func() error {
		frame++
		if _, err := c.SetInputValue(sides[frame/70%len(sides)]); err != nil {
			return err
		}
		return c.Update()
	})
	require.NoError(t, r.RunFor(10*time.Second))
	return own.Stats()
}

// orbiter has all bits of its state at its owner.
type orbiter struct {
	X, Z, VX, VZ float32 `net:"owner"`
}

func (o *orbiter) step(in push) {
	r := float32(math.Hypot(float64(o.X), float64(o.Z))) + 0.5
	pull := -200 / (r * r * r)
	o.VX += float32(pull*o.X*spawnDT) + float32(5*float32(in.X)/127*spawnDT)
	o.VZ += float32(pull*o.Z*spawnDT) + float32(5*float32(in.Z)/127*spawnDT)
	o.X += float32(o.VX * spawnDT)
	o.Z += float32(o.VZ * spawnDT)
}

// TestOwnFloatsAreExact: motion that amplifies the smallest difference is predicted to the bit, from any
// spawn, if its floats have no range.
func TestOwnFloatsAreExact(t *testing.T) {
	protocol := schema.New()
	orbits, pushes := schema.Define[orbiter](protocol, "orbit"), schema.DefineInput[push](protocol)
	w := must.Get(world.New(world.Config{TickHz: 60}))
	kind := must.Get(w.AddKind(world.Kind{Name: "moon"}))
	column := must.Get(server.Register(w, orbits))
	newest := map[*server.Session]push{}
	require.NoError(t, w.AddSystem(world.Before, "push", func(*world.World) {
		for s, in := range newest {
			if o := column.Mut(s.Entity()); o != nil {
				o.step(in)
			}
		}
	}))
	r := must.Get(rig.New(1, rig.Config{
		Link: rig.Link{Delay: 30 * time.Millisecond},
		Server: server.Config{WorldConfig: server.WorldConfig{World: w, Schema: protocol, Replication: replication.Config{SnapshotHz: 20}, Hooks: server.Hooks{
			Join: func(s *server.Session) (world.Entity, error) {
				newest[s] = push{}
				e, err := w.Spawn(kind, world.Vec3{}, world.Vec3{})
				column.Set(e, orbiter{X: 3.1, VZ: 0.1})
				return e, err
			},
			Input: server.OnInput(pushes, func(s *server.Session, _ uint64, in push) { newest[s] = in }),
		}}},
	}))
	defer r.Close()
	c := must.Get(r.Join("ada"))
	own := must.Get(client.Predict(c, func(_ uint32, o *orbiter, in push) { o.step(in) }, client.PredictConfig{}))
	frame := 0
	c.EachFrame(60, func() error {
		frame++
		if _, err := c.SetInputValue(push{X: int8(frame/70%3-1) * 100}); err != nil {
			return err
		}
		return c.Update()
	})
	require.NoError(t, r.RunFor(60*time.Second))
	stats := own.Stats()
	require.Equal(t, stats.Missed, stats.Corrected, "%+v", stats)
	require.Greater(t, stats.Agreed, uint64(1100))
}
