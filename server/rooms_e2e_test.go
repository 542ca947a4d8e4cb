package server_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/client"
	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/replication/schema"
	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/server"
	"github.com/worldd/worldd/world"
)

// roomMaker makes rooms for tests of a whole server.
type roomMaker struct {
	t     testing.TB
	panic atomic.Pointer[string] // the room that panics in its next step
}

func (b *roomMaker) game(q server.RoomRequest) (*server.RoomGame, error) {
	w, err := world.New(world.Config{MaxEntities: 64, FirstGeneration: q.Generations.First, LastGeneration: q.Generations.Last})
	if err != nil {
		return nil, err
	}
	crate, err := w.AddKind(world.Kind{Name: "crate", Body: &world.BodyDef{Radius: 1}})
	if err != nil {
		return nil, err
	}
	name := q.Name
	err = w.AddSystem(world.Before, "fuse", func(*world.World) {
		if b.panic.CompareAndSwap(&name, nil) {
			panic("the fuse blew")
		}
	})
	return &server.RoomGame{WorldConfig: server.WorldConfig{
		World: w, Schema: schema.NewWithBody(),
		Hooks: server.Hooks{
			Join: func(*server.Session) (world.Entity, error) {
				return w.Spawn(crate, world.Vec3{}, world.Vec3{})
			},
			Leave: func(s *server.Session) { w.Destroy(s.Entity()) },
			Commands: []server.Command{server.OnRawCommand("go", func(s *server.Session, _ world.Entity, room []byte) error {
				return s.Move(string(room[1:])) // after the header of MessagePack
			}), server.OnRawCommand("blow", func(s *server.Session, _ world.Entity, _ []byte) error {
				b.panic.Store(&name)
				return nil
			})},
		},
	}}, err
}

func newRoomServer(t testing.TB, change func(*server.RoomsConfig), also ...func(*server.Config)) *testServer {
	b := &roomMaker{t: t}
	rooms := &server.RoomsConfig{
		Kinds:   map[string]server.RoomKind{"hall": {New: b.game, Pinned: true}, "match": {New: b.game, MaxRooms: 3, IdleAfter: -1}},
		Default: "hall",
	}
	change(rooms)
	return newTestServerWith(t, func(c *server.Config) {
		*c = server.Config{Listen: c.Listen, AdminListen: c.AdminListen, Rooms: rooms}
		for _, change := range also {
			change(c)
		}
	})
}

func (h *testServer) dialRoom(room string) *client.Client {
	config := h.config()
	config.Room = room
	c := must.Get(client.Dial(h.ctx, config))
	h.t.Cleanup(func() { _ = c.Close() }) // it may have ended
	h.until(c, "sees those in the room", func() bool { return c.Replica().Len() > 0 })
	return c
}

type shownRoom struct {
	Name, Kind, State, Epoch string
	Players                  int
}

func (h *testServer) shown() (rooms []shownRoom) {
	code, text := h.operate(http.MethodGet, "/rooms")
	require.Equal(h.t, http.StatusOK, code)
	require.NoError(h.t, json.Unmarshal([]byte(text), &rooms))
	return rooms
}

// A server that is stopped before its pinned rooms are ready ends without an error.
func TestStoppedAtOnce(t *testing.T) {
	b := &roomMaker{t: t}
	s := must.Get(server.Listen(server.Config{Listen: "127.0.0.1:0", Rooms: &server.RoomsConfig{
		Kinds: map[string]server.RoomKind{"hall": {New: b.game, Pinned: true}}, Default: "hall",
	}}))
	ctx, stop := context.WithCancel(t.Context())
	stop()
	require.NoError(t, s.Serve(ctx))
}

