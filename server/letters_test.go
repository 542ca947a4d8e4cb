package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/server/imagefile"
	"github.com/worldd/worldd/server/session"
	"github.com/worldd/worldd/world"
)

var sayings = DefineRoomMessage[string]("saying")

// hearing notes what rooms are told, beyond their ends.
type hearing struct {
	mu    sync.Mutex
	heard map[string][]string // by room
}

// listen makes the games of matches note what they are told.
func (x *hearing) listen(c *RoomsConfig) {
	changeGames(c, func(q RoomRequest, g *RoomGame) {
		g.Hooks.Told = []Told{OnTold(sayings, func(_ *world.World, from, m string) {
			x.mu.Lock()
			defer x.mu.Unlock()
			if x.heard == nil {
				x.heard = map[string][]string{}
			}
			x.heard[q.Name] = append(x.heard[q.Name], from+": "+m)
		})}
	})
}

// by returns what a room was told, and forgets it.
func (x *hearing) by(room string) []string {
	x.mu.Lock()
	defer x.mu.Unlock()
	heard := x.heard[room]
	delete(x.heard, room)
	return heard
}

// within runs f on the goroutine that owns a room's world.
func (h *testRooms) within(room string, f func(r *Room) error) {
	var err error
	require.NoError(h.t, h.now(room).loop.runBetweenTicks(context.Background(), func() { err = f(h.existingRoom(room)) }))
	require.NoError(h.t, err)
}

func (h *testRooms) tell(from, to, m string) {
	h.within(from, func(r *Room) error { return r.Tell(to, sayings.With(m)) })
}

func (h *testRooms) announce(from, kind, m string) {
	h.within(from, func(r *Room) error { return r.Announce(kind, sayings.With(m)) })
}

// letters returns the numbers of letters with the results that have any.
func (h *testRooms) letterCounts() map[string]int {
	counts := map[string]int{}
	for result, n := range h.router.Stats().Letters {
		if n > 0 {
			counts[result.String()] = int(n)
		}
	}
	return counts
}

// A room that does not run is told nothing, and is not made (M4). A nil Room tells nobody.
func TestTellMakesNoRoom(t *testing.T) {
	heard := &hearing{}
	inBubble(t, heard.listen, func(h *testRooms) {
		h.mustVisit("match/a")
		h.mustVisit("match/b")
		h.tell("match/a", "match/c", "hello")
		h.tell("match/a", "match/b", "hello")
		h.announce("match/b", "match", "to matches")
		h.announce("match/b", "lobby", "to lobbies, which do not listen")
		time.Sleep(time.Second)
		require.Equal(t, []string{"lobby", "match/a", "match/b"}, h.names())
		require.Equal(t, []string{"match/a: hello"}, heard.by("match/b"))
		require.Equal(t, []string{"match/b: to matches"}, heard.by("match/a"))
		require.Equal(t, map[string]int{"delivered": 2, "no_room": 1}, h.letterCounts())
		require.NoError(t, errors.Join((*Room)(nil).Tell("match/a", sayings.With("")), (*Room)(nil).Announce("", sayings.With(""))))
	})
}

// A room that a crash takes back repeats ticks, but tells nothing again that it has told: each message says its tick, and no tick comes
// twice (M1, M3). The crashes are a panic after the message, and a kill of the process.
func TestRoomTellsOnceOverCrashes(t *testing.T) {
	dir, heard := t.TempDir(), &hearing{}
	var fails atomic.Bool
	config := func(c *RoomsConfig) {
		journaledRooms(dir, imagefile.JournalAlways)(c)
		heard.listen(c)
		changeGames(c, func(q RoomRequest, g *RoomGame) {
			if q.Name != "match/a" {
				return
			}
			var room *Room // nil while the journal is repeated
			g.Attach = func(r *Room) { room = r }
			must.Do(g.World.AddSystem(world.Before, "tell", func(w *world.World) {
				must.Do(room.Tell("match/b", sayings.With(fmt.Sprintf("%06d", w.Tick()))))
				if fails.Swap(false) {
					panic("a mistake")
				}
			}))
		})
	}
	var told []string
	hear := func(atLeast int) {
		now := heard.by("match/b")
		require.Greater(t, len(now), atLeast)
		told = append(told, now...)
	}
	var left map[string]string
	inBubble(t, config, func(h *testRooms) {
		h.mustVisit("match/a")
		h.mustVisit("match/b")
		time.Sleep(3 * time.Second)
		fails.Store(true)
		time.Sleep(3 * time.Second)
		require.NotEmpty(t, h.logs.FilterMessage("the room panicked: its sessions end").All())
		hear(200)
		left = filesIn(t, dir)
	})
	heard.by("match/b") // told after the kill
	crashTo(t, dir, left)
	inBubble(t, config, func(h *testRooms) {
		h.mustVisit("match/b")
		h.mustVisit("match/a")
		time.Sleep(3 * time.Second)
		hear(100)
	})
	for i := range len(told) - 1 {
		require.Less(t, told[i], told[i+1])
	}
}

