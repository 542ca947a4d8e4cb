package stage_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/client"
	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/internal/simtest"
	"github.com/worldd/worldd/internal/stage"
	"github.com/worldd/worldd/replication/schema"
	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/server/session"
	"github.com/worldd/worldd/world"
)

// newCore returns a core in which each client controls a crate.
func newCore(w stage.Crates) *session.Core {
	return must.Get(session.NewCore(session.Config{
		Random: stage.Random(1),
		WorldConfig: session.WorldConfig{
			World: w.World, Schema: schema.NewWithBody(),
			Hooks: session.Hooks{Join: func(s *session.Session) (world.Entity, error) { return w.Put(float32(s.ID()), 0), nil }},
		},
	}))
}

// A core with one connection whose client the test plays.
func ExampleConn() {
	core := newCore(stage.NewCrates(world.Config{Seed: 1}))
	conn := &stage.Conn{}
	conn.Peer = core.Open(context.Background(), "", conn)
	_ = conn.Send(stage.Hello(core.Config().Schema))
	core.Tick()
	fmt.Println("resumed:", conn.Welcome().Resumed)

	conn.Full = true // the client does not read any more
	_ = conn.Send(wire.Command{ID: 1, Name: "dance"})
	core.Tick()
	fmt.Println("closed:", conn.Closed)
	// Output:
	// resumed: 0
	// closed: [too-slow]
}

func TestConnKeepsWhatItReceives(t *testing.T) {
	w := stage.NewCrates(world.Config{Seed: 1})
	core := newCore(w)
	kinds, snapshots := []byte{}, 0
	conn := &stage.Conn{
		OnMessage:  func(kind byte, _ []byte) { kinds = append(kinds, kind) },
		OnSnapshot: func([][]byte) { snapshots++ },
	}
	conn.Peer = core.Open(context.Background(), "", conn)
	require.NoError(t, conn.Send(stage.Hello(core.Config().Schema)))
	for range 12 {
		require.NoError(t, conn.SendInput(conn.Ack()))
		core.Tick()
	}
	require.EqualValues(t, 1, conn.Records)
	require.Positive(t, snapshots)
	require.EqualValues(t, snapshots, conn.Newest)
	require.Equal(t, []byte{wire.TypeWelcome, wire.TypeControl, wire.TypeStructure}, kinds)
	for _, want := range kinds {
		kind, _, ok := conn.Next()
		require.True(t, ok)
		require.Equal(t, want, kind)
	}
	_, _, ok := conn.Next()
	require.False(t, ok)
	conn.Unsent = true
	sent := conn.Datagrams
	core.SendAll()
	require.Equal(t, sent, conn.Datagrams)
	core.Drain()
	require.Equal(t, wire.Draining, conn.Snapshot().Ended.Code)
	require.Equal(t, []wire.Code{wire.Draining}, conn.Closed)
}

// Both ends of a linked connection agree over a bad link.
func TestLinkedClientSeesTheWorld(t *testing.T) {
	w := stage.NewCrates(world.Config{Seed: 1})
	core := newCore(w)
	near := w.Put(3, 3)
	c := &stage.Linked{
		Connection: simtest.NewConnection(1, simtest.Conditions{DelayMin: 20, DelayMax: 60, Loss: 0.2}), Unit: time.Millisecond,
		Client: must.Get(client.NewSession(client.SessionConfig{Schema: schema.NewWithBody()})),
	}
	c.Peer = core.Open(context.Background(), "", c)
	for range 120 {
		c.Now += 16
		require.NoError(t, c.Serve())
		core.Tick()
		require.NoError(t, c.Play())
	}
	require.Equal(t, wire.Live, c.Client.Resolve(near))
	require.NotZero(t, c.Client.Controlled())
	require.Panics(t, core.Drain, "no test expects it")
	c.OnClose = func(code wire.Code, _ string) { require.Equal(t, wire.Draining, code) }
	core.Shutdown()
}
