package bot_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/worldd/worldd/internal/scenes"
	"github.com/worldd/worldd/replication"
	"github.com/worldd/worldd/replication/schema"
	"github.com/worldd/worldd/server"
	"github.com/worldd/worldd/world"
)

// patience bounds a run that a test ends once it has seen enough.
const patience = 3 * time.Minute

// hosted is a server of an embedded world in this process, over real sockets.
type hosted struct {
	addr        string
	fingerprint string
	pokes       atomic.Uint64 // executed, with the right identity
	mistaken    atomic.Uint64 // pokes whose identity was not the target's
	server      *server.Server
}

// host starts a server that stops with the test, and checks for leaked goroutines.
func host(t *testing.T, name string) *hosted {
	return hostWith(t, name, func(*scenes.File) {})
}

func hostWith(t *testing.T, name string, change func(*scenes.File)) *hosted {
	file, err := scenes.Named(name)
	require.NoError(t, err)
	change(file)
	scene, err := scenes.Build(file)
	require.NoError(t, err)
	rowSchema := schema.New()
	require.NoError(t, schema.Add[schema.Body](rowSchema, schema.BodyComponent))
	require.NoError(t, schema.Add[scenes.Identity](rowSchema, scenes.IdentityName))
	h := &hosted{}
	h.server, err = server.Listen(server.Config{
		Listen: "127.0.0.1:0", World: scene.World, Schema: rowSchema, Epoch: 1, GenerationFloor: 1, MaxSessions: file.Limits.MaxPlayers,
		Replication: replication.Config{
			EnterRadius: file.Interest.EnterRadius, LeaveRadius: file.Interest.LeaveRadius,
			SnapshotHz: file.SnapshotHz, BudgetBytesPerSecond: file.BudgetBytesPerSecond,
		},
		Game: server.Game{
			Join:  func(*server.Session) (world.Entity, error) { return scene.Join() },
			Leave: func(s *server.Session) { scene.Leave(s.Entity()) },
			Input: server.OnRawInput(func(s *server.Session, _ uint64, data []byte) {
				if dir, ok := scenes.DecodeSteer(data); ok {
					scene.Steer(s.Entity(), dir)
				}
			}),
			Commands: map[string]server.Command{"poke": server.OnRawCommand(func(_ *server.Session, target world.Entity, args []byte) error {
				want := binary.BigEndian.AppendUint64([]byte{0xcf}, scene.Identities().Get(target).Number())
				if !bytes.Equal(args, want) {
					h.mistaken.Add(1)
				}
				h.pokes.Add(1)
				return scene.Poke(target)
			})},
		},
	})
	require.NoError(t, err)
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
