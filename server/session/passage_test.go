package session

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/world"
)

// newDurableRooms returns rooms "one" and "two" with journals, whose Value is a text.
func newDurableRooms(t *testing.T, change func(*RouterConfig)) *testRooms {
	return newMovingRoomsWith(t, change, func(c *Config) {
		c.HoldOutput = true
		c.Hooks.SaveSession = func(s *Session, b []byte) []byte { return append(b, s.Value().(string)...) }
		c.Hooks.RestoreSession = func(s *Session, saved []byte) error {
			s.SetValue(string(saved))
			return nil
		}
	})
}

// release makes all frames of a room durable.
func (h *testRooms) release(room string) { h.rooms[room].Release(h.rooms[room].world.Tick()) }

// leaveForTwo returns a session that has left room one for room two, and room one's notes.
func (h *testRooms) leaveForTwo(hello ...func(*wire.Hello)) (conn *roomClient, notes *Notes) {
	conn = h.dial(append(hello, toRoom("one"))...)
	h.rooms["one"].Tick()
	h.release("one")
	s := h.session(conn)
	s.SetValue("sword")
	h.rooms["one"].config.Hooks.Leave = func(s *Session) {
		h.rooms["one"].world.Destroy(s.Entity())
		s.SetValue("sword and score")
	}
	must.Do(s.Move("two"))
	h.rooms["one"].Tick()
	return conn, h.saved("one")
}

// A session enters the next room once its departure is durable. The departure is forgotten once the next room has the session, and
// the arrival once that is durable.
func TestDeparture(t *testing.T) {
	h := newDurableRooms(t, func(*RouterConfig) {})
	one, two := h.rooms["one"], h.rooms["two"]
	conn, notes := h.leaveForTwo()
	require.Equal(t, 1, notes.Sessions())
	two.Tick()
	require.Nil(t, h.session(conn), "no crash may leave the session in room two without its departure")
	require.False(t, one.CloseIfEmpty(), "the session would be on no disk")
	h.release("one")
	two.Tick()
	require.Equal(t, "two", h.session(conn).Room())
	one.Tick()
	require.Equal(t, 1, h.saved("one").Sessions())
	require.Len(t, h.saved("two").arrived, 1)
	h.release("two")
	one.Tick()
	require.Zero(t, h.saved("one").Sessions())
	two.Tick()
	require.Len(t, h.saved("two").arrived, 1, "a crash may bring the departure back")
	h.release("one")
	two.Tick()
	require.Empty(t, h.saved("two").arrived)
	require.Equal(t, byte(notePlainVersion), two.AppendNotes(nil, true)[0], "earlier programs read it")
	require.True(t, one.CloseIfEmpty())
}

// Clients whose sessions wait between two rooms delay no others, however many they are.
func TestWaitingHellosDelayNobody(t *testing.T) {
	h := newDurableRooms(t, func(*RouterConfig) {})
	one, two := h.rooms["one"], h.rooms["two"]
	most := (joinsPerSecond + two.world.TickHz() - 1) / two.world.TickHz()
	var left, waiting []*roomClient
	for range most {
		left = append(left, h.dial(toRoom("one")))
	}
	one.Tick()
	h.release("one")
	for _, c := range left {
		h.session(c).SetValue("sword")
		must.Do(h.session(c).Move("two"))
	}
	one.Tick()
	for _, c := range left {
		c.peer.Gone()
		waiting = append(waiting, h.dial(resume(c.Welcome(), 1)))
	}
	newcomer := h.dial(toRoom("two"))
	two.Tick()
	require.NotNil(t, newcomer.peer.Session())
	h.release("one")
	two.Tick()
	two.Tick()
	for _, c := range waiting {
		require.Empty(t, c.Closed)
		require.NotNil(t, c.peer.Session())
	}
	require.Equal(t, most+1, two.Active())
}

