package server

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/world"
)

// R7: a backend reserves seats in a room that does not exist yet. The users get them although the room and the server are
// full for all others.
func TestReservedSeats(t *testing.T) {
	inBubble(t, func(c *RoomsConfig) {
		k := c.Kinds["match"]
		k.Create, k.MaxSessions, k.IdleAfter = ForGame, 3, 2*time.Second
		c.Kinds["match"] = k
		c.MaxSessions = 3
	}, func(h *testRooms) {
		s := &Server{rooms: h.rooms}
		reserve := func(room string, users ...string) error {
			return s.ReserveSeats(context.Background(), room, users, 10*time.Second)
		}
		require.NoError(t, reserve("match/1", "ann", "bob"))
		require.Equal(t, wire.ServerFull, wire.CodeOf(reserve("match/1", "cat", "dan")))
		require.Equal(t, wire.NoRoom, wire.CodeOf(reserve("other/1", "ann")))
		require.ErrorIs(t, reserve("other/1", "ann"), ErrNotRun)
		require.Equal(t, wire.BadArguments, wire.CodeOf(reserve("match/1")))
		time.Sleep(5 * time.Second)
		require.Equal(t, []string{"lobby", "match/1"}, h.names(), "a room with seats does not end")

		h.mustVisit("lobby")
		time.Sleep(time.Second)
		_, err := h.visit("lobby")
		require.Equal(t, wire.ServerFull, wire.CodeOf(err), "seats count against the limit of all rooms")
		ann, err := h.joinRoom(context.Background(), "match/1", "", Admission{User: "ann"})
		require.NoError(t, err)
		require.Same(t, h.now("match/1"), ann)
		time.Sleep(10 * time.Second)
		require.Equal(t, []string{"lobby"}, h.names(), "the seats have expired")
	})
}

// The game reserves seats in its own room, and gives them up.
func TestRoomReservesSeats(t *testing.T) {
	inBubble(t, func(c *RoomsConfig) {
		k := c.Kinds["match"]
		k.MaxSessions = 1
		c.Kinds["match"] = k
	}, func(h *testRooms) {
		h.mustVisit("match/1").leave()
		time.Sleep(time.Second)
		room := h.existingRoom("match/1")
		require.NoError(t, room.Do(context.Background(), func(*world.World) error { return room.ReserveSeats([]string{"ann"}, time.Minute) }))
		require.True(t, h.hasSeat("match/1", "ann"))
		require.False(t, h.hasSeat("match/1", ""))
		require.NoError(t, room.Do(context.Background(), func(*world.World) error {
			room.ReleaseSeats([]string{"ann"})
			return nil
		}))
		require.False(t, h.hasSeat("match/1", "ann"))
		var none *Room
		require.NoError(t, none.ReserveSeats([]string{"ann"}, time.Minute))
		none.ReleaseSeats(nil)
	})
}
