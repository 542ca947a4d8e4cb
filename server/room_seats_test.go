package server

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/server/imagefile"
	"github.com/worldd/worldd/world"
)

// R7: a backend reserves seats in a room that does not exist yet. The users get them although the room and the server are
// full for all others.
func TestReservedSeats(t *testing.T) {
	inBubble(t, func(c *RoomsConfig) {
		changeMatches(c, func(k *RoomKind) { k.Create, k.MaxSessions, k.IdleAfter = ForGame, 3, 2*time.Second })
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
		require.ErrorIs(t, reserve("match/2"), ErrNotRun)
		require.Equal(t, []string{"lobby", "match/1"}, h.names(), "no room is made for seats that nobody can have")
		giveUp := func(room, user string) error { return s.ReserveSeats(context.Background(), room, []string{user}, 0) }
		require.NoError(t, giveUp("match/1", "bob"))
		require.NoError(t, reserve("match/1", "bob", "cat"), "two of the three places were free")
		require.NoError(t, giveUp("match/1", "cat"))
		require.NoError(t, giveUp("match/2", "ann"))
		require.Equal(t, []string{"lobby", "match/1"}, h.names(), "no room is made to give up seats")
		time.Sleep(5 * time.Second)
		require.Equal(t, []string{"lobby", "match/1"}, h.names(), "a room with seats does not end")

		h.mustVisit("lobby")
		time.Sleep(time.Second)
		_, err := h.visit("lobby")
		require.Equal(t, wire.ServerFull, wire.CodeOf(err), "seats count against the limit of all rooms")
		ann := must.Get(h.joinRoom(context.Background(), "match/1", "", Admission{User: "ann"}))
		require.Same(t, h.now("match/1"), ann)
		time.Sleep(10 * time.Second)
		require.Equal(t, []string{"lobby"}, h.names(), "the seats have expired")
	})
}

// Seats outlast the process: a client whose token names the room opens it, although clients make no rooms of its kind.
func TestSeatsAfterACrash(t *testing.T) {
	dir := t.TempDir()
	config := func(c *RoomsConfig) {
		journaledRooms(dir, imagefile.JournalAlways)(c)
		changeMatches(c, func(k *RoomKind) { k.Create, k.Visibility, k.MaxSessions = ForGame, Private, 1 })
	}
	killInBubble(t, config, dir, func(h *testRooms) {
		s := &Server{rooms: h.rooms}
		require.NoError(h.t, s.ReserveSeats(context.Background(), "match/1", []string{"ann"}, time.Minute))
	})
	inBubble(t, config, func(h *testRooms) {
		join := func(name, user, room string) (*run, error) {
			return h.joinRoom(context.Background(), name, "", Admission{User: user, Room: room})
		}
		for _, a := range []Admission{{User: "ann"}, {User: "ann", Room: "match/2"}} {
			_, err := join("match/1", a.User, a.Room)
			require.Equal(h.t, wire.NoRoom, wire.CodeOf(err))
		}
		_, err := join("match/2", "ann", "match/2")
		require.Equal(h.t, wire.NoRoom, wire.CodeOf(err), "nothing is stored")
		require.True(h.t, must.Get(join("match/1", "ann", "match/1")).core.HasSeat("ann"))
		_, err = join("match/1", "ann", "")
		require.NoError(h.t, err, "the seat opens it")
	})
}

// The game reserves seats in its own room, and gives them up.
func TestRoomReservesSeats(t *testing.T) {
	inBubble(t, func(c *RoomsConfig) {
		changeMatches(c, func(k *RoomKind) { k.MaxSessions = 1 })
	}, func(h *testRooms) {
		h.mustVisit("match/1").leave()
		time.Sleep(time.Second)
		room := h.existingRoom("match/1")
		require.NoError(t, room.Do(context.Background(), func(*world.World) error {
			require.Zero(t, room.Seats())
			require.NoError(t, room.ReserveSeats([]string{"ann"}, time.Minute))
			require.Equal(t, 1, room.Seats())
			return nil
		}))
		require.True(t, h.hasSeat("match/1", "ann"))
		require.False(t, h.hasSeat("match/1", ""))
		require.NoError(t, room.Do(context.Background(), func(*world.World) error {
			return room.ReserveSeats([]string{"ann"}, 0)
		}))
		require.False(t, h.hasSeat("match/1", "ann"))
		var none *Room
		require.NoError(t, none.ReserveSeats([]string{"ann"}, time.Minute))
		require.Zero(t, none.Seats())
	})
}
