package session

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/rowcodec"
	"github.com/worldd/worldd/replication/schema"
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
	c, knock := newRoomOf(t, 8, game)
	return c, func() *Peer {
		p := knock("")
		c.Tick()
		return p
	}
}

// newRoomOf is a core of some places, and a function that opens a connection from an
// address which joins with the next tick.
func newRoomOf(t *testing.T, places int, game Game) (c *Core, knock func(address string) *Peer) {
	w, err := world.New(world.Config{Seed: 1})
	require.NoError(t, err)
	s := schema.New()
	require.NoError(t, schema.Add[schema.Body](s, schema.BodyComponent))
	c, err = NewCore(CoreConfig{World: w, Schema: s, MaxSessions: places, Game: game, Random: rand.NewChaCha8([32]byte{1})})
	require.NoError(t, err)
	hello := wire.AppendMessage(nil, wire.Hello{Protocol: wire.Version, Schema: s.Hash(), Tables: rowcodec.DefaultTables().Version()})
	return c, func(address string) *Peer {
		p := c.Open(context.Background(), address, mute{})
		require.NoError(t, p.ReceiveStream(hello))
		in := wire.Input{Stamp: 1}
		_, err := p.ReceiveDatagram(in.Append(nil))
		require.NoError(t, err)
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
	require.NoError(t, c.SetLimits(2, 0))
	come()
	require.Equal(t, []int{3, 2}, []int{c.Active(), c.Away()}, "who comes is refused, and nobody goes for that")
	require.NoError(t, c.SetLimits(4, 0))
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
	require.NoError(t, c.SetLimits(1, 0))
	come()
	require.Zero(t, c.Sessions())
	require.EqualValues(t, 2, c.Stats().Joined)
}

// One address that joins and leaves as fast as it can takes no place from clients
// of other addresses that are cut off: those resume, whether they share one address
// or have one each.
func TestGhostsOfOneAddressTakeNoPlaces(t *testing.T) {
	const honest, places = 40, 256
	for name, home := range map[string]func(i int) string{
		"an address each":    func(i int) string { return fmt.Sprint("home ", i) },
		"one school's":       func(int) string { return "school" },
		"the attacker's own": func(int) string { return "attacker" },
	} {
		t.Run(name, func(t *testing.T) {
			c, knock := newRoomOf(t, places, Game{})
			var sessions []*Session
			for i := range honest {
				p := knock(home(i))
				c.Tick()
				sessions = append(sessions, p.session)
			}
			for _, s := range sessions {
				s.peer.Gone()
			}
			c.Tick()
			require.Equal(t, []int{0, honest}, []int{c.Active(), c.Away()})
			var guests []*Peer
			for range 13 * c.world.TickHz() { // of 15 s of grace
				for _, p := range guests {
					require.NotNil(t, p.session)
					p.Gone()
				}
				guests = guests[:0]
				for range 4 { // 240 a second
					guests = append(guests, knock("attacker"))
				}
				c.Tick()
			}
			resumed := 0
			for i, s := range sessions {
				p := c.Open(context.Background(), home(i), mute{})
				hello := wire.Hello{
					Protocol: wire.Version, Schema: c.config.Schema.Hash(), Tables: rowcodec.DefaultTables().Version(),
					Session: s.id, Secret: s.secret,
				}
				require.NoError(t, p.ReceiveStream(wire.AppendMessage(nil, hello)))
				c.Tick()
				if p.session == s {
					resumed++
				}
			}
			t.Logf("%d of %d resumed; %d places held by the attacker", resumed, honest, c.count(func(s *Session) bool { return s.address == "attacker" }))
			if name == "the attacker's own" {
				require.Zero(t, resumed, "nobody can tell them apart: the one away longest goes first")
				return
			}
			require.Equal(t, honest, resumed)
		})
	}
}

// Room for a newcomer is made by its own address first, then by the address with the
// most sessions away, and there by the session that has been away longest.
func TestWhoMakesRoom(t *testing.T) {
	c, knock := newRoomOf(t, 6, Game{})
	come := func(address string) *Peer {
		p := knock(address)
		c.Tick()
		return p
	}
	var sessions []*Session
	for _, address := range []string{"a", "b", "b", "b", "c", "c"} {
		p := come(address)
		sessions = append(sessions, p.session)
	}
	for _, i := range []int{4, 0, 2, 1, 3, 5} { // in this order they leave
		sessions[i].peer.Gone()
		c.Tick()
	}
	for _, next := range []struct {
		address string
		ends    int
	}{
		{"c", 4}, // its own
		{"d", 2}, // of b, which has three away
		{"e", 1}, // b again: two
		{"f", 0}, // a, b and c have one each
		{"c", 5}, // its own, though b's has been away longer
		{"c", 3}, // none of its own is left
	} {
		require.NotNil(t, come(next.address).session)
		for i, s := range sessions {
			if s != nil && s.ended {
				require.Equal(t, next.ends, i, "%v", next)
				sessions[i] = nil
			}
		}
		require.Nil(t, sessions[next.ends])
	}
}
