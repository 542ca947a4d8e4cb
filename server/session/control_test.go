package session_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/server/session"
	"github.com/worldd/worldd/world"
)

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

// When a client reconnects, it is told which entity it controls, even if it controls none.
func TestControlChangesWhileAway(t *testing.T) {
	d := newTestServer(t)
	d.game.Away = func(s *session.Session) { s.Control(0) }
	c, w := d.enter()
	d.ticks(3)
	second := d.spawn(3)
	c.peer.Gone()
	d.ticks(3)
	c, w = d.resume(w)
	c.wantControl("nothing", 0)
	c.input(wire.Ack{})
	c.peer.Session().Control(second)
	c.peer.Gone() // Control may be lost
	d.game.Away = nil
	d.ticks(3)
	c, _ = d.resume(w)
	c.wantControl("the other entity", second)
	d.ticks(3)
	require.Equal(t, second, c.peer.Session().Entity())
}

// Control does nothing inside Join: Welcome has not been sent.
func TestControlInJoin(t *testing.T) {
	var joined bulk.Handle
	d := newTestServerWith(t, func(c *session.Config) {
		join := c.Hooks.Join
		c.Hooks.Join = func(s *session.Session) (h world.Entity, err error) {
			other := must.Get(join(s))
			s.Control(other)
			joined, err = join(s)
			return joined, err
		}
	})
	c := d.dial()
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

// A spectator views the world from an entity that it neither controls nor owns.
func TestViewpoint(t *testing.T) {
	d := newTestServer(t)
	c := d.join()
	s := c.peer.Session()
	own, far, neighbour := s.Entity(), d.spawn(1e3), d.spawn(1005)
	d.ticks(6)
	s.SetViewpoint(far)
	d.ticks(6)
	require.Equal(t, wire.Live, s.Resolve(far))
	require.Equal(t, wire.Live, s.Resolve(neighbour))
	require.Equal(t, wire.Live, s.Resolve(own), "the controlled entity stays owned")
	require.Equal(t, own, s.Entity())
	s.Control(0)
	d.world.Destroy(far)
	d.ticks(6)
	c.wantControl("no other was controlled in between", 0)
	require.Equal(t, wire.Live, s.Resolve(neighbour), "the viewpoint stays where it was")
	s.SetViewpoint(bulk.NewHandle(far.Index(), far.Generation()+2))
	s.Control(own)
	d.ticks(6)
	require.Equal(t, wire.Hidden, s.Resolve(neighbour), "a handle that was not issued is none: the client views the world from its own entity")
	s.Kick("enough")
	d.ticks(2)
	s.SetViewpoint(own) // no effect: the session has ended
}

// Sessions lists all sessions, including away ones, while some of them end.
func TestSessions(t *testing.T) {
	d := newTestServer(t)
	ids := func() (all []uint64) {
		for s := range d.core.Sessions() {
			all = append(all, s.ID())
		}
		return all
	}
	require.Empty(t, ids())
	var want []uint64
	var clients []*testClient
	for range 2 {
		c := d.join()
		c.input(wire.Ack{})
		clients, want = append(clients, c), append(want, c.peer.Session().ID())
	}
	require.IsIncreasing(t, want)
	require.Equal(t, want, ids())
	d.ticks(1)
	clients[1].peer.Gone()
	d.ticks(3)
	require.Equal(t, want, ids())
	away := 0
	for s := range d.core.Sessions() {
		if s.Away() {
			away++
		}
		s.Kick("enough")
	}
	require.Equal(t, 1, away)
	d.ticks(2)
	require.Empty(t, ids())
	for range d.core.Sessions() {
		t.Fatal("nobody is left")
	}
}

// A session keeps the game's own data from its token, even after it resumes.
func TestSessionValue(t *testing.T) {
	type account struct{ coins int }
	loaded, atJoin := &account{7}, any(nil)
	d := newTestServerWith(t, func(c *session.Config) {
		c.Admit = func(context.Context, []byte) (session.Admission, error) { return session.Admission{Value: loaded}, nil }
		join := c.Hooks.Join
		c.Hooks.Join = func(s *session.Session) (world.Entity, error) {
			atJoin = s.Value()
			return join(s)
		}
	})
	c, w := d.enter()
	require.Same(t, loaded, atJoin)
	c.peer.Session().SetValue("elsewhere")
	d.ticks(3)
	c.peer.Gone()
	d.ticks(3)
	c, _ = d.resume(w)
	require.Equal(t, "elsewhere", c.peer.Session().Value(), "the value of the first token, as it was set")
}