// Rooms of two nodes tell each other in order, single rooms and all of a kind.
func TestRoomsOfTwoNodesTellEachOther(t *testing.T) {
	heard := &hearing{}
	inTwoServers(t, heard.listen, func(x *twoServers) {
		ctx := context.Background()
		require.NoError(t, x.a.createRoom(ctx, "match/1"))
		require.NoError(t, x.a.createRoom(ctx, "match/2"))
		require.NoError(t, x.b.createRoom(ctx, "match/3"))
		for n := range 5 {
			x.a.tell("match/1", "match/3", fmt.Sprint(n))
		}
		x.a.announce("match/1", "match", "all")
		x.a.tell("match/1", "match/4", "runs nowhere")
		x.b.tell("match/3", "match/2", "back")
		time.Sleep(time.Second)
		want := []string{"match/1: 0", "match/1: 1", "match/1: 2", "match/1: 3", "match/1: 4", "match/1: all"}
		require.Equal(t, want, heard.by("match/3"))
		require.ElementsMatch(t, []string{"match/1: all", "match/3: back"}, heard.by("match/2"))
		require.Empty(t, heard.by("match/1"))
		require.Equal(t, map[string]int{"delivered": 2, "no_room": 1}, x.a.letterCounts())
		require.NotContains(t, x.b.names(), "match/4")
	})
}

// A request whose outcome is unknown is not repeated, whether it has arrived or not. Of one that comes twice, or after a newer
// one, each message is dropped (M1, M2). A node that is silent delays no message by more than a request.
func TestMessagesBetweenNodesArriveAtMostOnce(t *testing.T) {
	heard := &hearing{}
	inTwoServers(t, heard.listen, func(x *twoServers) {
		ctx := context.Background()
		require.NoError(t, x.a.createRoom(ctx, "match/1"))
		require.NoError(t, x.b.createRoom(ctx, "match/3"))
		say := func(m string) {
			x.a.tell("match/1", "match/3", m)
			time.Sleep(time.Second)
			synctest.Wait()
		}
		var requests [][]byte
		carried := func(f func(to *testNode, b []byte) error) func(*testNode, []byte) error {
			return func(to *testNode, b []byte) error {
				requests = append(requests, b)
				return f(to, b)
			}
		}
		lost := errors.New("no answer")
		x.nodeA.mail = carried(func(to *testNode, b []byte) error { return errors.Join(to.hears(b), to.hears(b), lost) })
		say("arrives")
		x.nodeA.mail = carried(func(*testNode, []byte) error { return lost })
		say("does not")
		x.nodeA.mail = carried(func(to *testNode, b []byte) error { return to.hears(b) })
		say("then")
		require.Len(t, requests, 3)
		require.NoError(t, x.nodeB.hears(requests[1]), "very late")
		time.Sleep(time.Second)
		require.Equal(t, []string{"match/1: arrives", "match/1: then"}, heard.by("match/3"))
		require.Equal(t, map[string]int{"unsent": 2}, x.a.letterCounts())
		require.Equal(t, map[string]int{"delivered": 2, "late": 2}, x.b.letterCounts())

		var next []stampedLetter // of a later taking of the room, whose node counts from 1
		require.NoError(t, json.Unmarshal(requests[2], &next))
		next[0].Epoch, next[0].Number = next[0].Epoch+1, 1
		require.NoError(t, x.nodeB.hears(must.Get(json.Marshal(next))))
		say("of the node that has lost the room")
		require.Equal(t, []string{"match/1: then"}, heard.by("match/3"))
		require.ErrorContains(t, x.nodeB.hears([]byte(`{"from":`)), "not messages of rooms")

		x.nodeA.mail = func(*testNode, []byte) error {
			time.Sleep(batchTimeout)
			return lost
		}
		for range maxQueued + 3 {
			x.a.letters.post(session.Letter{From: "match/1", To: "match/3", Name: "saying", Body: []byte(`"waits"`)})
		}
		time.Sleep(batchTimeout + time.Second)
		synctest.Wait()
		require.Empty(t, x.a.letters.queues)
		counts := x.a.letterCounts()
		require.Equal(t, maxQueued+3, counts["full"]+counts["unsent"]-2)
		require.Len(t, x.a.logs.FilterMessage("messages of rooms have perhaps not reached another node").All(), 2, "once in a row")
	})
}

// A room that may not run now tells nobody (C1): another node may run it.
func TestFrozenRoomTellsNobody(t *testing.T) {
	heard := &hearing{}
	inTwoServers(t, heard.listen, func(x *twoServers) {
		require.NoError(t, x.a.createRoom(context.Background(), "match/1"))
		require.NoError(t, x.a.createRoom(context.Background(), "match/2"))
		x.nodeA.grant("match/1").runs.Store(false)
		x.a.letters.post(session.Letter{From: "match/1", To: "match/2", Name: "saying", Body: []byte(`"hello"`)})
		time.Sleep(time.Second)
		require.Empty(t, heard.by("match/2"))
		require.Equal(t, map[string]int{"ended": 1}, x.a.letterCounts())
		x.nodeA.grant("match/1").runs.Store(true)
	})
}

// Messages of rooms from another node are not trusted: they make no room, and cost no memory beyond their number.
func FuzzRoomMessages(f *testing.F) {
	f.Add([]byte(`[{"From":"match/1","To":"match/2","Name":"saying","Body":"aGk=","epoch":1,"number":2}]`))
	f.Add([]byte(`[{"From":"match/1","Kind":"match","Name":"saying","epoch":18446744073709551615,"number":1},{}]`))
	f.Add([]byte(`[null]`))
	h := newTestRooms(f, withoutPinned)
	f.Fuzz(func(t *testing.T, b []byte) {
		x := newLetters(h.rooms)
		var sent []stampedLetter
		require.Equal(t, json.Unmarshal(b, &sent) == nil, x.receive(b) == nil)
		require.LessOrEqual(t, len(x.newest), len(sent))
		require.Empty(t, h.names())
	})
}