// A session that a crash has caught between two rooms continues to the second with the Value that Leave has set. If the second
// refuses it, it returns to the first. Meanwhile it may end as any other.
func TestRestoredDeparture(t *testing.T) {
	for name, c := range map[string]struct {
		change func(h *testRooms, id uint64)
		in     string
		code   wire.Code // that counts the end
	}{
		"continues": {func(*testRooms, uint64) {}, "two", 0},
		"is refused": {func(h *testRooms, _ uint64) {
			h.rooms["two"].config.Hooks.Join = func(*Session) (world.Entity, error) { return 0, errors.New("members only") }
		}, "one", 0},
		"has no room": {func(h *testRooms, _ uint64) {
			h.router.config.Move = func(string, *Session) (*Core, error) { return nil, errors.New("no such room") }
		}, "one", 0},
		"is kicked": {func(h *testRooms, id uint64) { h.router.Kick(id, "out") }, "", wire.Kicked},
		"is banned": {func(h *testRooms, _ uint64) { h.rooms["one"].SetBans([]string{"ada"}) }, "", wire.Banned},
		"is late": {func(h *testRooms, _ uint64) {
			h.router.config.Move = func(string, *Session) (*Core, error) { return nil, nil }
			for range h.rooms["one"].graceTicks {
				h.rooms["one"].Tick()
			}
		}, "", wire.Timeout},
		"is replaced": {func(h *testRooms, _ uint64) {
			h.router.config.Move = func(string, *Session) (*Core, error) { return nil, nil }
			h.dial(withToken("ada"), toRoom("two"))
		}, "", wire.SignedInElsewhere},
	} {
		t.Run(name, func(t *testing.T) {
			h := newUserRoomsOf(t, newDurableRooms)
			conn, notes := h.leaveForTwo(withToken("ada"))
			w := conn.Welcome()
			h.rooms["one"].config.Hooks.Leave = func(*Session) { t.Error("Leave is called again") }
			h = h.restore(map[string]*Notes{"one": notes, "two": {}})
			h.router.SkipIDs(100)
			one := h.rooms["one"]
			var refused []error
			one.config.Hooks.MoveRefused = func(_ *Session, _ string, why error) { refused = append(refused, why) }
			c.change(h, w.Session)
			again := h.dial(resume(w, w.Structure), withToken("ada"))
			h.tick(5)
			for name := range h.rooms {
				h.release(name)
			}
			h.tick(2)
			if c.in == "" {
				require.Nil(t, one.Session(w.Session))
				require.Positive(t, one.Stats().Closed[c.code])
				require.Zero(t, h.saved("one").Sessions())
				return
			}
			s := h.rooms[c.in].Session(w.Session)
			require.NotNil(t, s)
			require.Equal(t, []any{"sword and score", 1}, []any{s.Value(), h.rooms[c.in].world.Stats().Entities})
			require.Equal(t, []any{w.Session, c.in, uint8(0)}, []any{again.Welcome().Session, again.Welcome().Room, again.Welcome().Resumed})
			require.Equal(t, c.in == "one", len(refused) == 1)
			require.Empty(t, one.passages.departed)
		})
	}
}

// A SaveSession that cannot read a session after Leave leaves the Value that the notes had.
func TestDepartureWithoutValue(t *testing.T) {
	h := newDurableRooms(t, func(*RouterConfig) {})
	h.rooms["one"].config.Hooks.SaveSession = func(s *Session, b []byte) []byte {
		if s.isOver() {
			panic("no avatar")
		}
		return append(b, "sword"...)
	}
	conn := h.dial(toRoom("one"))
	h.rooms["one"].Tick()
	h.rooms["one"].AppendNotes(nil, false)
	h.release("one")
	must.Do(h.session(conn).Move("two"))
	h.rooms["one"].Tick()
	require.Equal(t, "sword", string(h.saved("one").waiting()[0].saved))
	h.release("one")
	h.rooms["two"].Tick()
	require.Equal(t, "two", h.session(conn).Room())
	require.EqualValues(t, 1, h.rooms["one"].Stats().Panics[HookSave])
}

// A room without other rooms cannot send a session on: it says so, and serves the others.
func TestRestoredDepartureInOneWorld(t *testing.T) {
	h := newDurableRooms(t, func(*RouterConfig) {})
	_, notes := h.leaveForTwo()
	h = h.restore(map[string]*Notes{"one": {}, "two": {}})
	h.router.config.Move = nil
	restored, err := h.rooms["one"].RestoreSessions(notes)
	require.Zero(t, restored)
	require.ErrorIs(t, err, errOneWorld)
	h.tick(1)
}

