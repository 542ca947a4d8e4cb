package session

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/internal/stage"
	"github.com/worldd/worldd/replication"
	"github.com/worldd/worldd/replication/schema"
	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/world"
)

// newHeldCore returns a core that holds its output, and a client whose Hello the first tick answers.
func newHeldCore(t *testing.T) (*Core, *stage.Conn) {
	w := must.Get(world.New(world.Config{Seed: 1}))
	c := must.Get(NewCore(Config{
		WorldConfig: WorldConfig{
			World: w, Schema: schema.NewWithBody(), Replication: replication.Config{SnapshotHz: w.TickHz()},
			Hooks: Hooks{Commands: []Command{OnRawCommand("touch", func(*Session, world.Entity, []byte) error { return nil })}},
		},
		Random: stage.Random(1), HoldOutput: true,
	}))
	_, conn := c.openConn("")
	require.NoError(t, conn.Send(stage.Hello(c.config.Schema)))
	return c, conn
}

// The output of a tick, Receive's included, leaves with the release of its frame.
func TestOutputWaitsForItsFrame(t *testing.T) {
	c, conn := newHeldCore(t)
	c.Tick()
	require.Zero(t, conn.StreamBytes)
	c.Release(c.world.Tick() - 1)
	require.Zero(t, conn.StreamBytes, "the frame of the Welcome is the one that followed")
	c.Release(c.world.Tick())
	require.Len(t, conn.Welcomes, 1)
	require.Equal(t, 1, conn.Datagrams)
	require.Same(t, conn, c.Infos(0, 1)[0].Conn, "for an operator's figures")

	require.NoError(t, conn.Send(wire.Command{ID: 1, Name: "touch"}))
	c.Tick()
	answered := c.world.Tick()
	c.Tick()
	conn.Skip()
	c.Release(answered)
	kind, body, ok := conn.Next()
	require.True(t, ok)
	require.Equal(t, wire.TypeResult, kind)
	require.EqualValues(t, 1, must.Get(wire.Parse[wire.Result](body)).ID)
	_, _, ok = conn.Next()
	require.False(t, ok)
}

// A held snapshot waits like one that the transport has not sent: the next one is encoded after its release
// (S8).
func TestHeldSnapshotIsUnsent(t *testing.T) {
	c, conn := newHeldCore(t)
	for range 3 {
		c.Tick()
	}
	require.EqualValues(t, 1, c.Replication().Snapshots)
	require.EqualValues(t, 1, c.Stats().SnapshotsHeld)
	c.Release(1)
	require.Equal(t, []any{1, uint32(1)}, []any{conn.Datagrams, conn.Tick})
	c.Tick()
	require.EqualValues(t, 2, c.Replication().Snapshots)
	c.Release(3)
	require.Equal(t, 1, conn.Datagrams, "the second snapshot belongs to frame 4")
	c.Release(4)
	require.Equal(t, []any{2, uint32(4)}, []any{conn.Datagrams, conn.Tick})
}

// Output of a frame that is already released leaves at once.
func TestReleaseBeforeSend(t *testing.T) {
	c, conn := newHeldCore(t)
	c.Receive()
	c.Step()
	c.Release(1)
	require.Len(t, conn.Welcomes, 1)
	c.Send(func() bool { return false })
	require.Equal(t, 1, conn.Datagrams)
}

// Hooks that are called after the step change the next frame, to which their output belongs: Leave of a client that has
// left or does not read, and a drain between two ticks.
func TestOutputAfterTheStepWaitsForTheNextFrame(t *testing.T) {
	for name, drain := range map[string]func(c *Core, leaving *stage.Conn){
		"in Leave": func(c *Core, leaving *stage.Conn) {
			c.config.Hooks.Leave = func(*Session) { c.Drain() }
			c.Receive()
			c.Step()
			leaving.Peer.(*Peer).Left()
			c.Send(func() bool { return false })
		},
		"in Leave of a slow client": func(c *Core, leaving *stage.Conn) {
			c.config.Hooks.Leave = func(*Session) { c.Drain() }
			c.Receive()
			c.Step()
			c.Session(leaving.Welcome().Session).endSilently(&wire.Error{Code: wire.TooSlow})
			c.Send(func() bool { return false })
		},
		"between two ticks": func(c *Core, _ *stage.Conn) {
			c.Tick()
			c.Release(2)
			c.Drain()
		},
	} {
		t.Run(name, func(t *testing.T) {
			c, leaving := newHeldCore(t)
			_, stays := c.openConn("")
			require.NoError(t, stays.Send(stage.Hello(c.config.Schema)))
			c.Tick()
			c.Release(1)
			drain(c, leaving)
			c.Release(2)
			require.Equal(t, wire.OK, stays.Ended.Code, "a crash now restores the world without the effects of Leave")
			c.Tick()
			c.Release(3)
			require.Equal(t, wire.Draining, stays.Ended.Code)
		})
	}
}

