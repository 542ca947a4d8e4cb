package server

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/internal/stage"
	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/server/imagefile"
	"github.com/worldd/worldd/server/session"
	"github.com/worldd/worldd/world"
)

// seek connects a client whose Hello asks for room, a name or a query. The caller waits for the answer.
func (h *testRooms) seek(room, user string) *roomClient {
	ctx, end := context.WithCancel(context.Background())
	c := &roomClient{end: end}
	c.peer = h.router.Open(ctx, "127.0.0.1/32", c)
	c.Peer = c.peer
	hello := stage.Hello(nil)
	hello.Room, hello.Token = room, []byte(user)
	_ = c.Send(hello) // a refusal is in Snapshot
	return c
}

// room returns the room that the client has joined, or the refusal's code.
func (c *roomClient) room() string {
	s := c.Snapshot()
	if len(s.Welcomes) == 0 {
		return s.Ended.Code.String()
	}
	return s.Welcomes[len(s.Welcomes)-1].Room
}

// ofMatches changes the kind of matches.
func ofMatches(change func(k *RoomKind)) func(*RoomsConfig) {
	return func(c *RoomsConfig) {
		changeMatches(c, func(k *RoomKind) { k.Visibility = Listed })
		changeMatches(c, change)
	}
}

// R8: of 200 clients that ask at the same time for a room of eight places, each gets one, in 25 rooms, and none is overfull.
func TestStormOfQueries(t *testing.T) {
	const clients, places = 200, 8
	inBubble(t, ofMatches(func(k *RoomKind) { k.MaxSessions = places }), func(h *testRooms) {
		var all sync.WaitGroup
		joined := make([]*roomClient, clients)
		for i := range joined {
			all.Go(func() { joined[i] = h.seek("match?mode=ranked", fmt.Sprint("u", i)) })
		}
		all.Wait()
		time.Sleep(2 * time.Second)
		counts := map[string]int{}
		for _, c := range joined {
			counts[c.room()]++
		}
		require.Len(t, counts, clients/places, "%v", counts)
		for room, n := range counts {
			require.Equal(t, places, n, room)
		}
	})
}

// Clients fill the fullest room that suits, and make another one only if there is none.
func TestQueriesFindRooms(t *testing.T) {
	inBubble(t, ofMatches(func(k *RoomKind) { k.MaxSessions = 3 }), func(h *testRooms) {
		ask := func(query string) string {
			c := h.seek(query, "")
			time.Sleep(time.Second)
			return c.room()
		}
		first := ask("match?mode=ranked")
		require.True(t, strings.HasPrefix(first, "match/"), first)
		require.Equal(t, first, ask("match?mode=ranked"))
		other := ask("match?mode=casual")
		require.NotEqual(t, first, other)
		require.Equal(t, first, ask("match?"), "the fullest of any mode")
		require.Equal(t, other, ask("match?"), "the first is full")
		next := ask("match?mode=ranked")
		require.NotContains(t, []string{first, other}, next)

		room := h.existingRoom(next)
		require.Equal(t, map[string]string{"mode": "ranked"}, room.Listing().Attributes)
		require.NoError(t, room.Do(h.t.Context(), func(*world.World) error {
			return room.SetListing(Listing{Unlisted, map[string]string{"mode": "ranked"}})
		}))
		hidden := ask("match?mode=ranked")
		require.NotContains(t, []string{first, other, next}, hidden, "no query finds an unlisted room")
		require.NoError(t, h.drainRoom(hidden, time.Minute))
		require.NotEqual(t, hidden, ask("match?mode=ranked"), "nor one that is drained")
		for _, bad := range []string{"nothing?mode=ranked", "match?Mode=ranked", "match?mode", "match?mode=a&mode=b", "match?" + strings.Repeat("a", 192) + "=b"} {
			require.Equal(t, "no-room", ask(bad), bad)
		}
	})
}

