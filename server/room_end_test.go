package server

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/internal/stage"
	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/server/imagefile"
	"github.com/worldd/worldd/world"
)

// endedMatches returns rooms whose matches are saved in dir.
func endedMatches(dir string, mode imagefile.JournalMode) func(*RoomsConfig) {
	return func(c *RoomsConfig) {
		c.Images = RoomImages{Dir: dir, Journal: mode, Every: time.Second / 2}
		c.Kinds["match"] = RoomKind{New: c.Kinds["match"].New, MaxImages: 2}
	}
}

// matchFiles lists the folder that holds the images of matches.
func matchFiles(t *testing.T, dir string) (names []string) {
	for path := range filesIn(t, filepath.Join(dir, "match")) {
		names = append(names, filepath.Base(path))
	}
	return names
}

// A room that ends itself tells its sessions why, and leaves no files. Matches that are over take no place among
// the images, and clients do not make them again at once.
func TestRoomEndsItself(t *testing.T) {
	for _, mode := range []imagefile.JournalMode{imagefile.JournalOff, imagefile.JournalEverySecond, imagefile.JournalAlways} {
		dir := t.TempDir()
		inBubble(t, endedMatches(dir, mode), func(h *testRooms) {
			for n := range 5 {
				name := fmt.Sprint("match/", n)
				g := h.mustVisit(name)
				time.Sleep(time.Second)
				images, most := h.images.countImages("match")
				require.Equal(h.t, []int{1, 2}, []int{images, most}, "of the match that is on")
				h.in(name, func(*world.World) {
					require.NoError(h.t, h.existingRoom(name).End("blue wins"))
					require.NoError(h.t, h.existingRoom(name).End("again"))
				})
				time.Sleep(time.Second)
				require.Equal(h.t, []wire.Code{wire.RoomClosed}, g.Snapshot().Closed)
				require.Equal(h.t, wire.Error{Code: wire.RoomClosed, Detail: "blue wins", Token: []byte{}}, g.Snapshot().Ended)
				require.NotContains(h.t, h.names(), name)
				require.Empty(h.t, matchFiles(t, dir), "image, journal and lock")
				h.in(name, nil)
			}
			if mode != imagefile.JournalOff {
				return
			}
			_, err := h.visit("match/1")
			require.Equal(h.t, wire.RoomClosed, wire.CodeOf(err))
			require.NoError(h.t, h.createRoom(context.Background(), "match/1"))
			h.mustVisit("match/1")
			time.Sleep(endedLasts)
			h.mustVisit("match/2")
			require.Less(h.t, h.tick("match/2"), uint64(50), "a new world")
			require.Equal(h.t, 2, h.times()["match/2"])
		})
	}
}

// A pinned room that ends begins again with a new world, and its clients retry.
func TestPinnedRoomEnds(t *testing.T) {
	dir := t.TempDir()
	inBubble(t, endedMatches(dir, imagefile.JournalAlways), func(h *testRooms) {
		g := h.mustVisit("lobby")
		time.Sleep(5 * time.Second)
		require.NoError(h.t, h.existingRoom("lobby").End("a new day"))
		time.Sleep(time.Second)
		require.Equal(h.t, wire.Error{Code: wire.Draining, Detail: "a new day", Token: []byte{}}, g.Snapshot().Ended)
		h.mustVisit("lobby")
		time.Sleep(time.Second)
		require.Less(h.t, h.tick("lobby"), uint64(100))
		require.NoError(h.t, (*Room)(nil).End("no server"))
		require.ErrorIs(h.t, (&Room{}).End("the only world"), ErrNotRooms)
	})
}

// A session that moves before its room ends goes to the other room.
func TestMoveOutOfARoomThatEnds(t *testing.T) {
	inBubble(t, asIs, func(h *testRooms) {
		moves, stays := h.mustVisit("match/1"), h.mustVisit("match/1")
		h.mustVisit("lobby")
		time.Sleep(time.Second)
		from := h.now("match/1")
		require.NoError(h.t, h.existingRoom("match/1").Do(h.t.Context(), func(*world.World) error {
			require.NoError(h.t, from.core.Session(moves.peer.ID()).Move("lobby"))
			return h.existingRoom("match/1").End("over")
		}))
		time.Sleep(time.Second)
		require.Equal(h.t, []wire.Code{wire.OK, wire.RoomClosed}, []wire.Code{moves.code(), stays.code()})
		require.Equal(h.t, "lobby", moves.newestWelcome().Room)
	})
}

// A crash catches a session of which the room that it has left has not heard that it arrived. It ends in the next room, which ends for
// good, and stays ended after another crash, when the room that it has left opens.
func TestArrivalsOfAnEndedRoom(t *testing.T) {
	dir := t.TempDir()
	config := journaledRooms(dir, imagefile.JournalAlways)
	var left map[string]string
	inBubble(t, config, func(h *testRooms) {
		require.NoError(h.t, h.createRoom(h.t.Context(), "match/next"))
		moves := h.mustVisit("match/left")
		time.Sleep(time.Second)
		from := h.now("match/left")
		require.NoError(h.t, h.existingRoom("match/left").Do(h.t.Context(), func(*world.World) error {
			return from.core.Session(moves.peer.ID()).Move("match/next")
		}))
		left = filesIn(t, dir)
		for moves.newestWelcome().Room != "match/next" { // which leaves the server once the arrival is durable
			time.Sleep(time.Millisecond)
		}
		for path, data := range filesIn(t, dir) {
			if strings.HasPrefix(filepath.Base(path), "next.") {
				left[path] = data
			}
		}
	})
	crashTo(t, dir, left)
	inBubble(t, config, func(h *testRooms) {
		require.NoError(h.t, h.createRoom(h.t.Context(), "match/next"))
		require.Equal(h.t, 1, h.away("match/next"))
		require.NoError(h.t, h.existingRoom("match/next").End("over"))
		time.Sleep(time.Second)
		require.NotContains(h.t, storedRooms(t, dir), "next")
	})
	inBubble(t, config, func(h *testRooms) {
		require.NoError(h.t, h.createRoom(h.t.Context(), "match/left"))
		time.Sleep(time.Second)
		require.NotContains(h.t, h.names(), "match/next", "the session does not go on to a new room")
		require.Zero(h.t, h.away("match/left"))
	})
	require.NoError(t, os.WriteFile(filepath.Join(dir, arrivalsFile), []byte("damaged"), 0o600))
	inBubble(t, config, func(h *testRooms) { require.Empty(h.t, h.router.AppendArrivals(nil)) })
}

