package session

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/replication/wire"
)

// harbour is another server, as the rooms of this one see it.
type harbour struct {
	*testRooms
	way       *Crossing
	boarding  []Boarding
	abandoned int
}

// newHarbour returns rooms with journals, and room "beyond" on another server.
func newHarbour(t *testing.T) *harbour {
	b := &harbour{}
	b.testRooms = newDurableRooms(t, func(c *RouterConfig) { b.open(c) })
	return b
}

func (b *harbour) open(c *RouterConfig) {
	here := c.Move
	c.Move = func(room string, s *Session) (*Core, error) {
		if room == "beyond" {
			return nil, ErrElsewhere
		}
		return here(room, s)
	}
	c.Cross = func(string, *Session) (*Crossing, error) {
		b.way = NewCrossing(func(who Boarding) { b.boarding = append(b.boarding, who) }, func() { b.abandoned++ })
		return b.way, nil
	}
}

// leaveForBeyond returns the client of a session in room one, for which the other server holds a place.
func (b *harbour) leaveForBeyond() *roomClient {
	conn := b.dial(toRoom("one"))
	b.rooms["one"].Tick()
	b.release("one")
	s := b.session(conn)
	s.SetValue("sword")
	b.rooms["one"].config.Hooks.Leave = func(s *Session) {
		b.rooms["one"].world.Destroy(s.Entity())
		s.SetValue("sword and score")
	}
	require.NoError(b.t, s.Move("beyond"))
	b.rooms["one"].Tick()
	require.Equal(b.t, "one", b.session(conn).Room(), "it waits for a place")
	b.way.Held(nil)
	b.rooms["one"].Tick()
	return conn
}

// The other server learns who comes once no crash can undo Leave, and the client gets the pass once no crash can bring the session back: at
// every moment the session is on one disk, or its client has the pass.
func TestCrossingIsDurable(t *testing.T) {
	b := newHarbour(t)
	one := b.rooms["one"]
	conn := b.leaveForBeyond()
	require.Nil(t, b.session(conn))
	one.Tick()
	require.Empty(t, b.boarding, "a crash would undo Leave")
	b.release("one")
	one.Tick()
	require.Equal(t, []Boarding{{ID: conn.Welcome().Session, From: "one", To: "beyond", Value: "sword and score"}}, b.boarding)
	require.Equal(t, 1, b.saved("one").Sessions())
	require.False(t, one.CloseIfEmpty())

	moved := must.Get(wire.MovedTo("b:2", []byte("pass")))
	b.way.Boarded(moved, nil)
	one.Tick()
	require.Zero(t, b.saved("one").Sessions())
	require.Empty(t, conn.Ended, "a crash would bring the session back")
	b.release("one")
	require.Equal(t, *moved, conn.Ended)
	require.Zero(t, b.abandoned)
	one.Tick()
	require.True(t, one.CloseIfEmpty())
	require.EqualValues(t, 1, one.Stats().MovedOut)
}

// A crash between Leave and the Goodbye brings the session back to its room, with the Value of Leave.
func TestCrashOnACrossing(t *testing.T) {
	b := newHarbour(t)
	conn := b.leaveForBeyond()
	b.release("one")
	b.rooms["one"].Tick()
	require.Len(t, b.boarding, 1)
	w, notes := conn.Welcome(), b.saved("one")
	b.testRooms = b.restore(map[string]*Notes{"one": notes, "two": {}})
	b.open(&b.router.config)
	again := b.dial(resume(w, w.Structure))
	b.tick(3)
	b.release("one")
	b.tick(2)
	s := b.rooms["one"].Session(w.Session)
	require.NotNil(t, s)
	require.Equal(t, "sword and score", s.Value())
	require.Equal(t, "one", again.Welcome().Room)
	require.Len(t, b.boarding, 1)
}

