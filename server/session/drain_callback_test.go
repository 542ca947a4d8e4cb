package session_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/server/session"
	"github.com/worldd/worldd/world"
)

// newDrainingServer returns a test server whose game drains the server in Leave.
func newDrainingServer(t *testing.T, joins *int) *testServer {
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
		d := newDrainingServer(t, &joins)
		clients := []*testClient{d.join(), d.join()}
		d.ticks(30)
		d.busy = true
		d.spawn(1)
		d.ticks(4)
		clients[deaf].Full = true
		d.core.Tick()
		require.Equal(t, []wire.Code{wire.TooSlow}, clients[deaf].Closed)
		require.Equal(t, []wire.Code{wire.Draining}, clients[1-deaf].Closed)
		last := byte(0)
		for kind, _, more := clients[1-deaf].Next(); more; kind, _, more = clients[1-deaf].Next() {
			last = kind
		}
		require.Equal(t, wire.TypeGoodbye, last)
	}
}

// If making room drains the server, the new client is refused once and Join is not called.
func TestDrainInLeaveThatMakesRoom(t *testing.T) {
	joins := 0
	d := newDrainingServer(t, &joins)
	a, _ := d.enter()
	b, _ := d.enter()
	a.peer.Gone()
	b.lose()
	require.Equal(t, 2, d.core.Away())
	c := d.dial()
	c.wantRefused("is refused", wire.Draining)
	c.wantNothing()
	require.Equal(t, []int{2, 2}, []int{joins, d.left})
	require.EqualValues(t, 1, d.core.Stats().Refused)
}

// The new client is also refused once if its own earlier session cannot resume.
func TestDrainInLeaveOfEarlierSession(t *testing.T) {
	joins := 0
	d := newDrainingServer(t, &joins)
	a, w := d.enter()
	a.lose()
	c := d.connect()
	h := d.hello()
	h.Session, h.Secret, h.Structure = w.Session, w.Secret, 1<<20
	c.send(h)
	c.want("is refused", wire.TypeRefused)
	c.wantNothing()
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
	c := d.dial()
	c.want("is refused", wire.TypeRefused)
	c.wantNothing()
	require.EqualValues(t, 1, d.core.Stats().Refused)
}
