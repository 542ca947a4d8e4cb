package server

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/replication"
	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/world"
)

// mute is a connection whose client hears nothing.
type mute struct{}

func (mute) SendStream([]byte) bool  { return true }
func (mute) SendSnapshot([][]byte)   {}
func (mute) Close(wire.Code, string) {}

// newRoom is a core of eight places, and how somebody comes to it.
func newRoom(t *testing.T, game Game) (c *Core, come func() *Peer) {
	w, err := world.New(world.Config{Seed: 1})
	require.NoError(t, err)
	schema := wire.NewSchema()
	require.NoError(t, wire.AddComponent[wire.Body](schema, replication.BodyComponent))
	c, err = NewCore(CoreConfig{World: w, Schema: schema, MaxSessions: 8, Game: game})
	require.NoError(t, err)
	hello := wire.AppendMessage(nil, wire.Hello{Protocol: wire.Version, Schema: schema.Hash(), Tables: wire.DefaultTables().Version()})
	return c, func() *Peer {
		p := c.Open(context.Background(), mute{})
		require.NoError(t, p.ReceiveStream(hello))
		in := wire.Input{Stamp: 1}
		_, err := p.ReceiveDatagram(in.Append(nil))
		require.NoError(t, err)
		c.Tick()
		return p
	}
}

// Where a limit was lowered below those that are there, those that are away make
// room only if that gets the sessions down to it.
func TestRoomUnderLowerLimit(t *testing.T) {
	c, come := newRoom(t, Game{})
	var peers []*Peer
	for range 5 {
		peers = append(peers, come())
	}
	peers[0].Gone()
	peers[1].Gone()
	c.Tick()
	require.Equal(t, []int{3, 2}, []int{c.Active(), c.Away()})
	c.setLimits(2, c.budget)
	come()
	require.Equal(t, []int{3, 2}, []int{c.Active(), c.Away()}, "who comes is refused, and nobody goes for that")
	c.setLimits(4, c.budget)
	come()
	require.Equal(t, []int{4, 0}, []int{c.Active(), c.Away()})
}

// A game may stop the server when somebody leaves, also where several have to make
// room for one that comes.
func TestDrainWhileRoomIsMade(t *testing.T) {
	var c *Core
	c, come := newRoom(t, Game{Leave: func(*Session) { c.Drain() }})
	for _, p := range []*Peer{come(), come()} {
		p.Gone()
	}
	c.Tick()
	require.Equal(t, 2, c.Away())
	c.setLimits(1, c.budget)
	come()
	require.Zero(t, c.Sessions())
	require.EqualValues(t, 2, c.Stats().Joined)
}
