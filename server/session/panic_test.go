package session_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/server/session"
	"github.com/worldd/worldd/world"
)

// newPanickingServer returns a test server whose game panics in one hook, for the session named "victim".
func newPanickingServer(t *testing.T, hook session.Hook, change func(*session.Config)) *testServer {
	boom := func(at session.Hook, s *session.Session) {
		if at == hook && s.Name() == "victim" {
			panic("boom")
		}
	}
	var d *testServer
	d = newTestServerWith(t, func(c *session.Config) {
		g := &c.Hooks
		join, leave := g.Join, g.Leave
		g.Join = func(s *session.Session) (world.Entity, error) {
			boom(session.HookJoin, s)
			return join(s)
		}
		g.Leave = func(s *session.Session) {
			leave(s)
			boom(session.HookLeave, s)
		}
		g.Input = session.OnRawInput(func(s *session.Session, tick uint64, data []byte) {
			boom(session.HookInput, s)
			d.move(s, tick, data)
		})
		g.Commands = append(g.Commands, command("break", func(s *session.Session, _ world.Entity) error {
			boom(session.HookCommand, s)
			return nil
		}))
		change(c)
	})
	d.game.Away = func(s *session.Session) { boom(session.HookAway, s) }
	d.game.Back = func(s *session.Session) { boom(session.HookBack, s) }
	return d
}

// A panic in a hook ends the session for which the hook was called. The tick continues,
// with every other client's inputs.
func TestPanicEndsItsSession(t *testing.T) {
	for _, c := range []struct {
		hook    session.Hook
		provoke func(d *testServer) *testClient
	}{
		{session.HookCommand, func(d *testServer) *testClient {
			c, _ := d.enter(withName("victim"))
			c.send(wire.Command{ID: 1, Name: "break"}, wire.Command{ID: 2, Name: "poke"})
			c.want("controls its entity", wire.TypeControl)
			c.wantResult("is answered", 1, wire.Internal, wire.Live)
			return c
		}},
		{session.HookInput, func(d *testServer) *testClient {
			c, _ := d.enter(withName("victim"))
			c.queueInput(wire.Ack{}, d.nextInput("x"))
			return c
		}},
		{session.HookAway, func(d *testServer) *testClient {
			c, _ := d.enter(withName("victim"))
			c.lose()
			return c
		}},
		{session.HookBack, func(d *testServer) *testClient {
			c, w := d.enter(withName("victim"))
			c.lose()
			c = d.dial(withSecret(w))
			return c
		}},
	} {
		t.Run(c.hook.String(), func(t *testing.T) {
			d := newPanickingServer(t, c.hook, func(*session.Config) {})
			other := d.join()
			victim := c.provoke(d)
			other.queueInput(wire.Ack{}, d.nextInput("x"))
			before := len(d.moved)
			d.ticks(1)
			require.Len(t, d.moved, before+1, "the tick continues")
			require.Equal(t, []int{1, 0, 1}, d.counts(), "Leave follows")
			if c.hook != session.HookAway {
				m := must.Get(wire.Parse[wire.Goodbye](victim.lastMessage(wire.TypeGoodbye)))
				require.Equal(t, wire.Internal, m.Code)
				require.NotContains(t, m.Text, "boom")
				require.Equal(t, []wire.Code{wire.Internal}, victim.Closed)
			}
			stats := d.core.Stats()
			require.EqualValues(t, 1, stats.Panics[c.hook])
			require.EqualValues(t, 1, stats.Closed[wire.Internal])
			require.Empty(t, d.poked, "its later commands are not executed")
			other.wantServed()
			d.enter(withName("victim")) // the victim's slot is free again
		})
	}
}

