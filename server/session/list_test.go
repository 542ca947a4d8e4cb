package session

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/internal/stage"
	"github.com/worldd/worldd/replication/wire"
)

// listConn is a connection that keeps the lists of rooms that it receives.
type listConn struct {
	stage.Conn
	frames wire.FrameReader
	lists  []wire.RoomList
}

func (c *listConn) SendStream(p []byte) bool {
	c.frames.Feed(p)
	for {
		kind, body, ok, err := c.frames.Next()
		if err != nil || !ok {
			break
		}
		if kind == wire.TypeRoomList {
			c.lists = append(c.lists, must.Get(wire.Parse[wire.RoomList](body)))
		}
	}
	return true
}

// A connection gets a few lists before its Hello, in a session one more after some ticks, and ends if it asks for more.
func TestLists(t *testing.T) {
	asked := 0
	h := newTestRooms(t, func(c *RouterConfig) {
		c.List = func(m wire.ListRooms) wire.RoomList {
			asked++
			return wire.RoomList{Rooms: fmt.Sprintf("room/%d 0 1 \n", asked)}
		}
	})
	h.add("one")
	open := func() *listConn {
		c := &listConn{}
		c.Peer = h.router.Open(t.Context(), "", c)
		return c
	}
	c := open()
	for i := range listBurst {
		require.NoError(t, c.Send(wire.ListRooms{Query: "room?"}))
		require.Len(t, c.lists, i+1, "at once, in order")
	}
	require.Equal(t, wire.TooFast, wire.CodeOf(c.Send(wire.ListRooms{})))
	require.Equal(t, listBurst, asked, "the refused one costs nothing")

	c = open()
	hello := stage.Hello(nil)
	hello.Room = "one"
	require.NoError(t, c.Send(wire.ListRooms{}))
	require.NoError(t, c.Send(hello))
	h.tick(1)
	for range listBurst - 1 {
		require.NoError(t, c.Send(wire.ListRooms{}))
	}
	for range 3 {
		h.tick(listTicks)
		require.NoError(t, c.Send(wire.ListRooms{}))
	}
	require.Len(t, c.lists, listBurst+3)
	require.Equal(t, wire.TooFast, wire.CodeOf(c.Send(wire.ListRooms{})))
	require.Equal(t, wire.BadMessage, wire.CodeOf(open().Send(wire.ListRooms{Query: "?A=b"})))
}

// A server of one world has no rooms to list.
func TestListOfOneWorld(t *testing.T) {
	h := newTestRooms(t, func(*RouterConfig) {})
	core := h.add("one")
	c := &listConn{}
	c.Peer = core.Open(t.Context(), "", c)
	require.NoError(t, c.Send(wire.ListRooms{}))
	require.Equal(t, []wire.RoomList{{}}, c.lists)
}

// A query finds a room by RouterConfig.Find, where a place is held. The query of a token prevails over the room of the Hello, which may be
// of an earlier session.
func TestQueries(t *testing.T) {
	var asked []string
	var h *testRooms
	h = newTestRooms(t, func(c *RouterConfig) {
		c.Admit = func(_ context.Context, token []byte) (Admission, error) { return Admission{Room: string(token)}, nil }
		c.Find = func(_ context.Context, query, _ string, _ Admission) (*Place, error) {
			asked = append(asked, query)
			if place := h.rooms["one"].HoldPlace(); place != nil {
				return place, nil
			}
			return nil, &wire.Error{Code: wire.ServerFull}
		}
	})
	one := h.add("one")
	require.NoError(t, one.SetLimits(3, 0))
	for _, c := range []struct{ room, token string }{{"room?a=b", ""}, {"", "room?"}, {"two", "room?"}} {
		require.Equal(t, "one", h.dialled(toRoom(c.room), withToken(c.token)).Welcome().Room)
	}
	require.Equal(t, []string{"room?a=b", "room?", "room?"}, asked)
	_, kept, free := one.Places()
	require.Equal(t, []int{0, 0}, []int{kept, free}, "the places are taken")
	require.Equal(t, wire.ServerFull, h.dialled(toRoom("room?")).Ended.Code)
	require.Equal(t, wire.Unauthorized, h.dialled(toRoom("room?"), withToken("one")).Ended.Code)
}

// dialled connects a client, and lets a tick answer it.
func (h *testRooms) dialled(changes ...func(*wire.Hello)) *roomClient {
	conn := h.dial(changes...)
	h.tick(1)
	return conn
}