// A query makes a room only where the client may.
func TestQueriesMayNotMakeRooms(t *testing.T) {
	inBubble(t, ofMatches(func(k *RoomKind) { k.Create, k.IdleAfter = ForTokens, -1 }), func(h *testRooms) {
		c := h.seek("match?mode=ranked", "")
		require.Equal(t, wire.NoRoom, c.code())
		require.NotContains(t, c.Snapshot().Ended.Detail, "match/", "the name of no room")
		place := must.Get(h.directory.findForClient(h.t.Context(), "match?mode=ranked", "", Admission{Room: "match?mode=ranked"}))
		require.True(t, strings.HasPrefix(place.Room().Config().Room, "match/"))
		c = h.seek("match?mode=ranked", "")
		time.Sleep(time.Second)
		require.Equal(t, place.Room().Config().Room, c.room(), "it exists")
	})
}

// The game chooses a room, makes one, or refuses. Its mistakes are the server's fault.
func TestGameChooses(t *testing.T) {
	var seen RoomSeek
	choice := func(RoomSeek) (string, error) { return "", nil }
	inBubble(t, ofMatches(func(k *RoomKind) {
		k.Choose = func(s RoomSeek) (string, error) {
			seen = s
			return choice(s)
		}
	}), func(h *testRooms) {
		ask := func() *roomClient {
			c := h.seek("match?mode=ranked", "ann")
			time.Sleep(time.Second)
			return c
		}
		first, second := ask().room(), ask().room()
		require.NotEqual(t, first, second, "the game makes a new one")
		require.Equal(t, []any{"ann", "match", 1}, []any{seen.User, seen.Query.Kind, len(seen.Rooms)})
		require.Equal(t, wire.RoomInfo{Name: first, Players: 1, Free: session.DefaultMaxSessions - 1, Attributes: map[string]string{"mode": "ranked"}}, seen.Rooms[0])
		choice = func(RoomSeek) (string, error) { return second, nil }
		require.Equal(t, second, ask().room())
		for code, f := range map[wire.Code]func(RoomSeek) (string, error){
			wire.JoinRefused:  func(RoomSeek) (string, error) { return "", errors.New("your rating is too low") },
			wire.Unauthorized: func(RoomSeek) (string, error) { return "", &wire.Error{Code: wire.Unauthorized} },
			wire.Internal:     func(RoomSeek) (string, error) { return "match/nowhere", nil },
		} {
			choice = f
			require.Equal(t, code, ask().code())
		}
		choice = func(RoomSeek) (string, error) { panic("oops") }
		require.Equal(t, wire.Internal, ask().code())
	})
}

// A client that gives up gives its place back.
func TestPlaceOfAClientThatLeaves(t *testing.T) {
	inBubble(t, ofMatches(func(k *RoomKind) { k.MaxSessions = 1 }), func(h *testRooms) {
		place := must.Get(h.directory.findForClient(h.t.Context(), "match?", "", Admission{}))
		name := place.Room().Config().Room
		_, _, free := place.Room().Places()
		require.Zero(t, free)
		time.Sleep(session.HelloTimeout + time.Second)
		_, _, free = place.Room().Places()
		require.Equal(t, 1, free)
		c := h.seek("match?", "")
		time.Sleep(time.Second)
		require.Equal(t, name, c.room())
	})
}

// Sessions move to any room that suits: at once, or when it has been made.
func TestMoveByQuery(t *testing.T) {
	inBubble(t, ofMatches(func(k *RoomKind) { k.MaxSessions, k.Create = 2, ForGame }), func(h *testRooms) {
		var players []*roomClient
		for i := range 5 {
			players = append(players, h.seek("lobby", fmt.Sprint("u", i)))
		}
		time.Sleep(time.Second)
		lobby := h.existingRoom("lobby")
		require.NoError(t, lobby.Do(h.t.Context(), func(*world.World) error {
			for s := range lobby.Sessions() {
				if err := s.Move("match?mode=duel"); err != nil {
					return err
				}
			}
			return nil
		}))
		time.Sleep(2 * time.Second)
		counts := map[string]int{}
		for _, c := range players {
			counts[c.room()]++
			c.leave()
		}
		require.Len(t, counts, 3, "%v", counts)
		for room, n := range counts {
			require.LessOrEqual(t, n, 2, room)
			require.NotEqual(t, "lobby", room)
		}
		require.Empty(t, h.kinds["match"].matching.expected)
	})
}

