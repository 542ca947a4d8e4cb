package session_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/server/session"
	"github.com/worldd/worldd/world"
)

// closing returns a test server whose game drains the server in Leave.
func closing(t *testing.T, joins *int) *testServer {
	var d *testServer
	d = newTestServerWith(t, func(c *session.Config) {
		join, leave := c.Hooks.Join, c.Hooks.Leave
		c.Hooks.Join = func(s *session.Session) (world.Entity, error) { *joins++; return join(s) }
		c.Hooks.Leave = func(s *session.Session) {
			leave(s)
			d.core.Drain()
		}
	})
	return d
}

// If Leave drains the server while snapshots are sent, because another client does not
// read, Goodbye is the last message of a session whose snapshot was already encoded.
func TestDrainInLeaveAmongSnapshots(t *testing.T) {
	for deaf := range 2 {
		joins := 0
		d := closing(t, &joins)
		clients := []*testClient{d.join(), d.join()}
		d.ticks(30)
		d.busy = true
		d.spawn(1)
		d.ticks(4)
		clients[deaf].full = true
		d.core.Tick()
		require.Equal(t, []wire.Code{wire.TooSlow}, clients[deaf].closed)
		require.Equal(t, []wire.Code{wire.Draining}, clients[1-deaf].closed)
		last := byte(0)
		for more := true; more; {
			var kind byte
			var err error
			kind, _, more, err = clients[1-deaf].frames.Next()
			require.NoError(t, err)
			if more {
				last = kind
			}
		}
		require.Equal(t, wire.TypeGoodbye, last)
	}
}

// If making room drains the server, the new client is refused once and Join is not called.
func TestDrainInLeaveThatMakesRoom(t *testing.T) {
	joins := 0
	d := closing(t, &joins)
	a, _ := d.enter()
	b, _ := d.enter()
	a.peer.Gone()
	b.peer.Gone()
	d.ticks(1)
	require.Equal(t, 2, d.core.Away())
	c := d.connect()
	c.send(d.hello())
	m, err := wire.Parse[wire.Refused](c.want("is refused", wire.TypeRefused))
	require.NoError(t, err)
	require.Equal(t, wire.Draining, m.Code)
	_, _, more, err := c.frames.Next()
	require.NoError(t, err)
	require.False(t, more, "no further message")
	require.Equal(t, []int{2, 2}, []int{joins, d.left})
	require.EqualValues(t, 1, d.core.Stats().Refused)
}

// The same if the client's own earlier session cannot resume.
func TestDrainInLeaveOfEarlierSession(t *testing.T) {
	joins := 0
	d := closing(t, &joins)
	a, w := d.enter()
	a.peer.Gone()
	d.ticks(1)
	c := d.connect()
	h := d.hello()
	h.Session, h.Secret, h.Structure = w.Session, w.Secret, 1<<20
	c.send(h)
	c.want("is refused", wire.TypeRefused)
	_, _, more, err := c.frames.Next()
	require.NoError(t, err)
	require.False(t, more, "no further message")
	require.Equal(t, []int{1, 1}, []int{joins, d.left})
	require.EqualValues(t, 1, d.core.Stats().Refused)
}

// A game that drains the server and refuses the client in Join refuses it once.
func TestDrainInRefusal(t *testing.T) {
	var d *testServer
	d = newTestServerWith(t, func(c *session.Config) {
		c.Hooks.Join = func(*session.Session) (world.Entity, error) {
			d.core.Drain()
			return 0, &wire.Error{Code: wire.Unauthorized}
		}
	})
	c := d.connect()
	c.send(d.hello())
	c.want("is refused", wire.TypeRefused)
	_, _, more, err := c.frames.Next()
	require.NoError(t, err)
	require.False(t, more, "no further message")
	require.EqualValues(t, 1, d.core.Stats().Refused)
}
