package session_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/server/session"
	"github.com/worldd/worldd/world"
)

// A seat is for its user, once, until it expires: other clients are refused, also if the server is otherwise empty.
func TestSeats(t *testing.T) {
	d := newUserServer(t, func(c *session.Config) { c.MaxSessions = 2 })
	require.NoError(t, d.core.ReserveSeats([]string{"ann", "bob"}, time.Second))
	require.True(t, d.core.HasSeat("ann"))
	require.Equal(t, wire.ServerFull, d.refusedAs("eve"))
	require.Equal(t, wire.ServerFull, d.refusedAs(""))
	ann, _ := d.enter(withToken("ann"))
	require.False(t, d.core.HasSeat("ann"))
	sessions, kept, free := d.core.Places()
	require.Equal(t, []int{1, 1, 0}, []int{sessions, kept, free})
	require.Equal(t, wire.ServerFull, d.refusedAs("ann"), "the seat is used")

	d.ticks(d.world.TickHz())
	require.False(t, d.core.HasSeat("bob"), "it has expired")
	d.enter(withToken("eve"))
	require.Empty(t, ann.Closed)
	require.Equal(t, wire.ServerFull, d.refusedAs("bob"))
}

// Seats count against the limit, all are reserved or none, and a second reservation extends the first.
func TestSeatsAreBounded(t *testing.T) {
	d := newUserServer(t, func(c *session.Config) { c.MaxSessions = 3 })
	d.enter(withToken("eve"))
	full := d.core.ReserveSeats([]string{"ann", "bob", "cat"}, time.Second)
	require.Equal(t, wire.ServerFull, wire.CodeOf(full))
	require.False(t, d.core.HasSeat("ann"), "all, or none")
	require.NoError(t, d.core.ReserveSeats([]string{"ann", "ann", "bob"}, time.Second))
	require.Equal(t, wire.ServerFull, wire.CodeOf(d.core.ReserveSeats([]string{"cat"}, time.Second)))
	d.ticks(d.world.TickHz() - 1)
	require.NoError(t, d.core.ReserveSeats([]string{"ann"}, time.Second), "it extends the seat")
	d.ticks(2)
	require.Equal(t, []bool{true, false}, []bool{d.core.HasSeat("ann"), d.core.HasSeat("bob")})
	require.NoError(t, d.core.ReserveSeats([]string{"ann", "nobody"}, 0))
	require.False(t, d.core.HasSeat("ann"))

	for _, bad := range [][]string{nil, {""}, {"\xff"}, {strings.Repeat("u", session.MaxSeatUser+1)}} {
		require.Equal(t, wire.BadArguments, wire.CodeOf(d.core.ReserveSeats(bad, time.Second)), "%q", bad)
	}
	for _, bad := range []time.Duration{-1, session.MaxSeatTime + 1} {
		require.Equal(t, wire.BadArguments, wire.CodeOf(d.core.ReserveSeats([]string{"ann"}, bad)), "%v", bad)
	}
	d.core.Drain()
	require.Equal(t, wire.Draining, wire.CodeOf(d.core.ReserveSeats([]string{"ann"}, time.Second)))
}

// A client that Join refuses keeps its seat.
func TestSeatOutlastsARefusal(t *testing.T) {
	var refusal error
	d := newUserServer(t, func(c *session.Config) {
		c.MaxSessions = 1
		join := c.Hooks.Join
		c.Hooks.Join = func(s *session.Session) (e world.Entity, err error) {
			if refusal != nil {
				return 0, refusal
			}
			return join(s)
		}
	})
	require.NoError(t, d.core.ReserveSeats([]string{"ann"}, time.Minute))
	refusal = fmt.Errorf("not yet")
	require.Equal(t, wire.JoinRefused, d.refusedAs("ann"))
	require.True(t, d.core.HasSeat("ann"))
	refusal = nil
	d.enter(withToken("ann"))
	require.False(t, d.core.HasSeat("ann"))
}

// Seats come back as they were saved. Damaged ones are refused.
func TestSeatsRestore(t *testing.T) {
	d := newUserServer(t, func(*session.Config) {})
	require.NoError(t, d.core.ReserveSeats([]string{"bob", "ann"}, time.Second))
	saved := d.core.AppendSeats(nil)
	next := newUserServer(t, func(*session.Config) {})
	require.NoError(t, next.core.RestoreSeats(saved))
	require.Equal(t, saved, next.core.AppendSeats(nil))
	require.True(t, next.core.HasSeat("ann"))
	next.ticks(next.world.TickHz() + 1)
	require.False(t, next.core.HasSeat("ann"))
	for cut := 1; cut < len(saved); cut++ {
		if err := next.core.RestoreSeats(saved[:cut]); err == nil {
			require.Less(t, len(next.core.AppendSeats(nil)), len(saved), "one seat of the two")
		}
	}
	require.Error(t, next.core.RestoreSeats([]byte{1, 0xff, 5}))
	require.Error(t, next.core.RestoreSeats(append(append([]byte{}, saved...), saved...)), "out of order")
	for _, long := range []string{"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", "\x00\x05"} {
		require.Error(t, next.core.RestoreSeats([]byte(long)))
	}
}

// A place that a client holds is kept until it enters, gives up, or is late.
func TestHeldPlaces(t *testing.T) {
	d := newUserServer(t, func(c *session.Config) { c.MaxSessions = 2 })
	first, second := d.core.HoldPlace(), d.core.HoldPlace()
	require.NotNil(t, first)
	require.Same(t, d.core, second.Room())
	require.Nil(t, d.core.HoldPlace(), "no place is free")
	require.Equal(t, wire.ServerFull, d.refusedAs("eve"))
	second.Release()
	second.Release()
	d.enter(withToken("eve"))
	require.Equal(t, wire.ServerFull, d.refusedAs("bob"))
	d.ticks(int(session.HelloTimeout/time.Second)*d.world.TickHz() + 1)
	d.enter(withToken("bob"))
	first.Release()
	require.Nil(t, d.core.HoldPlace())
}