// A server whose pinned rooms are not made reports no tick, so that nothing takes it for serving.
func TestNotServingYet(t *testing.T) {
	failed := errors.New("no database")
	s := must.Get(server.Listen(server.Config{Listen: "127.0.0.1:0", Rooms: &server.RoomsConfig{
		Kinds:   map[string]server.RoomKind{"hall": {New: func(server.RoomRequest) (*server.RoomGame, error) { return nil, failed }, Pinned: true}},
		Default: "hall",
	}}))
	require.Zero(t, s.Report().LastTick)
	require.ErrorContains(t, s.Serve(t.Context()), failed.Error())
	require.Zero(t, s.Report().LastTick)
}

// Clients reach the rooms that they name over one port. An operator sees and ends the rooms.
func TestClientsReachRooms(t *testing.T) {
	t.Parallel()
	h := newRoomServer(t, func(*server.RoomsConfig) {})
	t.Cleanup(http.DefaultClient.CloseIdleConnections)
	a, b, c := h.dialRoom(""), h.dialRoom("match/1"), h.dialRoom("match/1")
	require.Equal(t, []string{"hall", "match/1", "match/1"}, []string{a.Welcome().Room, b.Welcome().Room, c.Welcome().Room})
	require.NotEqual(t, a.Welcome().Epoch, b.Welcome().Epoch)
	require.Equal(t, wire.Stale, a.Resolve(b.Controlled()), "of another room")
	h.until(b, "sees the other", func() bool { return b.Replica().Len() == 2 })
	h.stay(a, b, c)
	config := h.config()
	for _, room := range []string{"nowhere", "match/../x", "hall/UPPER"} {
		config.Room = room
		_, err := client.Dial(h.ctx, config)
		require.Equal(t, wire.NoRoom, wire.CodeOf(err), room)
	}
	h.stay(a, b, c)

	for _, room := range []string{"hall", "match/1"} {
		for _, s := range h.rows("?room=" + room) {
			require.Contains(t, []uint64{a.Welcome().Session, b.Welcome().Session, c.Welcome().Session}, s.ID)
		}
	}
	require.Len(t, h.rows("?room=match/1"), 2)
	require.Eventually(t, func() bool { return len(h.rows("")) == 3 }, patience, time.Millisecond, "rooms whose ticks are late are left out")
	staying := []*client.Client{a, b, c}
	do := func(path string, want int) {
		t.Helper()
		h.stay(staying...)
		code, text := h.operate(http.MethodPost, path)
		require.Equal(t, want, code, "%s: %s", path, text)
	}
	do("/rooms/create?room=match/2", http.StatusOK)
	do("/rooms/create?room=match/2", http.StatusOK)
	do("/rooms/create?room=match/3", http.StatusOK)
	do("/rooms/create?room=match/4", http.StatusConflict)
	do("/rooms/create?room=../4", http.StatusNotFound)
	do("/seats?room=match/2&user=ann&user=bob&seconds=2", http.StatusOK)
	do("/seats?room=match/2&user=ann&seconds=601", http.StatusBadRequest)
	do("/seats?room=match/2", http.StatusBadRequest)
	do("/seats?room=match/2&user=bob&seconds=0", http.StatusOK)
	do("/seats?room=nowhere&user=ann", http.StatusNotFound)
	do("/seats?room=match/5&user=ann", http.StatusConflict)
	do("/rooms/create", http.StatusBadRequest)
	do("/rooms/close?room=match/9", http.StatusNotFound)
	do("/rooms/drain?room=match/1&seconds=-1", http.StatusBadRequest)
	do("/rooms/drain?room=match/1", http.StatusOK)
	states := map[string]string{}
	for _, r := range h.shown() {
		states[r.Name] = r.State
	}
	require.Equal(t, map[string]string{"hall": "open", "match/1": "draining", "match/2": "open", "match/3": "open"}, states)
	do("/rooms/close?room=match/1", http.StatusOK)
	h.stay(a)
	require.Equal(t, wire.RoomClosed, wire.CodeOf(h.ends(b)))
	code, _ := h.operate(http.MethodPost, fmt.Sprintf("/sessions/%d/kick", a.Welcome().Session))
	require.Equal(t, http.StatusOK, code)
	require.Equal(t, wire.Kicked, wire.CodeOf(h.ends(a)))

	code, _ = h.operate(http.MethodGet, "/readyz")
	require.Equal(t, http.StatusOK, code)
	for _, line := range []string{
		`worldd_rooms{room_kind="match"} 2`, `worldd_sessions_joined_total{room_kind="match"} 2`, `worldd_sessions_joined_total{room_kind="hall"} 1`,
		`worldd_tick_duration_seconds_count{phase="all",room_kind="hall"}`, `worldd_clients{transport="quic"} 0`,
		`worldd_sessions_ended_total{code="no-room",room_kind=""} 3`, `worldd_connections_refused_total{room_kind=""} 3`, `worldd_hook_panics_total{hook="admit",room_kind=""} 0`,
	} {
		for text := ""; !strings.Contains(text, line); { // published once a second
			require.NoError(t, h.ctx.Err(), line)
			code, text = h.operate(http.MethodGet, "/metrics")
			require.Equal(t, http.StatusOK, code, text)
			time.Sleep(time.Millisecond)
		}
	}
	code, _ = h.operate(http.MethodGet, "/ticks")
	require.Equal(t, http.StatusOK, code)
	report := h.server.Report()
	require.EqualValues(t, 3, report.Sessions.Refused)
	require.EqualValues(t, 3, report.Sessions.Closed[wire.NoRoom])
}