// No seeker waits for a room that is made private for another: each gets a room of its own, at the same time.
func TestQueriesDoNotAwaitPrivateRooms(t *testing.T) {
	var offered atomic.Int32
	inBubble(t, ofMatches(func(k *RoomKind) {
		k.Visibility = Private
		made := k.New
		k.New = func(q RoomRequest) (*RoomGame, error) {
			time.Sleep(time.Second)
			return made(q)
		}
		k.Choose = func(s RoomSeek) (string, error) {
			offered.Add(int32(len(s.Rooms)))
			return "", nil
		}
	}), func(h *testRooms) {
		var first, second *roomClient
		var both sync.WaitGroup
		both.Go(func() { first = h.seek("match?mode=ranked", "ann") })
		both.Go(func() { second = h.seek("match?mode=ranked", "bob") })
		both.Wait()
		time.Sleep(time.Second / 2)
		require.Contains(h.t, first.room(), "match/")
		require.Contains(h.t, second.room(), "match/")
		require.NotEqual(h.t, first.room(), second.room())
		require.Zero(h.t, offered.Load(), "the game never chooses a private room")
	})
}

// A room that has become private while it was made, or before it panicked, admits no session that asks for any room.
func TestQueriesAvoidRoomsThatBecamePrivate(t *testing.T) {
	hide := func(r *Room) error { return r.SetListing(Listing{Private, map[string]string{"mode": "ranked"}}) }
	for name, hidesEarly := range map[string]bool{"while it is made": true, "before it panicked": false} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			slow := ofMatches(func(k *RoomKind) {
				k.IdleAfter = -1
				made := k.New
				k.New = func(q RoomRequest) (*RoomGame, error) {
					time.Sleep(time.Second)
					g, err := made(q)
					if hidesEarly && err == nil {
						g.Attach = func(r *Room) { _ = hide(r) } // the listing is checked below
					}
					return g, err
				}
			})
			inBubble(t, func(c *RoomsConfig) {
				journaledRooms(dir, imagefile.JournalAlways)(c)
				slow(c)
			}, func(h *testRooms) {
				first, second := h.seek("lobby", "ann"), h.seek("lobby", "bob")
				time.Sleep(time.Second)
				lobby := h.existingRoom("lobby")
				move := func(user string) {
					require.NoError(h.t, lobby.Do(h.t.Context(), func(*world.World) error {
						for s := range lobby.Sessions() {
							if s.User() == user {
								return s.Move("match?mode=ranked")
							}
						}
						return errors.New("no such session")
					}))
				}
				move("ann")
				if hidesEarly {
					move("bob")
				}
				time.Sleep(3 * time.Second)
				own := first.room()
				require.NotEqual(h.t, "lobby", own)
				if !hidesEarly {
					room := h.existingRoom(own)
					require.NoError(h.t, room.Do(h.t.Context(), func(*world.World) error { return hide(room) }))
					var once sync.Once
					h.in(own, func(*world.World) { once.Do(func() { panic("boom") }) })
					time.Sleep(time.Second / 2)
					move("bob")
					time.Sleep(3 * time.Second)
				}
				require.Equal(h.t, Private, h.existingRoom(own).Listing().Visibility)
				require.NotEqual(h.t, own, second.room())
				require.Equal(h.t, hidesEarly, second.room() == "lobby", "a refused session stays, a later one gets a room of its own")
				require.Empty(h.t, h.kinds["match"].matching.expected)
			})
		})
	}
}

