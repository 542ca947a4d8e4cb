package server_test

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/worldd/worldd/client"
	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/server"
	"github.com/worldd/worldd/world"
)

// fragile is a desk whose game panics in one function, for the session named "victim".
func fragile(t *testing.T, hook server.Hook, change func(*server.CoreConfig)) *desk {
	boom := func(at server.Hook, s *server.Session) {
		if at == hook && s.Name() == "victim" {
			panic("boom")
		}
	}
	d := newDeskWith(t, func(c *server.CoreConfig) {
		g := &c.Game
		join, leave, input := g.Join, g.Leave, g.Input
		g.Join = func(s *server.Session) (world.Entity, error) {
			boom(server.HookJoin, s)
			return join(s)
		}
		g.Leave = func(s *server.Session) {
			leave(s)
			boom(server.HookLeave, s)
		}
		g.Input = func(s *server.Session, tick uint64, data []byte) {
			boom(server.HookInput, s)
			input(s, tick, data)
		}
		g.Commands["break"] = func(s *server.Session, _ world.Entity, _ []byte) error {
			boom(server.HookCommand, s)
			return nil
		}
		change(c)
	})
	d.game.Away = func(s *server.Session) { boom(server.HookAway, s) }
	d.game.Back = func(s *server.Session) { boom(server.HookBack, s) }
	return d
}

// victim joins, and is heard of.
func (d *desk) victim() (*seat, wire.Welcome) {
	c := d.sit()
	h := d.hello()
	h.Name = "victim"
	c.say(h)
	w, err := wire.ParseWelcome(c.want("joins", wire.TypeWelcome))
	require.NoError(d.t, err)
	c.input()
	return c, w
}

// heldDown queues an input for the next tick.
func (c *seat) heldDown() {
	tick := uint32(c.d.world.Tick()) + 1
	in := wire.Input{Stamp: 1, Inputs: []wire.TickInput{{Tick: tick, Data: []byte("x")}}}
	_, err := c.peer.ReceiveDatagram(in.Append(nil))
	require.NoError(c.d.t, err)
}

// A panic in a function of the game ends the session that it was called for. The rest
// of the tick, with everybody else's inputs, goes on.
func TestPanicEndsItsSession(t *testing.T) {
	for _, c := range []struct {
		hook    server.Hook
		provoke func(d *desk) *seat
	}{
		{server.HookCommand, func(d *desk) *seat {
			c, _ := d.victim()
			c.say(wire.Command{ID: 1, Name: "break"}, wire.Command{ID: 2, Name: "poke"})
			c.want("steers", wire.TypeControl)
			c.wantResult("is answered", 1, wire.Internal, wire.Live)
			return c
		}},
		{server.HookInput, func(d *desk) *seat {
			c, _ := d.victim()
			c.heldDown()
			return c
		}},
		{server.HookAway, func(d *desk) *seat {
			c, _ := d.victim()
			c.peer.Gone()
			d.ticks(1)
			return c
		}},
		{server.HookBack, func(d *desk) *seat {
			c, w := d.victim()
			c.peer.Gone()
			d.ticks(1)
			c = d.sit()
			h := d.hello()
			h.Session, h.Secret = w.Session, w.Secret
			c.say(h)
			return c
		}},
	} {
		t.Run(c.hook.String(), func(t *testing.T) {
			d := fragile(t, c.hook, func(*server.CoreConfig) {})
			other := d.join()
			victim := c.provoke(d)
			other.heldDown()
			before := len(d.moved)
			d.ticks(1)
			require.Len(t, d.moved, before+1, "the tick goes on")
			require.Equal(t, []int{1, 0, 1}, []int{d.core.Active(), d.core.Away(), d.left}, "Leave follows")
			if c.hook != server.HookAway {
				m, err := wire.ParseGoodbye(victim.lastMessage(wire.TypeGoodbye))
				require.NoError(t, err)
				require.Equal(t, wire.Internal, m.Code)
				require.NotContains(t, m.Text, "boom")
				require.Equal(t, []wire.Code{wire.Internal}, victim.closed)
			}
			stats := d.core.Stats()
			require.EqualValues(t, 1, stats.Panics[c.hook])
			require.EqualValues(t, 1, stats.Closed[wire.Internal])
			require.Empty(t, d.poked, "nothing more is executed for it")
			other.say(wire.Command{ID: 7, Name: "poke"})
			other.wantResult("everybody else plays on", 7, wire.OK, wire.Live)
			d.victim() // and there is room again
		})
	}
}

func TestPanicInJoinRefuses(t *testing.T) {
	d := fragile(t, server.HookJoin, func(*server.CoreConfig) {})
	other := d.join()
	c := d.sit()
	h := d.hello()
	h.Name = "victim"
	c.say(h)
	m, err := wire.ParseRefused(c.want("is refused", wire.TypeRefused))
	require.NoError(t, err)
	require.Equal(t, wire.Internal, m.Code)
	require.NotContains(t, m.Text, "boom")
	require.Equal(t, []wire.Code{wire.Internal}, c.closed)
	require.Zero(t, d.left, "it never joined")
	require.EqualValues(t, 1, d.core.Stats().Panics[server.HookJoin])
	other.say(wire.Command{ID: 7, Name: "poke"})
	other.wantResult("everybody else plays on", 7, wire.OK, wire.Live)
	require.Equal(t, 1, d.core.Sessions())
	d.join()
}

