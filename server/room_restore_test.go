package server

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/stage"
	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/server/imagefile"
)

// greet sends a Hello over a new connection, as clients do.
func (h *testRooms) greet(change func(*wire.Hello)) *roomClient {
	ctx, end := context.WithCancel(context.Background())
	c := &roomClient{end: end}
	c.peer = h.router.Open(ctx, "198.51.100.1/32", c)
	c.Peer = c.peer
	hello := stage.Hello(nil)
	change(&hello)
	require.NoError(h.t, c.Send(hello))
	time.Sleep(time.Second)
	return c
}

// newestWelcome returns the newest Welcome.
func (c *roomClient) newestWelcome() wire.Welcome {
	all := c.Snapshot().Welcomes
	return all[len(all)-1]
}

// After a crash a client is led back to the restored room of its session, although it could not create the room. If the run
// does not continue, it begins a new session there. Only the room's epoch opens it.
func TestClientReturnsToARestoredRoom(t *testing.T) {
	for mode, continues := range map[imagefile.JournalMode]bool{imagefile.JournalAlways: true, imagefile.JournalEverySecond: false} {
		dir := t.TempDir()
		config := func(c *RoomsConfig) {
			journaledRooms(dir, mode)(c)
			k := c.Kinds["match"]
			k.Create = ForGame
			c.Kinds["match"] = k
		}
		var before wire.Welcome
		var left map[string]string
		inBubble(t, config, func(h *testRooms) {
			require.NoError(h.t, h.createRoom(context.Background(), "match/a"))
			before = h.greet(func(m *wire.Hello) { m.Room = "match/a" }).newestWelcome()
			time.Sleep(2 * time.Second)
			left = filesIn(t, dir)
		})
		for path := range filesIn(t, dir) {
			require.NoError(t, os.Remove(path))
		}
		for path, data := range left { // as a crash leaves them
			require.NoError(t, os.WriteFile(path, []byte(data), 0o600))
		}
		inBubble(t, config, func(h *testRooms) {
			resume := func(m *wire.Hello) {
				m.Room, m.Session, m.Secret, m.Epoch, m.Structure = "match/a", before.Session, before.Secret, before.Epoch, before.Structure
			}
			stranger := h.greet(func(m *wire.Hello) {
				resume(m)
				m.Epoch++
			})
			require.Equal(h.t, wire.NoRoom, stranger.Snapshot().Ended.Code)
			require.NotContains(h.t, h.names(), "match/a")

			back := h.greet(resume)
			if !continues {
				require.Equal(h.t, wire.EpochMismatch, back.Snapshot().Ended.Code)
				back = h.greet(func(m *wire.Hello) { m.Room = "match/a" })
			}
			require.Equal(h.t, wire.OK, back.code())
			require.Equal(h.t, "match/a", back.newestWelcome().Room)
			require.Equal(h.t, continues, back.newestWelcome().Session == before.Session)
			require.Equal(h.t, continues, back.newestWelcome().Epoch == before.Epoch)
		})
	}
}

// Clients that ask for sessions of earlier processes cause few searches of the disk.
func TestFloodOfRestores(t *testing.T) {
	dir := t.TempDir()
	inBubble(t, journaledRooms(dir, imagefile.JournalAlways), func(h *testRooms) {
		for range 500 {
			h.restoreRoom(h.t.Context(), "match/a", 1)
		}
		require.Less(h.t, h.restores.Tokens(), 1.0)
		require.Greater(h.t, h.creations.Tokens(), float64(creationBurst-2), "of those who create rooms")
		h.mustVisit("match/a")
	})
}
