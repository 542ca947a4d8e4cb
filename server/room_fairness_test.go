package server

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/replication/wire"
)

// joinFrom joins a room as a client of an address, and leaves.
func (h *testRooms) joinFrom(address, room string) wire.Code {
	_, err := h.joinRoom(context.Background(), room, address, Admission{})
	return wire.CodeOf(err)
}

// take creates rooms for an address until it is refused, and returns their number.
func (h *testRooms) take(address string) (n int) {
	for ; ; n++ {
		time.Sleep(time.Second / creationsPerSecond)
		if code := h.joinFrom(address, fmt.Sprintf("match/%x-%d", address, n)); code != wire.OK {
			require.Equal(h.t, wire.ServerFull, code)
			return n
		}
	}
}

// Nine addresses, each with its maximum of rooms, leave rooms for the tenth, even if all their
// rooms have sessions.
func TestFewAddressesLeaveRooms(t *testing.T) {
	inBubble(t, asIs, func(h *testRooms) {
		taken := 0
		for i := range 9 {
			n := h.take(fmt.Sprintf("192.0.2.%d/32", i))
			require.LessOrEqual(t, n, roomsPerAddress)
			taken += n
		}
		require.Less(t, taken, 128-1-2)
		require.Greater(t, h.take("198.51.100.1/32"), 1)
		require.Greater(t, h.take("198.51.100.2/32"), 0)
	})
}

// On a server with its maximum of rooms, an idle room of the address with the most rooms ends
// for a newcomer. Rooms with sessions stay, and so do the operator's rooms and rooms that never
// end by themselves.
func TestIdleRoomEndsForANewcomer(t *testing.T) {
	inBubble(t, func(c *RoomsConfig) {
		c.MaxRooms = 10
		k := c.Kinds["match"]
		c.Kinds["hall"] = RoomKind{New: k.New, IdleAfter: -1}
	}, func(h *testRooms) {
		require.Equal(t, wire.OK, h.joinFrom("", "hall/1"))
		require.NoError(t, h.createRoom(context.Background(), "match/operator"))
		const many, one, player, next = "192.0.2.1/32", "192.0.2.2/32", "192.0.2.3/32", "192.0.2.4/32"
		require.Equal(t, wire.OK, h.joinFrom(one, "match/oldest"))
		time.Sleep(time.Second)
		for i := range 2 {
			require.Equal(t, wire.OK, h.joinFrom(many, fmt.Sprint("match/many-", i)))
			time.Sleep(time.Second)
		}
		for i := range 3 {
			require.Equal(t, wire.OK, h.joinFrom("", fmt.Sprint("match/token-", i)))
		}
		busy := h.mustVisit("match/busy")
		require.Len(t, h.names(), 10)
		time.Sleep(evictableAfter)
		require.Equal(t, wire.ServerFull, h.joinFrom(many, "match/more"), "it has its share")
		require.Equal(t, wire.OK, h.joinFrom(player, "match/new"))
		require.Len(t, h.names(), 10)
		require.NotContains(t, h.names(), "match/many-0")
		require.Contains(t, h.names(), "match/many-1")
		require.Len(t, h.logs.FilterMessageSnippet("ends for another").All(), 1)

		require.Equal(t, wire.OK, h.joinFrom(next, "match/next"))
		require.NotContains(t, h.names(), "match/oldest", "now all have as many")
		require.Equal(t, wire.OK, busy.code())
		for _, name := range []string{"lobby", "hall/1", "match/operator", "match/busy", "match/new"} {
			require.Contains(t, h.names(), name)
		}
	})
}

// The maximum of rooms holds while rooms replace each other: a room begins only when its
// predecessor has ended.
func TestReplacedRoomEndsFirst(t *testing.T) {
	inBubble(t, func(c *RoomsConfig) { c.MaxRooms = 2 }, func(h *testRooms) {
		require.Equal(t, wire.OK, h.joinFrom("", "match/a"))
		time.Sleep(evictableAfter + time.Second)
		var err error
		for range 100 { // Move does not wait, so it is repeated
			now, failed := h.findForMove("match/b", 0)
			err = failed
			if now != nil || err != nil {
				break
			}
			require.LessOrEqual(t, h.worlds(), 2)
			time.Sleep(20 * time.Millisecond)
		}
		require.NoError(t, err)
		require.Equal(t, []string{"lobby", "match/b"}, h.names())
	})
}

// worlds returns the number of rooms that have a world.
func (h *testRooms) worlds() (n int) {
	for _, r := range h.sortedRooms() {
		if r.run.Load() != nil {
			n++
		}
	}
	return n
}

// A client was admitted to a room, and its connection arrives after the room was chosen to end:
// the room stays. The client that waited for the room's place is refused.
func TestEvictionIsGivenUp(t *testing.T) {
	inBubble(t, func(c *RoomsConfig) { c.MaxRooms = 2 }, func(h *testRooms) {
		now := must.Get(h.joinRoom(context.Background(), "match/a", "", Admission{}))
		time.Sleep(evictableAfter + time.Second)
		code := make(chan wire.Code)
		go func() { code <- h.joinFrom("", "match/b") }()
		time.Sleep(time.Millisecond) // part of the second after which the room checks whether it is over
		ctx, end := context.WithCancel(context.Background())
		defer end()
		late := &roomClient{end: end}
		late.peer = now.core.Open(ctx, "here", late)
		require.Equal(t, wire.ServerFull, <-code)
		require.Equal(t, wire.OK, h.joinFrom("", "match/a"))
		require.Equal(t, wire.OK, late.code())
	})
}