// A session that is ending already ends, for whatever reason it does.
func TestPanicInLeave(t *testing.T) {
	for name, end := range map[string]func(d *desk, c *seat){
		"bye":      func(_ *desk, c *seat) { c.say(wire.Bye{}) },
		"kick":     func(_ *desk, c *seat) { c.say(wire.Command{ID: 1, Name: "leave"}) },
		"too slow": func(d *desk, c *seat) { c.full = true; d.spawn(1); d.ticks(4) },
		"drain":    func(d *desk, _ *seat) { d.core.Drain() },
	} {
		t.Run(name, func(t *testing.T) {
			d := fragile(t, server.HookLeave, func(*server.CoreConfig) {})
			other := d.join()
			c, _ := d.victim()
			end(d, c)
			d.ticks(1)
			require.Len(t, c.closed, 1)
			require.NotContains(t, c.closed, wire.Internal)
			require.EqualValues(t, 1, d.core.Stats().Panics[server.HookLeave])
			if name == "drain" {
				require.Equal(t, []wire.Code{wire.Draining}, other.closed)
				require.Zero(t, d.core.Sessions())
				return
			}
			require.Equal(t, 1, d.core.Sessions())
			other.say(wire.Command{ID: 7, Name: "poke"})
			other.wantResult("everybody else plays on", 7, wire.OK, wire.Live)
		})
	}
}

// The panic of one function while it ends the session of another.
func TestPanicInLeaveWithinACommand(t *testing.T) {
	d := fragile(t, server.HookLeave, func(c *server.CoreConfig) {
		c.Game.Commands["stop"] = func(*server.Session, world.Entity, []byte) error { panic("after all") }
	})
	c, _ := d.victim()
	c.say(wire.Command{ID: 1, Name: "stop"})
	require.Equal(t, []wire.Code{wire.Internal}, c.closed)
	stats := d.core.Stats()
	require.EqualValues(t, []uint64{1, 1}, []uint64{stats.Panics[server.HookCommand], stats.Panics[server.HookLeave]})
	require.Zero(t, d.core.Sessions())
}

func TestPanicEnds(t *testing.T) {
	d := fragile(t, server.HookCommand, func(c *server.CoreConfig) { c.PanicEnds = true })
	c, _ := d.victim()
	require.PanicsWithValue(t, "boom", func() { c.say(wire.Command{ID: 1, Name: "break"}) })
	require.Zero(t, d.core.Stats().Panics[server.HookCommand])
}

// A world that panics under the game's hands may be broken: it must not go on, and must
// not be saved. A game that panics in a loop over it has broken nothing.
func TestPanicOfTheWorldEndsTheProcess(t *testing.T) {
	var d *desk
	d = newDeskWith(t, func(c *server.CoreConfig) {
		c.Game.Commands["break"] = func(*server.Session, world.Entity, []byte) error {
			d.world.TakeImage(nil)
			return nil
		}
		c.Game.Commands["visit"] = func(*server.Session, world.Entity, []byte) error {
			q, err := d.world.NewQuery(world.QueryDef{})
			require.NoError(t, err)
			for range q.All() {
				panic("boom")
			}
			return nil
		}
	})
	c := d.join()
	c.say(wire.Command{ID: 1, Name: "visit"})
	require.Equal(t, []wire.Code{wire.Internal}, c.closed)
	require.EqualValues(t, 1, d.core.Stats().Panics[server.HookCommand])
	c = d.join()
	require.Panics(t, func() { c.say(wire.Command{ID: 1, Name: "break"}) })
}

// The operator finds the stack in the log, and the count in the metrics.
func TestPanicIsReported(t *testing.T) {
	core, logged := observer.New(zapcore.ErrorLevel)
	h := openHouseWith(t, func(c *server.Config) {
		c.Log = zap.New(core)
		c.Game.Commands["break"] = func(*server.Session, world.Entity, []byte) error { return breakDown(nil) }
		c.Admit = func(_ context.Context, token []byte) (server.Admission, error) {
			return server.Admission{User: string(token[:4])}, nil
		}
	})
	t.Cleanup(http.DefaultClient.CloseIdleConnections)
	config := h.config()
	_, err := client.Dial(h.ctx, config)
	require.Equal(t, wire.Internal, wire.CodeOf(err), "%v: no token, and Admit reads it", err)
	config.Token = []byte("anne")
	c, err := client.Dial(h.ctx, config)
	require.NoError(t, err)
	defer c.Close()
	_, err = c.Command("break", 0, nil)
	require.NoError(t, err)
	require.Equal(t, wire.Internal, wire.CodeOf(h.ends(c)))
	for range 2 { // the server plays on
		c, err := client.Dial(h.ctx, config)
		require.NoError(t, err)
		require.NoError(t, c.Close())
	}
	lines := logged.FilterMessage("the game panicked: its session ends").All()
	require.Len(t, lines, 2)
	require.Equal(t, "admit", lines[0].ContextMap()["hook"])
	fields := lines[1].ContextMap()
	require.Equal(t, "command", fields["hook"])
	require.Contains(t, fields["panic"], "nil map")
	require.Contains(t, fields["stack"], "server_test.breakDown")
	var text string
	for !strings.Contains(text, `worldd_hook_panics_total{hook="command"} 1`) { // it is told once a second
		_, text = h.operate(http.MethodGet, "/metrics")
	}
	require.Contains(t, text, `worldd_hook_panics_total{hook="admit"} 1`)
	require.Contains(t, text, `worldd_hook_panics_total{hook="leave"} 0`)
}

//go:noinline
func breakDown(m map[string]int) error {
	m["a mistake"] = 1
	return nil
}