// The end of a connection waits for what was sent before it.
func TestHeldGoodbye(t *testing.T) {
	c, conn := newHeldCore(t)
	c.Tick()
	c.Release(1)
	c.Kick(conn.Welcome().Session, "bye")
	c.Tick()
	require.Zero(t, c.Len())
	require.Equal(t, []any{wire.OK, 0}, []any{conn.Ended.Code, len(conn.Closed)})
	c.Release(2)
	require.Equal(t, []any{wire.Kicked, []wire.Code{wire.Kicked}}, []any{conn.Ended.Code, conn.Closed})
}

// Held stream bytes are bounded. A client that does not read what is released is found by the next
// message.
func TestHeldOutputIsBounded(t *testing.T) {
	for _, full := range []bool{false, true} {
		c, conn := newHeldCore(t)
		c.Tick()
		c.Release(1)
		id, sent := conn.Welcome().Session, 0
		conn.Full = full // only a client whose output is released can be slow
		for ; c.Session(id) != nil; sent++ {
			c.Receive()
			c.Step()
			c.Session(id).sendStream(wire.AppendFrame(nil, wire.TypePad, make([]byte, 4096)))
			c.Send(func() bool { return false })
			if full {
				c.Release(c.world.Tick())
			}
		}
		require.EqualValues(t, 1, c.Stats().Closed[wire.TooSlow])
		if full {
			require.Less(t, sent, 3)
		} else {
			require.InDelta(t, maxHeldStream/4096, sent, 8)
		}
	}
}

// After a move, the output of both rooms leaves in order, also if the second room's frame is durable first.
func TestHeldMove(t *testing.T) {
	h := newMovingRoomsWith(t, func(*RouterConfig) {}, func(c *Config) { c.HoldOutput = true })
	one, two := h.rooms["one"], h.rooms["two"]
	conn := h.dial(toRoom("one"))
	h.tick(1)
	one.Release(one.world.Tick())
	require.NoError(t, h.session(conn).Move("two"))
	h.send(conn, wire.Command{ID: 1, Name: "touch"})
	h.tick(3)
	two.Release(two.world.Tick())
	require.Len(t, conn.Welcomes, 1, "the first room's frame is not durable")
	one.Release(one.world.Tick() - 3)
	require.Len(t, conn.Welcomes, 1)
	one.Release(one.world.Tick())
	require.Len(t, conn.Welcomes, 2)
	two.Release(two.world.Tick())
	for _, c := range []*Core{one, two} {
		require.Empty(t, c.outputGate.waiting)
	}
}

// A panic ends the frame that was not durable: its output is discarded, and the clients receive Goodbye.
func TestAbandonDiscardsHeldOutput(t *testing.T) {
	c, conn := newHeldCore(t)
	c.Tick()
	c.Release(1)
	sent := conn.Datagrams
	require.NoError(t, conn.Send(wire.Command{ID: 1, Name: "touch"}))
	conn.Skip()
	c.Tick()
	c.Abandon(&wire.Error{Code: wire.Internal})
	kind, _, ok := conn.Next()
	require.True(t, ok)
	require.Equal(t, wire.TypeGoodbye, kind, "no Result")
	require.Equal(t, []any{sent, []wire.Code{wire.Internal}}, []any{conn.Datagrams, conn.Closed})
}

// A session that has moved on cannot do without the stream of a room that panics: its connection breaks.
func TestAbandonCutsMovedSession(t *testing.T) {
	h := newMovingRoomsWith(t, func(*RouterConfig) {}, func(c *Config) { c.HoldOutput = true })
	one, two := h.rooms["one"], h.rooms["two"]
	conn := h.dial(toRoom("one"))
	h.tick(1)
	require.NoError(t, one.sessions[0].Move("two"))
	h.tick(3)
	one.Abandon(&wire.Error{Code: wire.Internal})
	two.Release(two.world.Tick())
	require.Equal(t, []wire.Code{wire.Timeout}, conn.Closed)
	require.Zero(t, conn.StreamBytes)
}

// Release for all later frames ends the holding.
func TestReleaseOfEverything(t *testing.T) {
	c, conn := newHeldCore(t)
	c.Tick()
	c.Release(math.MaxUint64)
	c.Shutdown()
	require.Equal(t, wire.Draining, conn.Ended.Code)

	c, conn = newHeldCore(t)
	c.Tick()
	c.Shutdown()
	c.Close()
	require.Zero(t, conn.StreamBytes)
	require.Equal(t, []wire.Code{wire.Draining}, conn.Closed)
}
