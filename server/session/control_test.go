package session_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/server/session"
	"github.com/worldd/worldd/world"
)

// wantControl requires that the client receives h as its controlled entity.
func (c *testClient) wantControl(why string, h bulk.Handle) {
	c.d.t.Helper()
	m, err := wire.ParseControl(c.want(why, wire.TypeControl))
	require.NoError(c.d.t, err)
	require.Equal(c.d.t, h, m.Entity, why)
}

// A session that controls another entity, after a respawn for example, views the world
// from there.
func TestControlChanges(t *testing.T) {
	d := newTestServer(t)
	c := d.join()
	s := c.peer.Session()
	first := s.Entity()
	d.ticks(6)
	second, neighbour := d.spawn(100), d.spawn(105)
	d.ticks(6)
	require.Equal(t, wire.Pending, s.Resolve(neighbour))
	d.world.Destroy(first)
	s.Control(second)
	require.Equal(t, second, s.Entity())
	d.ticks(6)
	c.wantControl("Control is sent once", second)
	require.Equal(t, wire.Live, s.Resolve(second))
	require.Equal(t, wire.Live, s.Resolve(neighbour), "it views the world from there")
	require.Equal(t, wire.Stale, s.Resolve(first))

	s.Control(0)
	d.ticks(6)
	c.wantControl("nothing", 0)
	require.Equal(t, wire.Live, s.Resolve(neighbour), "it keeps the last viewpoint")
	s.Control(first)
	d.ticks(1)
	c.wantControl("a dead entity", first)
	s.Control(second)
	s.Control(0)
	d.ticks(6)
	c.wantControl("the last of a tick", 0)
	s.Control(bulk.NewHandle(second.Index(), second.Generation()+2))
	require.Zero(t, s.Entity(), "H3: the handle was not issued yet")
	s.Kick("enough")
	d.ticks(2)
	require.Equal(t, bulk.Live, d.world.Status(second), "the session no longer controlled it when it ended")
	s.Control(second) // no effect: the session has ended
}

// An away client receives its controlled entity when it reconnects, even if it is none.
func TestControlChangesWhileAway(t *testing.T) {
	d := newTestServer(t)
	d.game.Away = func(s *session.Session) { s.Control(0) }
	c, w := d.enter()
	d.ticks(3)
	second := d.spawn(3)
	c.peer.Gone()
	d.ticks(3)
	c, w = d.resume(w, asIs)
	c.wantControl("nothing", 0)
	c.input()
	c.peer.Session().Control(second)
	c.peer.Gone() // Control may be lost
	d.game.Away = nil
	d.ticks(3)
	c, _ = d.resume(w, asIs)
	c.wantControl("the other entity", second)
	d.ticks(3)
	require.Equal(t, second, c.peer.Session().Entity())
}

// Control does nothing inside Join: Welcome has not been sent.
func TestControlInJoin(t *testing.T) {
	var joined bulk.Handle
	d := newTestServerWith(t, func(c *session.Config) {
		join := c.Game.Join
		c.Game.Join = func(s *session.Session) (h world.Entity, err error) {
			other, err := join(s)
			require.NoError(t, err)
			s.Control(other)
			joined, err = join(s)
			return joined, err
		}
	})
	c := d.connect()
	c.send(d.hello())
	c.want("joins", wire.TypeWelcome)
	c.wantControl("the entity that Join returned", joined)
	require.Equal(t, joined, c.peer.Session().Entity())
}

// An entity owned while controlled stays owned.
func TestControlLeavesWhatIsOwned(t *testing.T) {
	d := newTestServer(t)
	c := d.join()
	s := c.peer.Session()
	first, second := s.Entity(), d.spawn(3)
	d.ticks(6)
	s.Own(first)
	s.Control(second)
	d.ticks(6)
	d.world.SetPosition(second, world.Vec3{X: 1e4})
	d.ticks(6)
	require.Equal(t, wire.Live, s.Resolve(first), "an owned entity is in view at any distance")
	s.Disown(first)
	d.ticks(6)
	require.Equal(t, wire.Hidden, s.Resolve(first))
}
