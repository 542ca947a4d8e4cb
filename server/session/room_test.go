package session

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/internal/racetest"
	"github.com/worldd/worldd/internal/stage"
	"github.com/worldd/worldd/replication/schema"
	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/world"
)

// newRoom returns a core for eight sessions, and a function that joins one.
func newRoom(t *testing.T, game Hooks) (c *Core, join func() *Peer) {
	c, attempt := newRoomOf(t, 8, game)
	return c, func() *Peer {
		p := attempt("")
		c.Tick()
		return p
	}
}

// newRoomOf returns a core with the given number of slots, and a function that opens a
// connection from an address. The connection's client joins at the next tick.
func newRoomOf(t *testing.T, slots int, game Hooks) (c *Core, attempt func(address string) *Peer) {
	c = must.Get(NewCore(Config{
		WorldConfig: WorldConfig{World: must.Get(world.New(world.Config{Seed: 1})), Schema: schema.NewWithBody(), MaxSessions: slots, Hooks: game},
		Random:      stage.Random(1),
	}))
	return c, func(address string) *Peer {
		p, conn := c.openConn(address)
		require.NoError(t, conn.Send(stage.Hello(c.config.Schema)))
		require.NoError(t, conn.SendInput(wire.Ack{}))
		return p
	}
}

// openConn opens a connection from an address. The test plays the client.
func (c *Core) openConn(address string) (*Peer, *stage.Conn) {
	conn := &stage.Conn{}
	p := c.Open(context.Background(), address, conn)
	conn.Peer = p
	return p, conn
}

// If the limit was lowered below the number of sessions, away sessions end for a newcomer
// only if that suffices.
func TestRoomUnderLowerLimit(t *testing.T) {
	c, join := newRoom(t, Hooks{})
	var peers []*Peer
	for range 5 {
		peers = append(peers, join())
	}
	peers[0].Gone()
	peers[1].Gone()
	c.Tick()
	require.Equal(t, []int{3, 2}, []int{c.Active(), c.Away()})
	require.NoError(t, c.SetLimits(2, 0))
	join()
	require.Equal(t, []int{3, 2}, []int{c.Active(), c.Away()}, "the new client is refused, and no session ends for it")
	require.NoError(t, c.SetLimits(4, 0))
	join()
	require.Equal(t, []int{4, 0}, []int{c.Active(), c.Away()})
}

// Leave may drain the server while several sessions end to make room for one.
func TestDrainWhileRoomIsMade(t *testing.T) {
	var c *Core
	c, join := newRoom(t, Hooks{Leave: func(*Session) { c.Drain() }})
	for _, p := range []*Peer{join(), join()} {
		p.Gone()
	}
	c.Tick()
	require.Equal(t, 2, c.Away())
	require.NoError(t, c.SetLimits(1, 0))
	join()
	require.Zero(t, c.Len())
	require.EqualValues(t, 2, c.Stats().Joined)
}

// An address that joins and leaves as fast as it can takes no slot from disconnected
// clients of other addresses. These clients resume, whether they share an address or not.
func TestGhostsOfOneAddressTakeNoPlaces(t *testing.T) {
	const honest, slots = 40, 256
	for name, home := range map[string]func(i int) string{
		"an address each":        func(i int) string { return fmt.Sprint("home ", i) },
		"a shared address":       func(int) string { return "school" },
		"the attacker's address": func(int) string { return "attacker" },
	} {
		t.Run(name, func(t *testing.T) {
			racetest.SkipSequential(t)
			c, attempt := newRoomOf(t, slots, Hooks{})
			var sessions []*Session
			for i := range honest {
				p := attempt(home(i))
				c.Tick()
				sessions = append(sessions, p.session)
			}
			for _, s := range sessions {
				s.peer.Gone()
			}
			c.Tick()
			require.Equal(t, []int{0, honest}, []int{c.Active(), c.Away()})
			var newcomers []*Peer
			for range 13 * c.world.TickHz() { // of 15 s of grace
				for _, p := range newcomers {
					require.NotNil(t, p.session)
					p.Gone()
				}
				newcomers = newcomers[:0]
				for range 4 { // 240 a second
					newcomers = append(newcomers, attempt("attacker"))
				}
				c.Tick()
			}
			resumed := 0
			for i, s := range sessions {
				p, conn := c.openConn(home(i))
				hello := stage.Hello(c.config.Schema)
				hello.Session, hello.Secret = s.id, s.secrets.newest
				require.NoError(t, conn.Send(hello))
				c.Tick()
				if p.session == s {
					resumed++
				}
			}
			t.Logf("%d of %d resumed", resumed, honest)
			if name == "the attacker's address" {
				require.Zero(t, resumed, "the server cannot tell them apart, and ends the one away longest")
				return
			}
			require.Equal(t, honest, resumed)
		})
	}
}

// Away sessions from the new client's address end first, then sessions from the address with
// the most away sessions, longest away first.
func TestRoomOrder(t *testing.T) {
	c, attempt := newRoomOf(t, 6, Hooks{})
	join := func(address string) *Peer {
		p := attempt(address)
		c.Tick()
		return p
	}
	var sessions []*Session
	for _, address := range []string{"a", "b", "b", "b", "c", "c"} {
		p := join(address)
		sessions = append(sessions, p.session)
	}
	for _, i := range []int{4, 0, 2, 1, 3, 5} { // the order of leaving
		sessions[i].peer.Gone()
		c.Tick()
	}
	for _, next := range []struct {
		address string
		ends    int
	}{
		{"c", 4}, // an away session of its own address
		{"d", 2}, // a session of b, which has three away
		{"e", 1}, // b, which still has two
		{"f", 0}, // a, b and c have one each
		{"c", 5}, // its own, though b's has been away longer
		{"c", 3}, // none of its own is left
	} {
		require.NotNil(t, join(next.address).session)
		for i, s := range sessions {
			if s != nil && s.isOver() {
				require.Equal(t, next.ends, i, "%v", next)
				sessions[i] = nil
			}
		}
		require.Nil(t, sessions[next.ends])
	}
}
