package server

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"

	"github.com/worldd/worldd/internal/admin"
	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/internal/stage"
	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/server/imagefile"
	"github.com/worldd/worldd/server/session"
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
// does not continue, it begins a new session there. Only the room's epoch opens it: clients ask without it first, as they would
// join any run, and then with it. A flood of others does not end this.
func TestClientReturnsToARestoredRoom(t *testing.T) {
	for _, how := range []struct {
		mode              imagefile.JournalMode
		edited, continues bool
	}{{imagefile.JournalAlways, false, true}, {imagefile.JournalAlways, true, false}, {imagefile.JournalEverySecond, false, false}} {
		dir, continues := t.TempDir(), how.continues
		config := func(c *RoomsConfig) {
			journaledRooms(dir, how.mode)(c)
			changeMatches(c, func(k *RoomKind) { k.Create = ForGame })
			changeGames(c, func(_ RoomRequest, g *RoomGame) {
				g.Extra = func(b []byte) []byte { return append(b, "before"...) }
				g.Edited = func(extra []byte) bool {
					require.Equal(t, "before", string(extra), "without the record of the room")
					return how.edited
				}
			})
		}
		var before wire.Welcome
		killInBubble(t, config, dir, func(h *testRooms) {
			require.NoError(h.t, h.createRoom(context.Background(), "match/a"))
			before = h.greet(func(m *wire.Hello) { m.Room = "match/a" }).newestWelcome()
			time.Sleep(2 * time.Second)
		})
		inBubble(t, config, func(h *testRooms) {
			resume := func(m *wire.Hello) {
				m.Room, m.Session, m.Secret, m.Epoch, m.Structure = "match/a", before.Session, before.Secret, before.Epoch, before.Structure
			}
			for _, epoch := range []uint64{0, before.Epoch + 1} {
				refused := h.greet(func(m *wire.Hello) {
					resume(m)
					m.Epoch = epoch
				})
				require.Equal(h.t, wire.NoRoom, refused.Snapshot().Ended.Code)
				require.NotContains(h.t, h.names(), "match/a")
			}

			for range 3 * searchBurst { // an attacker
				go func() { _ = h.restoreRoom(h.t.Context(), "match/a", "203.0.113.1/32", 1) }()
			}
			synctest.Wait()
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

// A private room that is being made, or that has failed, answers like a room that does not exist, except to clients that know its run.
func TestPrivateRoomIsRestoredForThoseWhoKnowIt(t *testing.T) {
	dir, fails := t.TempDir(), false
	config := func(c *RoomsConfig) {
		journaledRooms(dir, imagefile.JournalAlways)(c)
		k := c.Kinds["match"]
		made := k.New
		k.Create, k.Visibility = ForGame, Private
		k.New = func(q RoomRequest) (*RoomGame, error) {
			if fails {
				time.Sleep(2 * time.Second)
				return nil, errors.New("it fails")
			}
			return made(q)
		}
		c.Kinds["match"] = k
	}
	var epoch uint64
	killInBubble(t, config, dir, func(h *testRooms) {
		require.NoError(h.t, h.createRoom(h.t.Context(), "match/a"))
		epoch = h.now("match/a").core.Config().Epoch
		time.Sleep(time.Second / 10)
	})
	fails = true
	inBubble(t, config, func(h *testRooms) {
		ask := func(room string, epoch uint64) wire.Code {
			return wire.CodeOf(h.restoreRoom(h.t.Context(), room, "203.0.113.1/32", epoch))
		}
		strangers := func() {
			began := time.Now()
			for _, room := range []string{"match/a", "match/none"} {
				require.Equal(h.t, wire.OK, ask(room, 0), room)
				require.Equal(h.t, wire.OK, ask(room, epoch+1), room)
				_, err := h.joinRoom(h.t.Context(), room, "203.0.113.1/32", Admission{})
				require.Equal(h.t, wire.NoRoom, wire.CodeOf(err), room)
			}
			require.Zero(h.t, time.Since(began), "nobody waits for it")
		}
		knows := make(chan wire.Code)
		go func() { knows <- ask("match/a", epoch) }()
		synctest.Wait()
		require.Contains(h.t, h.names(), "match/a")
		strangers()
		require.Equal(h.t, wire.Internal, <-knows)
		strangers()
		require.Equal(h.t, wire.Internal, ask("match/a", epoch))
	})
}

// After a crash new rooms are made before the client of a stored room returns: they have other blocks of generations, so that the
// stored room continues its run.
func TestStoredRoomsKeepTheirBlocks(t *testing.T) {
	dir := t.TempDir()
	config := journaledRooms(dir, imagefile.JournalAlways)
	var before []wire.Welcome
	killInBubble(t, config, dir, func(h *testRooms) {
		for _, room := range []string{"match/a", "match/b"} {
			before = append(before, h.greet(func(m *wire.Hello) { m.Room = room }).newestWelcome())
		}
		time.Sleep(2 * time.Second)
	})
	inBubble(t, config, func(h *testRooms) {
		for _, room := range []string{"match/c", "match/d", "match/e"} {
			require.Equal(h.t, wire.OK, h.greet(func(m *wire.Hello) { m.Room = room }).code())
		}
		for _, was := range before {
			back := h.greet(func(m *wire.Hello) {
				m.Room, m.Session, m.Secret, m.Structure = was.Room, was.Session, was.Secret, was.Structure
			})
			require.Equal(h.t, was.Epoch, back.newestWelcome().Epoch)
			require.Equal(h.t, was.Session, back.newestWelcome().Session)
		}
	})
}

// Clients that ask for sessions of earlier processes cause few searches of the disk, and a flood of one address delays
// others little. A client that cannot be served may retry: it does not begin another session.
func TestFloodOfRestores(t *testing.T) {
	const attacker = "203.0.113.1/32"
	inBubble(t, journaledRooms(t.TempDir(), imagefile.JournalAlways), func(h *testRooms) {
		ask := func(address string) wire.Code {
			return wire.CodeOf(h.restoreRoom(h.t.Context(), "match/a", address, 1))
		}
		for range searchBurst {
			require.Equal(h.t, wire.OK, ask(attacker))
		}
		flood := func(n int, address func(i int) string) map[wire.Code]int {
			codes, each := map[wire.Code]int{}, make(chan wire.Code)
			for i := range n {
				go func() { each <- ask(address(i)) }()
			}
			for range n {
				codes[<-each]++
			}
			return codes
		}
		done := make(chan map[wire.Code]int)
		go func() { done <- flood(500, func(int) string { return attacker }) }()
		synctest.Wait()
		began := time.Now()
		require.Equal(h.t, wire.OK, ask("198.51.100.1/32"))
		require.Less(h.t, time.Since(began), time.Second)
		require.Equal(h.t, map[wire.Code]int{wire.OK: searchesPerAddress, wire.ServerFull: 500 - searchesPerAddress}, <-done)
		require.Empty(h.t, h.searches.waiting)

		codes := flood(500, func(i int) string { return fmt.Sprintf("10.0.%d.%d/32", i/250, i%250) })
		require.True(h.t, wire.ServerFull.Info().Retry)
		require.Equal(h.t, 500, codes[wire.OK]+codes[wire.ServerFull])
		require.InDelta(h.t, session.HelloTimeout.Seconds()*searchesPerSecond, codes[wire.OK], searchesPerAddress)

		require.Greater(h.t, h.creations.Tokens(), float64(creationBurst-2), "of those who create rooms")
		h.mustVisit("match/a")
	})
}

// After a hand-over all clients return at once, behind one address too: none waits, up to the limit of sessions.
func TestReturnsAfterAHandOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // a search becomes free every 50 ms
		c := RoomsConfig{Kinds: map[string]RoomKind{"match": {New: func(RoomRequest) (*RoomGame, error) { return nil, nil }}}, MaxSessions: 300}
		m := must.Get(newRooms(Config{Rooms: &c, Log: zap.NewNop(), Sockets: &Sockets{}}, admin.NewTimings(admin.KindLabel)))
		ctx, end := context.WithTimeout(t.Context(), time.Minute)
		defer end()
		now := time.Now()
		for range c.MaxSessions {
			require.NoError(t, m.searches.awaitTurn(ctx, "203.0.113.1/32"))
		}
		require.Less(t, m.searches.limiter.TokensAt(now), 1.0)
		require.NoError(t, m.endRooms())
	})
}

// Clients of one address open as many stored rooms as they may create, and no bound on addresses holds for rooms that the
// game has created. A cordoned server opens none.
func TestRestoredRoomsOfOneAddress(t *testing.T) {
	const address, stored = "203.0.113.1/32", roomsPerAddress + 1
	dir := t.TempDir()
	config := func(c *RoomsConfig) {
		journaledRooms(dir, imagefile.JournalAlways)(c)
		k := c.Kinds["match"]
		k.Create = ForGame
		c.Kinds["duel"] = k
	}
	epochs := map[string]uint64{}
	killInBubble(t, config, dir, func(h *testRooms) {
		for i := range stored {
			for _, kind := range []string{"match", "duel"} {
				name := fmt.Sprintf("%s/%d", kind, i)
				require.NoError(h.t, h.createRoom(h.t.Context(), name))
				epochs[name] = h.now(name).core.Config().Epoch
			}
		}
		time.Sleep(time.Second / 10)
	})
	inBubble(t, config, func(h *testRooms) {
		restore := func(kind, address string) (codes map[wire.Code]int) {
			codes = map[wire.Code]int{}
			for i := range stored {
				name := fmt.Sprintf("%s/%d", kind, i)
				codes[wire.CodeOf(h.restoreRoom(h.t.Context(), name, address, epochs[name]))]++
			}
			return codes
		}
		h.router.Cordon()
		require.Equal(h.t, map[wire.Code]int{wire.OK: stored}, restore("match", address))
		require.Equal(h.t, []string{"lobby"}, h.names())
		h.router.Uncordon()

		require.Equal(h.t, map[wire.Code]int{wire.OK: roomsPerAddress, wire.ServerFull: stored - roomsPerAddress}, restore("match", address))
		require.Len(h.t, h.names(), 1+roomsPerAddress)
		require.Equal(h.t, map[wire.Code]int{wire.OK: stored}, restore("match", "198.51.100.1/32"), "the remaining ones")
		require.Equal(h.t, map[wire.Code]int{wire.OK: stored}, restore("duel", address))
		require.Len(h.t, h.names(), 1+2*stored)
	})
}

// killInBubble is inBubble for a process that is killed at the end of the test. It returns what this leaves in dir.
func killInBubble(t *testing.T, change func(*RoomsConfig), dir string, test func(h *testRooms)) (left map[string]string) {
	inBubble(t, change, func(h *testRooms) {
		test(h)
		left = filesIn(t, dir)
	})
	crashTo(t, dir, left)
	return left
}

// crashTo leaves a folder with the files that it had at a crash.
func crashTo(t *testing.T, dir string, left map[string]string) {
	for path := range filesIn(t, dir) {
		require.NoError(t, os.Remove(path))
	}
	for path, data := range left {
		require.NoError(t, os.WriteFile(path, []byte(data), 0o600))
	}
}
