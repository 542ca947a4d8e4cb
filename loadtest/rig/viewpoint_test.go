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

// A spectator sees what a distant player sees, but not what only that player may know. Its
// inputs move nothing.
func TestSpectatorOnlyWatches(t *testing.T) {
	type magazine struct {
		Shown uint16 `net:"bits=10"`
		Ammo  uint16 `net:"bits=10,owner"`
	}
	s, w := schema.NewWithBody(), must.Get(world.New(world.Config{Seed: 1, Gravity: -1}))
	defined, walking := schema.Define[magazine](s, "magazine"), schema.DefineInput[walk](s)
	magazines := must.Get(server.Register(w, defined))
	kind := must.Get(w.AddKind(world.Kind{Name: "player", Body: &world.BodyDef{Kinematic: true}}))
	player := must.Get(w.Spawn(kind, world.Vec3{X: 300, Y: 1}, world.Vec3{}))
	neighbour := must.Get(w.Spawn(kind, world.Vec3{X: 305, Y: 1}, world.Vec3{}))
	magazines.Set(player, magazine{Shown: 7, Ammo: 12})
	inputs := 0
	r := must.Get(rig.New(1, rig.Config{Server: server.Config{
		WorldConfig: server.WorldConfig{
			World: w, Schema: s, Replication: replication.Config{EnterRadius: 20, SnapshotHz: 20},
			Hooks: server.Hooks{
				Join: func(s *server.Session) (world.Entity, error) {
					if s.Name() == "player" {
						return player, nil
					}
					s.SetViewpoint(player)
					return 0, nil
				},
				Input: server.OnInput(walking, func(s *server.Session, _ uint64, in walk) {
					inputs++
					w.SetVelocity(s.Entity(), world.Vec3{X: in.Speed})
				}),
			},
		},
	}}))
	t.Cleanup(r.Close)
	dial := func(name string) *rig.Client { return must.Get(r.Dial(client.Config{Name: name, Schema: s})) }
	spectator, plays := dial("spectator"), dial("player")
	magazineOf := client.Of(defined)
	spectator.EachFrame(60, func() error {
		if _, err := spectator.SetInputValue(walk{8}); err != nil {
			return err
		}
		return spectator.Update()
	})
	require.NoError(t, r.RunFor(2*time.Second))
	require.Positive(t, inputs)
	at, _ := w.Position(player)
	require.Equal(t, world.Vec3{X: 300, Y: 1}, at)
	require.Zero(t, spectator.Controlled())

	seen := spectator.Replica().Entity(player)
	require.NotNil(t, seen)
	require.NotNil(t, spectator.Replica().Entity(neighbour))
	require.False(t, seen.Owned())
	got, _ := magazineOf.Get(seen)
	require.Equal(t, magazine{Shown: 7}, got)
	got, _ = magazineOf.Get(plays.Replica().Entity(player))
	require.Equal(t, magazine{Shown: 7, Ammo: 12}, got)
}
