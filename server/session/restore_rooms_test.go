package session

import (
	"context"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/replication/schema"
	"github.com/worldd/worldd/replication/wire"
)

// newSavingRooms returns rooms "one" and "two" whose sessions survive a crash.
func newSavingRooms(t *testing.T, change func(*RouterConfig)) *testRooms {
	return newMovingRoomsWith(t, change, func(c *Config) {
		c.Hooks.SaveSession = func(_ *Session, b []byte) []byte { return b }
		c.Hooks.RestoreSession = func(*Session, []byte) error { return nil }
	})
}

// restore replaces the cores of all rooms by restored ones, and the Router by a new one. The worlds stay.
func (h *testRooms) restore(notes map[string]*Notes) *testRooms {
	next := &testRooms{t: h.t, rooms: map[string]*Core{}}
	config := h.router.config
	config.Join = func(_ context.Context, room, _ string, _ Admission) (*Core, error) { return next.rooms[room], nil }
	config.Move = func(room string, _ *Session) (*Core, error) { return next.rooms[room], nil }
	next.router = must.Get(NewRouter(config))
	for _, name := range []string{"one", "two"} {
		c := h.rooms[name].config
		h.rooms[name].Close()
		c.Schema, c.Router, c.Random = schema.NewWithBody(), next.router, nil
		next.rooms[name] = must.Get(NewCore(c))
		must.Get(next.rooms[name].RestoreSessions(notes[name]))
	}
	return next
}

// saved returns the notes of a room.
func (h *testRooms) saved(room string) *Notes {
	n := &Notes{}
	require.NoError(h.t, n.Add(h.rooms[room].AppendNotes(nil, true)))
	return n
}

// A restored session is found by the Router, counts for OneSessionPerUser, and remembers the worlds that
// it has been in.
func TestRestoredRooms(t *testing.T) {
	h := newSavingRooms(t, func(*RouterConfig) {})
	conn := h.join("one")
	h.tick(5)
	require.NoError(t, h.session(conn).Move("two"))
	h.tick(3)
	w := conn.Welcome()
	h = h.restore(map[string]*Notes{"one": h.saved("one"), "two": h.saved("two")})
	require.Equal(t, []int{0, 1}, []int{h.rooms["one"].Away(), h.rooms["two"].Away()})
	again := h.dial(resume(w, w.Structure))
	h.tick(1)
	require.Equal(t, []any{w.Session, "two", uint8(0)}, []any{again.Welcome().Session, again.Welcome().Room, again.Welcome().Resumed})
	require.Greater(t, again.Welcome().Structure, w.Structure)
	require.Equal(t, []visit{h.rooms["one"].ownVisit}, h.rooms["two"].sessions[0].travel.visited)
	require.Greater(t, h.open().peer.ID(), w.Session+1)
}

// The two rooms between which a crash caught a session both restore it. The room to which it moved keeps
// it, in whichever order they are restored.
func TestRestoredInTwoRooms(t *testing.T) {
	for _, back := range []bool{false, true} {
		from, to := "one", "two"
		if back {
			from, to = to, from
		}
		h := newSavingRooms(t, func(*RouterConfig) {})
		conn := h.join(from)
		h.tick(5)
		w, notes := conn.Welcome(), map[string]*Notes{from: h.saved(from)}
		require.NoError(t, h.session(conn).Move(to))
		h.tick(3)
		notes[to] = h.saved(to)
		h = h.restore(notes)
		h.tick(1)
		require.Equal(t, []int{0, 1}, []int{h.rooms[from].Len(), h.rooms[to].Len()})
		require.Equal(t, 1, h.rooms[to].World().Stats().Entities)
		conn = h.dial(resume(w, 1))
		h.tick(1)
		require.Equal(t, []any{w.Session, to}, []any{conn.Welcome().Session, conn.Welcome().Room})
	}
}

// A user who joins another room after the restart leaves the restored session.
func TestRestoredUser(t *testing.T) {
	h := newUserRooms(t)
	conn := h.dial(toRoom("one"), withToken("ada"))
	h.tick(1)
	require.Len(t, conn.Welcomes, 1)
	h = h.restore(map[string]*Notes{"one": h.saved("one"), "two": h.saved("two")})
	require.Equal(t, "ada", h.rooms["one"].sessions[0].User())
	h.dial(toRoom("two"), withToken("ada"))
	h.tick(2)
	require.Equal(t, []int{0, 1}, []int{h.rooms["one"].Len(), h.rooms["two"].Len()})
}

