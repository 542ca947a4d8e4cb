package server_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/client"
	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/server"
)

// A client lists rooms without a session, joins one of them by a query, and finds no private one.
func TestClientListsRooms(t *testing.T) {
	h := newRoomServer(t, func(c *server.RoomsConfig) {
		k := c.Kinds["match"]
		k.Visibility, k.MaxSessions = server.Listed, 4
		c.Kinds["match"] = k
		k.Visibility = server.Private
		c.Kinds["secret"] = k
	})
	names := func(query string) (names []string) {
		for _, info := range must.Get(client.Rooms(h.ctx, h.config(), query)) {
			names = append(names, info.Name)
		}
		return names
	}
	require.Empty(t, names(""), "the hall is not listed")
	ranked := h.dialRoom("match?mode=ranked")
	casual := h.dialRoom("match?mode=casual")
	require.NoError(t, h.server.CreateRoom(h.ctx, "secret/1"))
	require.NotEqual(t, ranked.Welcome().Room, casual.Welcome().Room)
	require.Eventually(t, func() bool { return len(names("")) == 2 }, patience, 50*time.Millisecond, "a list is used for half a second")
	require.Empty(t, names("secret?"))
	require.Equal(t, []string{ranked.Welcome().Room}, names("match?mode=ranked"))
	infos := must.Get(client.Rooms(h.ctx, h.config(), "?mode=casual"))
	require.Equal(t, []wire.RoomInfo{{Name: casual.Welcome().Room, Players: 1, Free: 3, Attributes: map[string]string{"mode": "casual"}}}, infos)
	require.NoError(t, h.server.ReserveSeats(h.ctx, casual.Welcome().Room, []string{"ann"}, time.Minute))
	code, text := h.operate(http.MethodGet, "/rooms")
	require.Equal(t, http.StatusOK, code)
	for _, want := range []string{`"visibility":"private"`, `"visibility":"listed"`, `"attributes":{"mode":"casual"}`, `"reserved":1`, `"free":2`} {
		require.Contains(t, strings.ReplaceAll(strings.ReplaceAll(text, " ", ""), "\n", ""), want)
	}
	again := h.dialRoom("match?mode=casual")
	require.Equal(t, casual.Welcome().Room, again.Welcome().Room)

	require.ErrorContains(t, must.Fail(client.Rooms(h.ctx, h.config(), "match?Mode=casual")), "a key of")
}
