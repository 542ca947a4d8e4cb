package session

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/replication/schema"
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
	h := newSavingRooms(t, func(c *RouterConfig) {
		c.OneSessionPerUser = true
		c.Admit = func(_ context.Context, token []byte) (Admission, error) { return Admission{User: string(token)}, nil }
	})
	conn := h.dial(toRoom("one"), withToken("ada"))
	h.tick(1)
	require.Len(t, conn.Welcomes, 1)
	h = h.restore(map[string]*Notes{"one": h.saved("one"), "two": h.saved("two")})
	require.Equal(t, "ada", h.rooms["one"].sessions[0].User())
	h.dial(toRoom("two"), withToken("ada"))
	h.tick(2)
	require.Equal(t, []int{0, 1}, []int{h.rooms["one"].Len(), h.rooms["two"].Len()})
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
