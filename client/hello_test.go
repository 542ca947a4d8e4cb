package client

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/replication/wire"
)

// A client whose room is gone or closed asks for the room of its config, once.
func TestRoomGone(t *testing.T) {
	for code, want := range map[wire.Code]bool{wire.NoRoom: true, wire.RoomClosed: true, wire.Draining: false, wire.Kicked: false} {
		g := greeting{room: "match/1"}
		why := &wire.Error{Code: code}
		require.Equal(t, want, g.asksAgain(why, "lobby"), "%v", code)
		g.noteLost(why, "lobby")
		require.Equal(t, map[bool]string{true: "lobby", false: "match/1"}[want], g.room)
		require.False(t, g.asksAgain(why, "lobby"), "once")
	}
}