// A room that fails before a session's arrival is durable lets the former room send the session to its next run.
func TestAbandonedArrival(t *testing.T) {
	h := newDurableRooms(t, func(*RouterConfig) {})
	conn, _ := h.leaveForTwo()
	id := conn.Welcome().Session
	h.release("one")
	was := h.rooms["two"]
	was.Tick()
	was.Abandon(errHookPanicked)
	was.Close()
	h.rooms["one"].Tick()
	require.Equal(t, 1, h.saved("one").Sessions())
	delete(h.rooms, "two")
	h.change(&Config{})
	next := h.add("two")
	h.tick(3)
	require.NotNil(t, next.Session(id), "the next run admits it")
	require.True(t, next.Session(id).Away())
}

// A room remembers a bounded number of arrivals.
func TestArrivalsBound(t *testing.T) {
	var p passages
	for id := range uint64(2 * maxArrivals) {
		p.addArrival(arrival{id: id + 1, moves: 1})
		p.addArrival(arrival{id: id + 1, moves: 3})
	}
	require.Len(t, p.arrived, maxArrivals)
	must.Have(p.arrivalOf(&traveller{identity: identity{id: 2 * maxArrivals}, moves: 2}))
	must.Lack(p.arrivalOf(&traveller{identity: identity{id: 2 * maxArrivals}, moves: 3}))
}

// A session that moves keeps its place in the next room while it waits for the disk of the room that it has left, however long
// that takes. If it does not enter, the place is free again.
func TestPlaceWhileADepartureWaits(t *testing.T) {
	for name, refuse := range map[string]func(two *Core, id uint64){
		"enters": nil,
		"refused": func(two *Core, _ uint64) {
			two.config.Hooks.Join = func(*Session) (world.Entity, error) { return 0, errors.New("no") }
		},
		"kicked": func(two *Core, id uint64) { two.Kick(id, "cheats") },
	} {
		t.Run(name, func(t *testing.T) {
			h := newDurableRooms(t, func(*RouterConfig) {})
			one, two := h.rooms["one"], h.rooms["two"]
			require.NoError(t, two.SetLimits(1, 0))
			conn, _ := h.leaveForTwo()
			for range 2 * ticksOf(HelloTimeout, two.world.TickHz()) {
				two.Tick()
			}
			eve := h.dial(toRoom("two"))
			two.Tick()
			h.release("two")
			require.Equal(t, wire.ServerFull, eve.Ended.Code, "the place is kept for the session")
			_, _, free := two.Places()
			require.Zero(t, free)
			if refuse != nil {
				refuse(two, conn.Welcome().Session)
			}
			h.release("one")
			two.Tick()
			one.Tick()
			if refuse == nil {
				require.Equal(t, "two", h.session(conn).Room())
			}
			two.Tick()
			active, kept, free := two.Places()
			require.Equal(t, []int{two.Active(), 0, 1 - two.Active()}, []int{active, kept, free})
			require.NoError(t, two.SetLimits(two.Active()+1, 0))
			two.config.Hooks.Join = func(*Session) (world.Entity, error) { return 0, nil }
			eve = h.dial(toRoom("two"))
			two.Tick()
			h.release("two")
			require.Len(t, eve.Welcomes, 1, "no place is kept any more")
		})
	}
}

// A restored departure waits for a next room that cannot be made for the moment: the room's disk may have the session, which
// must not live twice.
func TestRestoredDepartureAwaitsItsRoom(t *testing.T) {
	for _, code := range []wire.Code{wire.Internal, wire.ServerFull, wire.Draining, wire.RoomClosed} {
		t.Run(code.String(), func(t *testing.T) {
			h := newDurableRooms(t, func(*RouterConfig) {})
			conn, left := h.leaveForTwo()
			w := conn.Welcome()
			h.release("one")
			h.rooms["two"].Tick()
			entered := h.saved("two")
			require.Equal(t, 1, entered.Sessions())
			for _, c := range h.rooms {
				c.config.Hooks.Join = func(*Session) (world.Entity, error) { panic("Join is called again") }
				c.config.Hooks.Leave = func(*Session) { t.Error("Leave is called again") }
			}
			h = h.restore(map[string]*Notes{"one": left, "two": {}})
			one, two := h.rooms["one"], h.rooms["two"]
			find := h.router.config.Move
			h.router.config.Move = func(string, *Session) (*Core, error) { return nil, &wire.Error{Code: code} }
			for range one.graceTicks / 2 {
				one.Tick()
			}
			require.Equal(t, 1, h.saved("one").Sessions())
			require.Equal(t, 1, must.Get(two.RestoreSessions(entered)))
			h.router.config.Move = find
			again := h.dial(resume(w, w.Structure))
			h.tick(3)
			for name := range h.rooms {
				h.release(name)
			}
			h.tick(2)
			require.Equal(t, []any{w.Session, "two"}, []any{again.Welcome().Session, again.Welcome().Room})
			require.Equal(t, []int{0, 1}, []int{one.Len(), two.Len()})
			require.Zero(t, h.saved("one").Sessions())
			require.Zero(t, one.Stats().MovesRefused)
		})
	}
}

