package session_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/server/session"
	"github.com/worldd/worldd/world"
)

// closing is a desk whose game stops the server when somebody leaves.
func closing(t *testing.T, joins *int) *desk {
	var d *desk
	d = newDeskWith(t, func(c *session.CoreConfig) {
		join, leave := c.Game.Join, c.Game.Leave
		c.Game.Join = func(s *session.Session) (world.Entity, error) { *joins++; return join(s) }
		c.Game.Leave = func(s *session.Session) {
			leave(s)
			d.core.Drain()
		}
	})
	return d
}

// Whose snapshot was made when a game stops the server, as another client does not
// read, has its goodbye for the last word.
func TestDrainInLeaveAmongSnapshots(t *testing.T) {
	for deaf := range 2 {
		joins := 0
		d := closing(t, &joins)
		seats := []*seat{d.join(), d.join()}
		d.ticks(30)
		d.busy = true
		d.spawn(1)
		d.ticks(4)
		seats[deaf].full = true
		d.core.Tick()
		require.Equal(t, []wire.Code{wire.TooSlow}, seats[deaf].closed)
		require.Equal(t, []wire.Code{wire.Draining}, seats[1-deaf].closed)
		last := byte(0)
		for more := true; more; {
			var kind byte
			var err error
			kind, _, more, err = seats[1-deaf].frames.Next()
			require.NoError(t, err)
			if more {
				last = kind
			}
		}
		require.Equal(t, wire.TypeGoodbye, last)
	}
}

// Who was to have the place of one that was away is refused once, and the game never
// hears of him.
func TestDrainInLeaveOfWhoMakesRoom(t *testing.T) {
	joins := 0
	d := closing(t, &joins)
	a, _ := d.enter()
	b, _ := d.enter()
	a.peer.Gone()
	b.peer.Gone()
	d.ticks(1)
	require.Equal(t, 2, d.core.Away())
	c := d.sit()
	c.say(d.hello())
	m, err := wire.ParseRefused(c.want("is refused", wire.TypeRefused))
	require.NoError(t, err)
	require.Equal(t, wire.Draining, m.Code)
	_, _, more, err := c.frames.Next()
	require.NoError(t, err)
	require.False(t, more, "and told nothing more")
	require.Equal(t, []int{2, 2}, []int{joins, d.left})
	require.EqualValues(t, 1, d.core.Stats().Refused)
}

// The same for one whose own session of before cannot go on.
func TestDrainInLeaveOfWhoComesAgain(t *testing.T) {
	joins := 0
	d := closing(t, &joins)
	a, w := d.enter()
	a.peer.Gone()
	d.ticks(1)
	c := d.sit()
	h := d.hello()
	h.Session, h.Secret, h.Structure = w.Session, w.Secret, 1<<20
	c.say(h)
	c.want("is refused", wire.TypeRefused)
	_, _, more, err := c.frames.Next()
	require.NoError(t, err)
	require.False(t, more, "and told nothing more")
	require.Equal(t, []int{1, 1}, []int{joins, d.left})
	require.EqualValues(t, 1, d.core.Stats().Refused)
}

// A game that stops the server and refuses who joins has him refused once.
func TestDrainInRefusal(t *testing.T) {
	var d *desk
	d = newDeskWith(t, func(c *session.CoreConfig) {
		c.Game.Join = func(*session.Session) (world.Entity, error) {
			d.core.Drain()
			return 0, &wire.Error{Code: wire.Unauthorized}
		}
	})
	c := d.sit()
	c.say(d.hello())
	c.want("is refused", wire.TypeRefused)
	_, _, more, err := c.frames.Next()
	require.NoError(t, err)
	require.False(t, more, "and told nothing more")
	require.EqualValues(t, 1, d.core.Stats().Refused)
}