func TestPanicInJoinRefuses(t *testing.T) {
	d := newPanickingServer(t, session.HookJoin, func(*session.Config) {})
	other := d.join()
	c := d.dial(withName("victim"))
	m := must.Get(wire.Parse[wire.Refused](c.want("is refused", wire.TypeRefused)))
	require.Equal(t, wire.Internal, m.Code)
	require.NotContains(t, m.Text, "boom")
	require.Equal(t, []wire.Code{wire.Internal}, c.Closed)
	require.Zero(t, d.left, "it never joined")
	require.EqualValues(t, 1, d.core.Stats().Panics[session.HookJoin])
	other.wantServed()
	require.Equal(t, 1, d.core.Len())
	d.join()
}

// A session that panics in Leave ends for its original reason.
func TestPanicInLeave(t *testing.T) {
	for name, end := range map[string]func(d *testServer, c *testClient){
		"bye":      func(_ *testServer, c *testClient) { c.send(wire.Bye{}) },
		"kick":     func(_ *testServer, c *testClient) { c.send(wire.Command{ID: 1, Name: "leave"}) },
		"too slow": func(d *testServer, c *testClient) { c.Full = true; d.spawn(1); d.ticks(4) },
		"drain":    func(d *testServer, _ *testClient) { d.core.Drain() },
	} {
		t.Run(name, func(t *testing.T) {
			d := newPanickingServer(t, session.HookLeave, func(*session.Config) {})
			other := d.join()
			c, _ := d.enter(withName("victim"))
			end(d, c)
			d.ticks(1)
			require.Len(t, c.Closed, 1)
			require.NotContains(t, c.Closed, wire.Internal)
			require.EqualValues(t, 1, d.core.Stats().Panics[session.HookLeave])
			if name == "drain" {
				require.Equal(t, []wire.Code{wire.Draining}, other.Closed)
				require.Zero(t, d.core.Len())
				return
			}
			require.Equal(t, 1, d.core.Len())
			other.wantServed()
		})
	}
}

// A hook panics while it ends another session.
func TestPanicInLeaveWithinACommand(t *testing.T) {
	d := newPanickingServer(t, session.HookLeave, func(c *session.Config) {
		c.Hooks.Commands = append(c.Hooks.Commands, command("stop", func(*session.Session, world.Entity) error { panic("after all") }))
	})
	c, _ := d.enter(withName("victim"))
	c.send(wire.Command{ID: 1, Name: "stop"})
	require.Equal(t, []wire.Code{wire.Internal}, c.Closed)
	stats := d.core.Stats()
	require.EqualValues(t, []uint64{1, 1}, []uint64{stats.Panics[session.HookCommand], stats.Panics[session.HookLeave]})
	require.Zero(t, d.core.Len())
}

func TestPanicEnds(t *testing.T) {
	d := newPanickingServer(t, session.HookCommand, func(c *session.Config) { c.PanicEnds = true })
	c, _ := d.enter(withName("victim"))
	require.PanicsWithValue(t, "boom", func() { c.send(wire.Command{ID: 1, Name: "break"}) })
	require.Zero(t, d.core.Stats().Panics[session.HookCommand])
}

// A world that panics in a call of the game may be inconsistent. It must not continue, and
// must not be saved. A game that panics while it iterates over the world does not damage
// the world.
func TestPanicOfTheWorldEndsTheProcess(t *testing.T) {
	var d *testServer
	d = newTestServerWith(t, func(c *session.Config) {
		c.Hooks.Commands = append(c.Hooks.Commands, command("break", func(*session.Session, world.Entity) error {
			d.world.TakeImage(nil)
			return nil
		}))
		c.Hooks.Commands = append(c.Hooks.Commands, command("visit", func(*session.Session, world.Entity) error {
			q := must.Get(d.world.NewQuery(world.QueryDef{}))
			for range q.All() {
				panic("boom")
			}
			return nil
		}))
	})
	c := d.join()
	c.send(wire.Command{ID: 1, Name: "visit"})
	require.Equal(t, []wire.Code{wire.Internal}, c.Closed)
	require.EqualValues(t, 1, d.core.Stats().Panics[session.HookCommand])
	c = d.join()
	require.Panics(t, func() { c.send(wire.Command{ID: 1, Name: "break"}) })
}