// The seat of a session that waits for the disk of the room that it has left does not expire meanwhile, and counts once.
func TestSeatWhileADepartureWaits(t *testing.T) {
	for name, refuses := range map[string]bool{"enters": false, "refused": true} {
		t.Run(name, func(t *testing.T) {
			h := newDurableRooms(t, func(c *RouterConfig) {
				c.Admit = func(_ context.Context, token []byte) (Admission, error) { return Admission{User: string(token)}, nil }
			})
			one, two := h.rooms["one"], h.rooms["two"]
			require.NoError(t, two.SetLimits(2, 0))
			require.NoError(t, two.ReserveSeats([]string{"ann"}, time.Second))
			conn, _ := h.leaveForTwo(withToken("ann"))
			_, _, free := two.Places()
			require.Equal(t, 1, free, "the session has the seat")
			for range 2 * ticksOf(time.Second, two.world.TickHz()) {
				two.Tick()
			}
			for _, user := range []string{"bob", "eve"} {
				h.dial(toRoom("two"), withToken(user))
				two.Tick()
				h.release("two")
			}
			require.Equal(t, 1, two.Active(), "one place is kept")
			if refuses {
				two.config.Hooks.Join = func(*Session) (world.Entity, error) { return 0, errors.New("no") }
			}
			h.release("one")
			two.Tick()
			one.Tick()
			require.Equal(t, map[bool]string{false: "two", true: "one"}[refuses], h.session(conn).Room())
			two.Tick()
			require.False(t, two.HasSeat("ann"))
			_, kept, free := two.Places()
			require.Equal(t, []int{0, 2 - two.Active()}, []int{kept, free})
		})
	}
}

// A session that has ended in a room which then ended for good does not rise again when the room that it had left is restored late,
// and is sent on to the next run of that name, even by the next process.
func TestDepartureToARoomThatHasEnded(t *testing.T) {
	for _, crashed := range []bool{false, true} {
		h := newDurableRooms(t, func(*RouterConfig) {})
		conn, left := h.leaveForTwo()
		w := conn.Welcome()
		h.release("one")
		h.rooms["two"].Tick()
		entered := h.saved("two")
		h = h.restore(map[string]*Notes{"one": {}, "two": entered})
		h.change = func(*Config) {}
		two := h.rooms["two"]
		two.Kick(w.Session, "out")
		two.Tick()
		require.Zero(t, two.Len())
		require.Equal(t, 1, two.EndForGood())
		if crashed {
			kept := h.router.AppendArrivals(nil)
			h = h.restore(map[string]*Notes{"one": {}, "two": {}})
			h.change = func(*Config) {}
			require.ErrorIs(t, h.router.RestoreArrivals(kept[:1]), errArrivals)
			require.NoError(t, h.router.RestoreArrivals(kept))
		} else {
			two.Close()
			delete(h.rooms, "two")
			h.add("two")
		}
		one, next := h.rooms["one"], h.rooms["two"]
		require.Equal(t, 1, must.Get(one.RestoreSessions(left)))
		for range 3 {
			h.tick(3)
			h.release("one")
			h.release("two")
		}
		require.Equal(t, []int{0, 0}, []int{one.Len(), next.Len()})
		require.Zero(t, next.Stats().MovedIn)
		require.Zero(t, h.saved("one").Sessions())
	}
}
