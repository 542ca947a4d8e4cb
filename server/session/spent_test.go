package session_test

import (
	"fmt"
	"math"
	"reflect"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/server/session"
)

// A run near the end of the protocol's ticks behaves normally up to its last tick. Then its
// sessions end with Draining, and no client joins.
func TestTicksAreSpent(t *testing.T) {
	const left = 200
	before := uint64(math.MaxUint32 - 1<<16 - left) // ticks already made
	d := newTestServerWith(t, func(c *session.Config) { c.Replication.TickBase = -before })
	require.EqualValues(t, left, d.core.TicksLeft())
	c, w := d.enter()
	require.EqualValues(t, before, w.Tick)
	for d.core.TicksLeft() > 1 {
		n := uint32(before + d.world.Tick() + 1)
		c.queueInput(wire.Ack{}, wire.TickInput{Tick: n + 1, Data: []byte("a")}, wire.TickInput{Tick: n, Data: []byte("a")})
		moves := d.moves(t)
		require.Len(t, moves, 1)
		require.Equal(t, fmt.Sprintf("%d:a", d.world.Tick()), moves[0], "in the world's ticks")
	}
	require.Greater(t, c.Datagrams, left/4)
	d.ticks(2)
	require.Zero(t, d.core.TicksLeft())
	require.Equal(t, []wire.Code{wire.Draining}, c.Closed)
	late := d.dial()
	late.wantRefused("the run is over", wire.Draining)
	d.ticks(100)
	require.Equal(t, 1, d.left)
}

// A session whose sequence numbers run out ends with a code after which clients reconnect.
func TestSessionIsSpent(t *testing.T) {
	for _, counter := range [][3]string{{"delivery", "sent", "newest"}, {"outbox", "structure", "written"}} {
		d := newTestServer(t)
		c, w := d.enter()
		c.input(wire.Ack{})
		d.ticks(5)
		require.Empty(t, c.Closed)
		viewer := reflect.ValueOf(c.peer.Session()).Elem().FieldByName("viewer").Elem()
		number := viewer.FieldByName(counter[0]).FieldByName(counter[1]).FieldByName(counter[2])
		*(*uint32)(unsafe.Pointer(number.UnsafeAddr())) = math.MaxUint32 - 1<<26 + 1 // months of play
		d.core.Tick()
		require.Equal(t, []wire.Code{wire.Spent}, c.Closed, counter)
		require.True(t, wire.Spent.Info().Retry)
		_, again := d.resume(w)
		require.Zero(t, again.Resumed)
	}
}
