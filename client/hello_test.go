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

// A client that resumes and is refused with no-room names the session's run: a server that has come back after a crash opens the
// room for it. If the server does not know the run, or the run has ended, a new session begins.
func TestRoomBeforeACrash(t *testing.T) {
	noRoom, mismatch := &wire.Error{Code: wire.NoRoom}, &wire.Error{Code: wire.EpochMismatch}
	for _, configured := range []string{"lobby", "match/1"} {
		g := greeting{room: "match/1", sent: wire.Hello{Secret: make([]byte, wire.SecretBytes)}}
		require.False(t, g.asksAgain(mismatch, configured))
		require.True(t, g.asksAgain(noRoom, configured))
		g.noteLost(noRoom, configured)
		require.Equal(t, []any{"match/1", byRun}, []any{g.room, g.asks})
		gone := g
		require.Equal(t, configured != "match/1", gone.asksAgain(noRoom, configured))
		gone.noteLost(noRoom, configured)
		require.Equal(t, configured, gone.room)
		require.False(t, configured == "lobby" && gone.asksAgain(noRoom, configured), "once")
		require.True(t, g.asksAgain(mismatch, configured))
		g.noteLost(mismatch, configured)
		require.Equal(t, []any{"match/1", byRoom}, []any{g.room, g.asks}, "it has been opened, for another run")
	}
}