// A crossing that the other server refuses, or that loses its client, ends in the first room, and gives the place up.
func TestCrossingReturns(t *testing.T) {
	for name, c := range map[string]struct {
		fail func(b *harbour, conn *roomClient)
		why  wire.Code
		away bool
	}{
		"refused": {func(b *harbour, _ *roomClient) { b.way.Boarded(nil, errors.New("no answer")) }, wire.Internal, false},
		"disconnected": {func(b *harbour, conn *roomClient) {
			conn.peer.Gone()
			b.way.Boarded(must.Get(wire.MovedTo("b:2", nil)), nil)
		}, wire.Timeout, true},
	} {
		t.Run(name, func(t *testing.T) {
			b := newHarbour(t)
			one := b.rooms["one"]
			var refused []wire.Code
			one.config.Hooks.MoveRefused = func(_ *Session, room string, why error) {
				require.Equal(t, "beyond", room)
				refused = append(refused, wire.CodeOf(why))
			}
			conn := b.leaveForBeyond()
			b.release("one")
			one.Tick()
			c.fail(b, conn)
			b.tick(3)
			b.release("one")
			s := one.Session(conn.Welcome().Session)
			require.NotNil(t, s)
			require.Equal(t, []any{"sword and score", c.away, 1}, []any{s.Value(), s.Away(), one.world.Stats().Entities})
			require.Equal(t, []wire.Code{c.why}, refused)
			require.Positive(t, b.abandoned)
			require.Empty(t, conn.Ended.Token)
		})
	}
}

// A session without a connection, or one whose Leave kicks it, does not cross.
func TestSessionsThatDoNotCross(t *testing.T) {
	b := newHarbour(t)
	one := b.rooms["one"]
	conn := b.dial(toRoom("one"))
	one.Tick()
	b.release("one")
	s := b.session(conn)
	s.SetValue("sword")
	one.config.Hooks.Leave = func(s *Session) { s.Kick("cheat") }
	require.NoError(t, s.Move("beyond"))
	b.way.Held(nil)
	one.Tick()
	require.Equal(t, 1, b.abandoned)
	require.Empty(t, b.boarding)
	b.release("one")
	require.Equal(t, wire.Kicked, conn.Ended.Code)

	one.config.Hooks.Leave = nil
	other := b.dial(toRoom("one"))
	one.Tick()
	b.release("one")
	s = b.session(other)
	s.SetValue("")
	other.peer.Gone()
	one.Tick()
	require.ErrorIs(t, s.Move("beyond"), errNoClient)
	b.router.config.Cross = nil
	require.ErrorIs(t, s.Move("beyond"), errNoCrossing)
}

// The close of a connection may overtake the message with the pass. A client that resumes its session is redirected again, also once its room
// has ended, but not before a crash can no longer bring the session back. A client without the secret begins a new session.
func TestCrossingIsRepeated(t *testing.T) {
	b := newHarbour(t)
	one := b.rooms["one"]
	conn := b.leaveForBeyond()
	b.release("one")
	one.Tick()
	w := conn.Welcome()
	early := b.dial(resume(w, 0)) // the room has it when the other server answers
	moved := must.Get(wire.MovedTo("b:2", []byte("pass")))
	b.way.Boarded(moved, nil)
	one.Tick()
	require.Equal(t, wire.Timeout, b.dial(resume(w, 0)).Ended.Code, "a crash would bring the session back")
	b.release("one")
	b.tick(2)
	b.release("one")
	require.Equal(t, []wire.Error{*moved, *moved}, []wire.Error{conn.Ended, b.dial(resume(w, 0)).Ended})
	require.Equal(t, wire.Timeout, early.Ended.Code)
	require.True(t, one.CloseIfEmpty())
	require.Equal(t, *moved, b.dial(resume(w, 0)).Ended)

	stranger := b.dial(resume(w, 0), func(m *wire.Hello) { m.Secret, m.Room = make([]byte, wire.SecretBytes), "two" })
	b.tick(1)
	b.release("two")
	require.Equal(t, "two", stranger.Welcome().Room)

	now := time.Unix(1, 0)
	b.router.Expire(now)
	b.router.Expire(now.Add(redirectionTime))
	require.Equal(t, *moved, b.dial(resume(w, 0)).Ended)
	b.router.Expire(now.Add(redirectionTime + 1))
	require.NotEqual(t, wire.Moved, b.dial(resume(w, 0)).Ended.Code)
}

// The memory of redirections is bounded.
func TestRedirectionsAreBounded(t *testing.T) {
	r, to := newRedirections(), must.Get(wire.MovedTo("b:2", nil))
	for id := range uint64(maxRedirections + 9) {
		r.add(id, secrets{newest: secret("secret")}, to, milestone{})
	}
	require.Len(t, r.of, maxRedirections)
	r.add(maxRedirections+10, secrets{}, to, milestone{})
	require.Nil(t, r.find(&wire.Hello{Session: maxRedirections + 10}), "nobody could resume it")
	require.Equal(t, to, r.find(&wire.Hello{Session: 3, Secret: []byte("secret")}))
	require.Nil(t, r.find(&wire.Hello{Session: 3, Secret: []byte("secreT")}))
}