// newUserRooms returns saving rooms in which a user has one session. The token is the user.
func newUserRooms(t *testing.T) *testRooms { return newUserRoomsOf(t, newSavingRooms) }

func newUserRoomsOf(t *testing.T, newRooms func(*testing.T, func(*RouterConfig)) *testRooms) *testRooms {
	return newRooms(t, func(c *RouterConfig) {
		c.OneSessionPerUser = true
		c.Admit = func(_ context.Context, token []byte) (Admission, error) { return Admission{User: string(token)}, nil }
	})
}

// A room that is restored after its user has begun a session in another room ends the restored one, whether the
// other session plays or has ended: Leave knows that the game's data of the restored session are out of date.
func TestRestoredUserLate(t *testing.T) {
	for _, left := range []bool{false, true} {
		h := newUserRooms(t)
		h.dial(toRoom("one"), withToken("ada"))
		h.dial(toRoom("one"), withToken("bob"))
		h.tick(1)
		late := h.saved("one")
		h = h.restore(map[string]*Notes{"one": {}, "two": {}})
		h.router.SkipIDs(100) // as a server with a journal does
		conn := h.dial(toRoom("two"), withToken("ada"))
		h.tick(1)
		if left {
			must.Do(conn.Send(wire.Bye{}))
			conn.peer.Gone()
			h.tick(2)
		}
		require.Equal(t, !left, h.rooms["two"].Len() == 1)
		var ending []wire.Code
		h.rooms["one"].config.Hooks.Leave = func(s *Session) { ending = append(ending, s.Ending().Code) }
		require.Equal(t, 1, must.Get(h.rooms["one"].RestoreSessions(late)))
		require.Equal(t, []wire.Code{wire.SignedInElsewhere}, ending)
		h.tick(1)
		require.Equal(t, "bob", h.rooms["one"].sessions[0].User())
		require.Equal(t, !left, h.rooms["two"].Len() == 1)
	}
}

// A user whose sessions in two rooms are restored keeps the one that its client resumes first.
func TestRestoredUserTwice(t *testing.T) {
	h := newUserRooms(t)
	h.dial(toRoom("one"), withToken("ada"))
	h.tick(1)
	one := h.saved("one")
	conn := h.dial(toRoom("two"), withToken("ada"))
	h.tick(3) // the rooms tick in any order
	w, two := conn.Welcome(), h.saved("two")
	h = h.restore(map[string]*Notes{"one": one, "two": two})
	require.Equal(t, []int{1, 1}, []int{h.rooms["one"].Len(), h.rooms["two"].Len()})
	again := h.dial(resume(w, w.Structure))
	h.tick(2)
	require.Equal(t, w.Session, again.Welcome().Session)
	require.Equal(t, []int{0, 1}, []int{h.rooms["one"].Len(), h.rooms["two"].Len()})
}

// The newest sessions of many users are bounded, and remember at least the last maxNewest users.
func TestNewestSessionsBound(t *testing.T) {
	var n newestSessions
	for i := range 3 * maxNewest {
		n.recordSession(strconv.Itoa(i), uint64(i))
	}
	require.LessOrEqual(t, len(n.recent)+len(n.older), 2*maxNewest)
	require.True(t, n.replaces(strconv.Itoa(2*maxNewest), 0))
	require.False(t, n.replaces(strconv.Itoa(3*maxNewest-1), 3*maxNewest-1))
	require.False(t, n.replaces("0", 1))
}

// A room that is restored late takes no session from a client that has already resumed it, and none whose id
// another session has.
func TestRestoredLate(t *testing.T) {
	h := newSavingRooms(t, func(*RouterConfig) {})
	conn := h.join("one")
	h.tick(5)
	w, first := conn.Welcome(), h.saved("one")
	require.NoError(t, h.session(conn).Move("two"))
	h.tick(3)
	second := h.saved("two")
	h = h.restore(map[string]*Notes{"one": first, "two": {}})
	conn = h.dial(resume(w, 1))
	h.tick(1)
	h.input(conn, conn.Welcome().Structure)
	h.tick(1)
	require.Zero(t, must.Get(h.rooms["two"].RestoreSessions(second)))
	h.tick(2)
	require.Equal(t, []int{1, 0}, []int{h.rooms["one"].Active(), h.rooms["two"].Len()})
	require.Empty(t, conn.Closed)

	h.router.SkipIDs(500)
	h.router.SkipIDs(400)
	require.EqualValues(t, 501, h.router.Reserve())
}