// A room that ends while the next room of its sessions fails or refuses them is saved, since it has their only durable notes.
// Their clients come again, which restores the room, and continue with the same sessions.
func TestEndWhileTheNextRoomFails(t *testing.T) {
	for name, fails := range map[string]bool{"panics": true, "refuses": false} {
		t.Run(name, func(t *testing.T) { testEndWhileTheNextRoomFails(t, fails) })
	}
}

func testEndWhileTheNextRoomFails(t *testing.T, panics bool) {
	var arrivals atomic.Int32
	dir := t.TempDir()
	inBubble(t, func(c *RoomsConfig) {
		journaledRooms(dir, imagefile.JournalAlways)(c)
		k := c.Kinds["match"]
		made := k.New
		k.Create = ForGame
		k.New = func(q RoomRequest) (*RoomGame, error) {
			g, err := made(q)
			if q.Name == "match/next" {
				join := g.Hooks.Join
				g.Hooks.Join = func(s *Session) (world.Entity, error) {
					if n := arrivals.Add(1); !panics && n == 1 {
						return 0, errors.New("not now")
					}
					return join(s)
				}
				err = errors.Join(err, g.World.AddSystem(world.After, "crash", func(*world.World) {
					if panics && arrivals.CompareAndSwap(1, 2) {
						panic("before the arrival is durable")
					}
				}))
			}
			return g, err
		}
		c.Kinds["match"] = k
	}, func(h *testRooms) {
		require.NoError(h.t, h.createRoom(h.t.Context(), "match/next"))
		require.NoError(h.t, h.createRoom(h.t.Context(), "match/over"))
		moves := h.greet(func(m *wire.Hello) { m.Room = "match/over" })
		before := moves.newestWelcome()
		from := h.now("match/over")
		require.NoError(h.t, h.existingRoom("match/over").Do(h.t.Context(), func(*world.World) error {
			require.NoError(h.t, from.core.Session(moves.peer.ID()).Move("match/next"))
			return h.existingRoom("match/over").End("over")
		}))
		time.Sleep(time.Second)
		require.Positive(h.t, arrivals.Load())
		require.True(h.t, moves.code().Info().Retry, "%v", moves.code())
		ask := func(epoch uint64) *roomClient {
			return h.greet(func(m *wire.Hello) {
				m.Room, m.Epoch, m.Session, m.Secret, m.Structure = "match/over", epoch, before.Session, before.Secret, before.Structure
			})
		}
		require.Equal(h.t, wire.NoRoom, ask(0).code(), "clients ask with the epoch then")
		again := ask(before.Epoch)
		if again.code() == wire.EpochMismatch { // the session is in its next room: clients ask without the epoch then
			again = ask(0)
		}
		require.Equal(h.t, wire.OK, again.code())
		require.Equal(h.t, before.Session, again.newestWelcome().Session)
		require.Equal(h.t, "match/next", again.newestWelcome().Room)
		require.NoError(h.t, h.existingRoom("match/over").End("over"))
		time.Sleep(time.Second)
		require.NotContains(h.t, storedRooms(t, dir), "over")
	})
}

// A crash between the end and the removal of files does not bring the room back (G14).
func TestCrashAfterTheEndOfARoom(t *testing.T) {
	dir := t.TempDir()
	inBubble(t, endedMatches(dir, imagefile.JournalAlways), func(h *testRooms) {
		for _, name := range []string{"match/a", "match/b"} {
			h.mustVisit(name)
		}
		time.Sleep(5 * time.Second)
	})
	for _, id := range []string{"a", "b"} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, "match", id+".image.ended"), nil, 0o600))
	}
	inBubble(t, endedMatches(dir, imagefile.JournalAlways), func(h *testRooms) {
		require.NoError(h.t, h.createRoom(context.Background(), "match/a"))
		require.Less(h.t, h.tick("match/a"), uint64(100))
		time.Sleep(time.Second)
		require.NotContains(h.t, storedRooms(t, dir), "b")
		for _, name := range matchFiles(t, dir) {
			require.NotContains(h.t, name, "ended")
		}
	})
}

// If the files of a room that ends cannot be removed, it is saved as at another end.
func TestEndWithoutRemoval(t *testing.T) {
	r := openJournaled(t, t.TempDir(), imagefile.JournalAlways)
	c := &stage.Conn{}
	openClient(t, r.core, c, 0)
	r.ticks(20)
	require.NoError(t, os.Mkdir(filepath.Join(r.dir, "world.image.ended"), 0o700))
	require.NoError(t, r.endAndRemove())
	require.Equal(t, wire.Draining, c.Ended.Code)
	require.Len(t, r.logs.FilterMessageSnippet("its files cannot be removed").All(), 1)
	require.NotNil(t, must.Get(r.store.Load(stage.NewCrates(world.Config{Seed: 1, MaxEntities: 200}).World)).Image)
}
