package session_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/server/session"
	"github.com/worldd/worldd/world"
)

// newUserServer returns a test server whose tokens are user names.
func newUserServer(t *testing.T, change func(*session.Config)) *testServer {
	return newTestServerWith(t, func(c *session.Config) {
		c.MaxSessions = 8
		c.Admit = func(_ context.Context, token []byte) (session.Admission, error) {
			return session.Admission{User: string(token)}, nil
		}
		change(c)
	})
}

// refusedAs dials with a token and returns the code of the refusal.
func (d *testServer) refusedAs(token string, changes ...func(*wire.Hello)) wire.Code {
	c := d.dial(append(changes, withToken(token))...)
	require.Equal(d.t, []wire.Code{c.Ended.Code}, c.Closed)
	return c.Ended.Code
}

// A ban ends the user's sessions, connected or away, and no others. Until the ban is
// lifted, the user can neither resume nor begin a session.
func TestBans(t *testing.T) {
	d := newUserServer(t, func(*session.Config) {})
	here, _ := d.enter(withToken("eve"))
	away, w := d.enter(withToken("eve"))
	other, _ := d.enter(withToken("ann"))
	anonymous, _ := d.enter(withToken(""))
	away.lose()
	require.Equal(t, []int{3, 1}, []int{d.core.Active(), d.core.Away()})

	d.core.SetBans([]string{"eve", "mallory", ""})
	require.Equal(t, wire.Banned, d.refusedAs("eve", withSecret(w)), "in the tick of the ban")
	here.wantGoodbye(wire.Banned)
	require.Equal(t, []int{2, 0, 2}, d.counts())
	require.Empty(t, other.Closed)
	require.Empty(t, anonymous.Closed, "a session without a user cannot be banned")
	require.Equal(t, wire.Banned, d.refusedAs("mallory"))
	d.ticks(5)
	require.Equal(t, wire.Banned, d.refusedAs("eve"), "until the ban is lifted")
	d.core.SetBans(nil)
	d.enter(withToken("eve"))
}

// A session ends when its token expires, connected or away. Resuming with another token
// does not extend the session.
func TestSessionEnds(t *testing.T) {
	d := newUserServer(t, func(c *session.Config) {
		c.Grace = time.Minute
		c.Admit = func(_ context.Context, token []byte) (session.Admission, error) {
			lasts, err := time.ParseDuration(string(token))
			return session.Admission{User: "ann", Lasts: lasts}, err
		}
	})
	forever, _ := d.enter(withToken("0"))
	here, _ := d.enter(withToken("2s"))
	resumed, w := d.enter(withToken("2s"))
	away, late := d.enter(withToken("2s"))
	away.peer.Gone()
	resumed.peer.Gone()
	d.ticks(30)
	resumed, next := d.resume(w, withToken("9h"))
	require.EqualValues(t, 1, next.Resumed)
	resumed.input(wire.Ack{})
	for range 3 { // a silent session would be away
		d.ticks(20)
		for _, c := range []*testClient{forever, here, resumed} {
			require.Empty(t, c.Closed)
			c.input(wire.Ack{})
		}
	}
	require.Equal(t, []int{3, 1}, []int{d.core.Active(), d.core.Away()})
	d.ticks(30)
	here.wantGoodbye(wire.SessionExpired)
	resumed.wantGoodbye(wire.SessionExpired)
	require.Equal(t, []int{1, 0, 3}, d.counts())
	require.EqualValues(t, 3, d.core.Stats().Closed[wire.SessionExpired])
	_, next = d.resume(late, withToken("1s"))
	require.Zero(t, next.Resumed, "a new session with a new token")
	require.Empty(t, forever.Closed)
}

// With OneSessionPerUser, the newest session wins, and the game sees the older one end
// first. Otherwise a user may have several sessions.
func TestOneSessionPerUser(t *testing.T) {
	for _, one := range []bool{true, false} {
		t.Run(fmt.Sprint(one), func(t *testing.T) {
			var calls []string
			d := newUserServer(t, func(c *session.Config) {
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
			first, w := d.enter(withToken("ann"))
			first.lose()
			c, next := d.resume(w, withToken("ann"))
			require.EqualValues(t, 1, next.Resumed, "no second session")
			c.input(wire.Ack{})
			d.enter(withToken("bob"))
			d.enter(withToken(""))
			d.enter(withToken(""))
			second, w := d.enter(withToken("ann"))
			second.lose()
			d.enter(withToken("ann"))
			if !one {
				require.Empty(t, c.Closed)
				require.Equal(t, []int{5, 1}, []int{d.core.Active(), d.core.Away()})
				return
			}
			c.wantGoodbye(wire.SignedInElsewhere)
			require.Equal(t, []int{4, 0}, []int{d.core.Active(), d.core.Away()})
			require.Equal(t, []string{"join ann", "join bob", "join ", "join ", "leave ann", "join ann", "leave ann", "join ann"}, calls)
			_, next = d.resume(w, withToken("bob"))
			require.Zero(t, next.Resumed, "an ended session is not resumed")
		})
	}
}

// On a full server, a user's older session makes room for the newer one.
func TestOneSessionPerUserWhenFull(t *testing.T) {
	d := newUserServer(t, func(c *session.Config) { c.OneSessionPerUser, c.MaxSessions = true, 2 })
	d.enter(withToken("ann"))
	d.enter(withToken("bob"))
	require.Equal(t, wire.ServerFull, d.refusedAs("eve"))
	d.enter(withToken("bob"))
	require.Equal(t, 2, d.core.Active())
	require.ErrorContains(t, must.Fail(session.NewCore(session.Config{OneSessionPerUser: true})), "OneSessionPerUser without Admit")
}

// A token for a room opens no other room: also not the only one of a server.
func TestTokenOfAnotherRoom(t *testing.T) {
	d := newTestServerWith(t, func(c *session.Config) {
		c.Room = "one"
		c.Admit = func(_ context.Context, token []byte) (session.Admission, error) {
			return session.Admission{Room: string(token)}, nil
		}
	})
	require.Equal(t, wire.Unauthorized, d.refusedAs("two"))
	d.enter(withToken("one"))
	d.enter(withToken(""))
}