// A private room admits users with a seat, tokens, and nobody else: others learn no more than of a room that does not exist.
func TestPrivateRooms(t *testing.T) {
	inBubble(t, ofMatches(func(k *RoomKind) { k.Visibility, k.Create, k.IdleAfter = Private, ForGame, -1 }), func(h *testRooms) {
		require.NoError(t, h.createRoom(h.t.Context(), "match/1"))
		s := &Server{rooms: h.rooms}
		require.NoError(t, s.ReserveSeats(h.t.Context(), "match/1", []string{"ann"}, time.Minute))
		answer := func(room, user string) wire.Refused {
			c := h.seek(room, user)
			time.Sleep(time.Second)
			text := strings.ReplaceAll(c.Snapshot().Ended.Detail, room, "NAME")
			return wire.Refused{Code: c.code(), Text: text}
		}
		require.Equal(t, wire.NoRoom, answer("match/1", "eve").Code)
		require.Equal(t, answer("match/2", "eve"), answer("match/1", "eve"))
		require.Equal(t, answer("match/2", ""), answer("match/1", ""))
		require.Equal(t, wire.NoRoom, answer("match?", "ann").Code, "no query finds it")
		require.Equal(t, "match/1", func() string {
			c := h.seek("match/1", "ann")
			time.Sleep(time.Second)
			return c.room()
		}())
		require.Equal(t, wire.NoRoom, answer("match/1", "ann").Code, "the seat is used")
		must.Get(h.joinRoom(h.t.Context(), "match/1", "", Admission{Room: "match/1"}))
	})
}

// Listing and seats come back with the room: after it was closed, and after a panic.
func TestRecordOfRooms(t *testing.T) {
	dir := t.TempDir()
	inBubble(t, func(c *RoomsConfig) {
		c.Images.Dir = dir
		ofMatches(func(k *RoomKind) { k.IdleAfter = -1 })(c)
	}, func(h *testRooms) {
		c := h.mustVisit("match/1")
		time.Sleep(time.Second)
		room := h.existingRoom("match/1")
		own := Listing{Private, map[string]string{"mode": "ranked", "map": "dünen"}}
		require.NoError(t, room.Do(h.t.Context(), func(*world.World) error {
			if err := room.ReserveSeats([]string{"ann"}, 5*time.Minute); err != nil {
				return err
			}
			return room.SetListing(own)
		}))
		require.ErrorContains(t, room.SetListing(Listing{Attributes: map[string]string{"A": "b"}}), "a key of")
		require.ErrorContains(t, room.SetListing(Listing{Visibility: 3}), "visibility 3")
		require.Equal(t, own, room.Listing())
		c.leave()
		time.Sleep(time.Minute)
		require.NoError(t, h.drainRoom("match/1", 0))
		time.Sleep(2 * time.Second)
		require.NoError(t, h.createRoom(h.t.Context(), "match/1"))
		again := h.existingRoom("match/1")
		require.NotSame(t, room, again)
		require.Equal(t, own, again.Listing())
		require.True(t, h.hasSeat("match/1", "ann"))

		var once sync.Once
		h.in("match/1", func(*world.World) { once.Do(func() { panic("boom") }) })
		time.Sleep(2 * time.Second)
		require.EqualValues(t, 1, h.kindReports()[1].RoomPanics)
		require.Equal(t, own, h.existingRoom("match/1").Listing())
		require.True(t, h.hasSeat("match/1", "ann"))
	})
}

