package session_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/server/session"
	"github.com/worldd/worldd/world"
)

// users returns a test server whose tokens are user names.
func users(t *testing.T, change func(*session.Config)) *testServer {
	return newTestServerWith(t, func(c *session.Config) {
		c.MaxSessions = 8
		c.Admit = func(_ context.Context, token []byte) (session.Admission, error) {
			return session.Admission{User: string(token)}, nil
		}
		change(c)
	})
}

// enterAs is enter with a token.
func (d *testServer) enterAs(token string) (*testClient, wire.Welcome) {
	c := d.connect()
	h := d.hello()
	h.Token = []byte(token)
	c.send(h)
	w, err := wire.Parse[wire.Welcome](c.want("joins", wire.TypeWelcome))
	require.NoError(d.t, err)
	c.input()
	return c, w
}

// refusedAs sends a Hello with a token and returns the code of the refusal.
func (d *testServer) refusedAs(token string, change func(*wire.Hello)) wire.Code {
	c := d.connect()
	h := d.hello()
	h.Token = []byte(token)
	change(&h)
	c.send(h)
	m, err := wire.Parse[wire.Refused](c.want("is refused", wire.TypeRefused))
	require.NoError(d.t, err)
	require.Equal(d.t, []wire.Code{m.Code}, c.closed)
	return m.Code
}

// wantGoodbye reads the Goodbye that ends a session.
func (c *testClient) wantGoodbye(code wire.Code) {
	c.d.t.Helper()
	for {
		kind, body, ok, err := c.frames.Next()
		require.NoError(c.d.t, err)
		require.True(c.d.t, ok, "no Goodbye")
		if kind == wire.TypeGoodbye {
			m, err := wire.Parse[wire.Goodbye](body)
			require.NoError(c.d.t, err)
			require.Equal(c.d.t, code, m.Code)
			require.Equal(c.d.t, []wire.Code{code}, c.closed)
			return
		}
	}
}

// A ban ends the user's sessions, connected or away, and no others. None resumes and none
// begins until the ban is lifted.
func TestBans(t *testing.T) {
	d := users(t, func(*session.Config) {})
	here, _ := d.enterAs("eve")
	away, w := d.enterAs("eve")
	other, _ := d.enterAs("ann")
	anonymous, _ := d.enterAs("")
	away.peer.Gone()
	d.ticks(1)
	require.Equal(t, []int{3, 1}, []int{d.core.Active(), d.core.Away()})

	d.core.SetBans([]string{"eve", "mallory", ""})
	resume := func(h *wire.Hello) { h.Session, h.Secret = w.Session, w.Secret }
	require.Equal(t, wire.Banned, d.refusedAs("eve", resume), "in the tick of the ban")
	here.wantGoodbye(wire.Banned)
	require.Equal(t, []int{2, 0, 2}, []int{d.core.Active(), d.core.Away(), d.left})
	require.Empty(t, other.closed)
	require.Empty(t, anonymous.closed, "a session without a user cannot be banned")
	require.Equal(t, wire.Banned, d.refusedAs("mallory", asIs))
	d.ticks(5)
	require.Equal(t, wire.Banned, d.refusedAs("eve", asIs), "until the ban is lifted")
	d.core.SetBans(nil)
	d.enterAs("eve")
}

// A session ends when its token's time is over, connected or away. Resuming with another
// token does not extend it.
func TestSessionEnds(t *testing.T) {
	d := users(t, func(c *session.Config) {
		c.Grace = time.Minute
		c.Admit = func(_ context.Context, token []byte) (session.Admission, error) {
			lasts, err := time.ParseDuration(string(token))
			return session.Admission{User: "ann", Lasts: lasts}, err
		}
	})
	forever, _ := d.enterAs("0")
	here, _ := d.enterAs("2s")
	resumed, w := d.enterAs("2s")
	away, late := d.enterAs("2s")
	away.peer.Gone()
	resumed.peer.Gone()
	d.ticks(30)
	resumed, next := d.resume(w, func(h *wire.Hello) { h.Token = []byte("9h") })
	require.EqualValues(t, 1, next.Resumed)
	resumed.input()
	for range 3 { // a silent session would be away
		d.ticks(20)
		for _, c := range []*testClient{forever, here, resumed} {
			require.Empty(t, c.closed)
			c.input()
		}
	}
	require.Equal(t, []int{3, 1}, []int{d.core.Active(), d.core.Away()})
	d.ticks(30)
	here.wantGoodbye(wire.SessionExpired)
	resumed.wantGoodbye(wire.SessionExpired)
	require.Equal(t, []int{1, 0, 3}, []int{d.core.Active(), d.core.Away(), d.left})
	require.EqualValues(t, 3, d.core.Stats().Closed[wire.SessionExpired])
	_, next = d.resume(late, func(h *wire.Hello) { h.Token = []byte("1s") })
	require.Zero(t, next.Resumed, "a new session with a new token")
	require.Empty(t, forever.closed)
}

// With one session per user the newest wins, and the game sees the older one end first.
// Without, a user may have several.
func TestOneSessionPerUser(t *testing.T) {
	for _, one := range []bool{true, false} {
		t.Run(fmt.Sprint(one), func(t *testing.T) {
			var calls []string
			d := users(t, func(c *session.Config) {
				c.OneSessionPerUser = one
				join, leave := c.Hooks.Join, c.Hooks.Leave
				c.Hooks.Join = func(s *session.Session) (world.Entity, error) {
					calls = append(calls, "join "+s.User())
					return join(s)
				}
				c.Hooks.Leave = func(s *session.Session) {
					calls = append(calls, "leave "+s.User())
					leave(s)
				}
			})
			first, w := d.enterAs("ann")
			first.peer.Gone()
			d.ticks(1)
			c, next := d.resume(w, func(h *wire.Hello) { h.Token = []byte("ann") })
			require.EqualValues(t, 1, next.Resumed, "no second session")
			c.input()
			d.enterAs("bob")
			d.enterAs("")
			d.enterAs("")
			second, w := d.enterAs("ann")
			second.peer.Gone()
			d.ticks(1)
			d.enterAs("ann")
			if !one {
				require.Empty(t, c.closed)
				require.Equal(t, []int{5, 1}, []int{d.core.Active(), d.core.Away()})
				return
			}
			c.wantGoodbye(wire.SignedInElsewhere)
			require.Equal(t, []int{4, 0}, []int{d.core.Active(), d.core.Away()})
			require.Equal(t, []string{"join ann", "join bob", "join ", "join ", "leave ann", "join ann", "leave ann", "join ann"}, calls)
			_, next = d.resume(w, func(h *wire.Hello) { h.Token = []byte("bob") })
			require.Zero(t, next.Resumed, "an ended session is not resumed")
		})
	}
}

// On a full server, a user's older session makes room for the newer one.
func TestOneSessionPerUserWhenFull(t *testing.T) {
	d := users(t, func(c *session.Config) { c.OneSessionPerUser, c.MaxSessions = true, 2 })
	d.enterAs("ann")
	d.enterAs("bob")
	require.Equal(t, wire.ServerFull, d.refusedAs("eve", asIs))
	d.enterAs("bob")
	require.Equal(t, 2, d.core.Active())
	_, err := session.NewCore(session.Config{OneSessionPerUser: true})
	require.ErrorContains(t, err, "OneSessionPerUser without Admit")
}
