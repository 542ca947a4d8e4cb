package botrun_test

import (
	"context"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/internal/scenes"
	"github.com/worldd/worldd/internal/scenes/messages"
	"github.com/worldd/worldd/internal/scenes/rules"
	"github.com/worldd/worldd/replication"
	"github.com/worldd/worldd/server"
	"github.com/worldd/worldd/world"
)

// patience bounds a run. The test ends the run earlier, when it has seen enough.
const patience = 3 * time.Minute

// hosted is a server of an embedded world in this process, over real sockets.
type hosted struct {
	addr        string
	fingerprint string
	pokes       atomic.Uint64 // executed pokes with the right identity
	mistaken    atomic.Uint64 // pokes whose identity was not the target's
	server      *server.Server
}

// host starts a server that stops with the test, and checks for leaked goroutines.
func host(t *testing.T, name string) *hosted {
	return hostWith(t, name, func(*scenes.File) {})
}

func hostWith(t *testing.T, name string, change func(*scenes.File)) *hosted {
	file := must.Get(scenes.Named(name))
	change(file)
	scene := must.Get(scenes.Build(file))
	h := &hosted{}
	game := rules.New(scene)
	game.Mistaken = func(*server.Session, world.Entity, uint64, uint64) { h.mistaken.Add(1) }
	hooks := game.Hooks()
	poke := slices.IndexFunc(hooks.Commands, func(c server.Command) bool { return c.Name() == messages.PokeCommand })
	hooks.Commands[poke] = server.OnRawCommand(messages.PokeCommand, func(s *server.Session, target world.Entity, args []byte) error {
		if len(args) == 0 {
			h.mistaken.Add(1) // a bot knows the identity of each entity in view
		}
		h.pokes.Add(1)
		return game.Poke(s, target, args)
	})
	h.server = must.Get(server.Listen(server.Config{
		Listen: "127.0.0.1:0",
		WorldConfig: server.WorldConfig{
			World: scene.World, Schema: messages.Schema, Epoch: 1, MaxSessions: file.Limits.MaxPlayers,
			Replication: replication.Config{
				EnterRadius: file.Interest.EnterRadius, LeaveRadius: file.Interest.LeaveRadius,
				SnapshotHz: file.SnapshotHz, BudgetBytesPerSecond: file.BudgetBytesPerSecond,
			},
			Hooks: hooks, MaxViewAge: time.Duration(float64(file.Limits.ViewAgeS) * float64(time.Second)),
		},
	}))
	game.Attach(h.server.Room())
	h.addr, h.fingerprint = h.server.Addr().String(), h.server.Fingerprint()
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- h.server.Serve(ctx) }()
	t.Cleanup(func() {
		cancel()
		require.NoError(t, <-served)
		for end := time.Now().Add(patience); goleak.Find() != nil && time.Now().Before(end); {
			// what ends takes its time
		}
		goleak.VerifyNone(t)
	})
	return h
}