// Seats that were used, and a listing that became usual again, stay so after a crash: the image before still has a record of them.
func TestRecordThatEndsBeforeACrash(t *testing.T) {
	dir := t.TempDir()
	config := func(c *RoomsConfig) {
		journaledRooms(dir, imagefile.JournalAlways)(c)
		c.Images.Every = 30 * time.Second
	}
	change := func(h *testRooms, l Listing, seats func(*Room) error) {
		room := h.existingRoom("match/1")
		require.NoError(h.t, room.Do(h.t.Context(), func(*world.World) error { return errors.Join(seats(room), room.SetListing(l)) }))
	}
	var epoch uint64
	killInBubble(t, config, dir, func(h *testRooms) {
		require.NoError(h.t, h.createRoom(h.t.Context(), "match/1"))
		epoch = h.now("match/1").core.Config().Epoch
		change(h, Listing{Private, map[string]string{"mode": "ranked"}}, func(r *Room) error { return r.ReserveSeats([]string{"ann"}, 5*time.Minute) })
		time.Sleep(31 * time.Second)
		change(h, Listing{}, func(r *Room) error { return r.ReserveSeats([]string{"ann"}, 0) })
		time.Sleep(time.Second / 10)
	})
	inBubble(t, config, func(h *testRooms) {
		require.NoError(h.t, h.createRoom(h.t.Context(), "match/1"))
		require.Equal(h.t, epoch, h.now("match/1").core.Config().Epoch, "the run continues")
		require.False(h.t, h.hasSeat("match/1", "ann"))
		require.Equal(h.t, Listing{}, h.existingRoom("match/1").Listing())
	})
}

// A damaged record is refused, and the Extra of a game without one is its own.
func TestRecordIsChecked(t *testing.T) {
	room := &Room{}
	room.listing.Store(newListing(Listing{}))
	k := &roomRecord{room: room}
	require.Empty(t, k.appendTo(nil), "games without listings save nothing more")
	room.listing.Store(newListing(Listing{Listed, map[string]string{"a": "b"}}))
	whole := k.appendTo([]byte("game"))
	extra := must.Get(k.takeFrom(whole))
	require.Equal(t, "game", string(extra))
	require.Equal(t, whole, append(extra, k.appendTo(nil)...))
	for _, other := range []string{"", "game", strings.Repeat("x", 40)} {
		extra := must.Get(k.takeFrom([]byte(other)))
		require.Equal(t, other, string(extra))
	}
	for i := len("game"); i < len(whole)-len(recordMark); i++ {
		bad := []byte(string(whole))
		bad[i] ^= 0x80
		require.ErrorIs(t, must.Fail(k.takeFrom(bad)), errRecord, "byte %d", i)
	}
}

// A long list comes in pages, each bounded in bytes, without gaps.
func TestPagesOfRooms(t *testing.T) {
	inBubble(t, asIs, func(h *testRooms) {
		for i := range 1000 {
			h.directory.listed = append(h.directory.listed, wire.RoomInfo{
				Name: fmt.Sprintf("match/%s-%04d", strings.Repeat("x", 50), i), Players: i, Free: 1, Attributes: map[string]string{"mode": fmt.Sprint(i % 2)},
			})
		}
		h.directory.listedAt = time.Now()
		var found []wire.RoomInfo
		asked := wire.ListRooms{Query: "match?mode=1"}
		pages := 0
		for more := uint8(1); more == 1; pages++ {
			list := h.directory.listRooms(asked)
			require.LessOrEqual(t, len(list.Rooms), wire.MaxRoomList)
			infos := must.Get(list.Infos())
			found, more = append(found, infos...), list.More
			asked.After = infos[len(infos)-1].Name
		}
		require.Equal(t, 3, pages)
		require.Len(t, found, 500)
		for i, info := range found {
			require.Equal(t, 2*i+1, info.Players)
		}
		require.Empty(t, h.directory.listRooms(wire.ListRooms{Query: "lobby?"}).Rooms)
		time.Sleep(listFor)
		require.Empty(t, h.directory.listRooms(asked).Rooms, "no room is listed")
		require.NotEmpty(t, h.directory.listedAt)
	})
}
