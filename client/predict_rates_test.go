package client_test

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/client"
	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/internal/shorttest"
	"github.com/worldd/worldd/loadtest/rig"
	"github.com/worldd/worldd/replication"
	"github.com/worldd/worldd/replication/schema"
	"github.com/worldd/worldd/server"
	"github.com/worldd/worldd/world"
)

type tiller struct {
	X float32 `net:"range=-1..1,step=1/127"`
}

// At every tick rate and on every link up to two seconds, a player who holds the stick moves in
// every picture, and no input waits for the server.
func TestPredictionAtAnyRate(t *testing.T) {
	for _, hz := range shorttest.Pick([]int{60, 128, 240, 500, 1000}, []int{60, 500, 1000}) {
		for _, trip := range shorttest.Pick([]int{60, 300, 900, 1500, 1900}, []int{300, 1900}) {
			t.Run(fmt.Sprintf("%d ticks a second, round trip %d ms", hz, trip), func(t *testing.T) {
				link := rig.Link{Delay: time.Duration(trip) * time.Millisecond / 2, Jitter: 5 * time.Millisecond}
				stats := steerOver(t, hz, link)
				require.Zero(t, stats.Stalled)
				require.Greater(t, stats.Agreed, 2*stats.Corrected)
			})
		}
	}
}

// steerOver plays 25 s, of which the first 10 settle, in which a player holds the stick to either
// side for two seconds.
func steerOver(t *testing.T, hz int, link rig.Link) client.PredictionStats {
	const speed, frames = 8, 60 // m/s, a second
	protocol := schema.NewWithBody()
	tillers := schema.DefineInput[tiller](protocol)
	w := must.Get(world.New(world.Config{TickHz: hz}))
	kind := must.Get(w.AddKind(world.Kind{Name: "runner", Body: &world.BodyDef{Kinematic: true}}))
	newest := map[*server.Session]tiller{}
	require.NoError(t, w.AddSystem(world.Before, "steer", func(w *world.World) {
		for s, in := range newest {
			w.SetVelocity(s.Entity(), world.Vec3{X: speed * in.X})
		}
	}))
	r := must.Get(rig.New(1, rig.Config{
		Link: link,
		Server: server.Config{WorldConfig: server.WorldConfig{World: w, Schema: protocol, Replication: replication.Config{SnapshotHz: 20}, Hooks: server.Hooks{
			Join: func(s *server.Session) (world.Entity, error) {
				newest[s] = tiller{}
				return w.Spawn(kind, world.Vec3{}, world.Vec3{})
			},
			Input: server.OnInput(tillers, func(s *server.Session, _ uint64, in tiller) { newest[s] = in }),
		}}},
	}))
	defer r.Close()
	c := must.Get(r.Join("ada"))
	own := must.Get(client.Predict(c, func(_ uint32, b *schema.Body, in tiller) {
		b.Velocity[0] = speed * in.X
		b.Position[0] += float32(b.Velocity[0] * float32(1/float64(hz)))
	}, client.PredictConfig{}))
	last, frame, drawn := 0.0, 0, 0
	c.EachFrame(frames, func() error {
		frame++
		x, turned := float32(1), frame%(2*frames) < 2
		if frame/(2*frames)%2 == 1 {
			x = -1
		}
		if _, err := c.SetInputValue(tiller{X: x}); err != nil {
			return err
		}
		if err := c.Update(); err != nil || r.Now() < 10*time.Second {
			return err
		}
		b := must.Have(own.At(c.Render()))
		at := float64(b.Position[0])
		if drawn > 0 && !turned {
			require.Greater(t, math.Abs(at-last), 0.1*speed/frames, "frame %d stands still", frame)
		}
		last = at
		drawn++
		return nil
	})
	require.NoError(t, r.RunFor(25*time.Second))
	require.Greater(t, drawn, 14*frames)
	return own.Stats()
}
