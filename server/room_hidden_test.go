package server

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/admin"
	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/replication/wire"
)

// R8: where passes are not to be had, a node sends those clients to a private room of another node that the room admits: users with a seat,
// with a token for the room, or with a session in its run. For all others there is no such room.
func TestPrivateRoomOfAnotherNode(t *testing.T) {
	inTwoServers(t, func(c *RoomsConfig) {
		c.Kinds["duel"] = RoomKind{New: c.Kinds["match"].New, Visibility: Private}
		c.Carry, c.Arrive = nil, nil
	}, func(x *twoServers) {
		for _, room := range []string{"duel/1", "match/hidden", "match/open"} {
			require.NoError(t, x.b.createRoom(context.Background(), room))
		}
		require.NoError(t, x.b.existingRoom("match/hidden").SetListing(Listing{Visibility: Private}))
		x.rooms = map[string]string{"cat": "duel/1"}
		s := &Server{rooms: x.b.rooms}
		code := func(room, token string) wire.Code { return greetAs(x.a, room, token).Snapshot().Ended.Code }
		for _, room := range []string{"duel/1", "match/hidden"} {
			require.NoError(t, s.ReserveSeats(context.Background(), room, []string{"bob"}, time.Minute))
			require.Equal(t, wire.NoRoom, code(room, "eve"))
			require.Equal(t, wire.Moved, code(room, "bob"))
			run := x.b.now(room).core.Config().Epoch
			for epoch, want := range map[uint64]wire.Code{run: wire.Moved, run + 1: wire.NoRoom} {
				c := x.a.greet(func(m *wire.Hello) {
					m.Room, m.Epoch, m.Session, m.Secret, m.Token = room, epoch, 7, make([]byte, wire.SecretBytes), []byte("dan")
				})
				require.Equal(t, want, c.Snapshot().Ended.Code)
			}
		}
		require.Equal(t, wire.Moved, code("duel/1", "cat"))
		spent := x.tokens["eve"]
		require.Equal(t, wire.Moved, code("match/open", "eve"))
		require.Equal(t, spent, x.tokens["eve"], "the other node admits it")

		older := func(q seatQuestion) error {
			if q.Ask == askShow {
				return errBadQuestion
			}
			return nil
		}
		peers := x.nodeA.peers
		for _, fault := range []func(){func() { x.nodeB.cut = older }, func() { x.nodeA.peers = nil }} {
			fault()
			require.Equal(t, wire.Draining, code("duel/1", "eve"), "the room may admit the client")
			require.Equal(t, wire.Draining, code("duel/1", "cat"))
			require.Equal(t, wire.Moved, code("match/open", "eve"))
		}
		x.nodeA.peers, x.nodeB.cut = peers, nil

		x.a.process.Admit, x.a.process.OneSessionPerUser = nil, false
		x.a.rooms = must.Get(newRooms(x.a.process, admin.NewTimings(admin.KindLabel)))
		require.Equal(t, wire.NoRoom, code("duel/1", ""))
		require.Equal(t, wire.NoRoom, code("match/hidden", ""))
		require.Equal(t, wire.Moved, code("match/open", ""))
	})
}