// A client whose room has panicked returns to the room by itself, in a session of the next run,
// which has another epoch.
func TestClientOfARoomThatPanics(t *testing.T) {
	dir := t.TempDir()
	h := newRoomServer(t, func(c *server.RoomsConfig) { c.Images.Dir = dir })
	other := h.dialRoom("hall")
	v := h.dialMobile(func(c *client.Config) { c.Room = "match/1" })
	h.stay(other)
	before := v.Welcome()
	must.Get(v.DoRaw("blow", 0, nil))
	for v.Welcome().Epoch == before.Epoch {
		require.NoError(t, v.Wait(h.ctx))
		require.NoError(t, v.Update())
		h.stay(other)
	}
	require.Equal(t, "match/1", v.Welcome().Room)
	require.Greater(t, v.Welcome().GenerationFloor, before.GenerationFloor)
	require.Equal(t, client.Joined, other.State())
	require.NoError(t, errors.Join(v.Close()))
}

// The game moves sessions to rooms over the same connection. The rooms are made for them.
func TestMoveBetweenRooms(t *testing.T) {
	h := newRoomServer(t, func(c *server.RoomsConfig) {
		k := c.Kinds["match"]
		k.Create = server.ForGame
		c.Kinds["match"] = k
	})
	a, b := h.dialRoom(""), h.dialRoom("")
	h.until(a, "sees the other", func() bool { return a.Replica().Len() == 2 })
	before, own := a.Welcome(), a.Controlled()
	text := func(short string) []byte { return append([]byte{0xa0 | byte(len(short))}, short...) }
	for _, room := range []string{"nowhere", "match/../x"} {
		q := must.Get(a.DoRaw("go", 0, text(room)))
		for {
			if answer, ok := q.Poll(); ok {
				require.Error(t, answer.Err)
				break
			}
			require.NoError(t, a.Wait(h.ctx))
			h.stay(a, b)
		}
	}
	for _, c := range []*client.Client{a, b} {
		must.Get(c.DoRaw("go", 0, text("match/1")))
		h.until(c, "is in the match", func() bool { h.stay(a, b); return c.Welcome().Room == "match/1" && c.Replica().Len() > 0 })
	}
	require.Equal(t, before.Session, a.Welcome().Session)
	require.NotEqual(t, before.Epoch, a.Welcome().Epoch)
	require.Equal(t, wire.Stale, a.Resolve(own))
	h.until(a, "sees the other again", func() bool { h.stay(a, b); return a.Replica().Len() == 2 })
}
