package session

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/columns"
	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/world"
)

// newMovingRooms returns rooms whose sessions can move, with rooms "one" and "two".
func newMovingRooms(t *testing.T, change func(*RouterConfig)) *testRooms {
	return newMovingRoomsWith(t, change, func(*Config) {})
}

// newMovingRoomsWith is newMovingRooms with changes of each room.
func newMovingRoomsWith(t *testing.T, change func(*RouterConfig), changeRoom func(*Config)) *testRooms {
	var h *testRooms
	h = newTestRooms(t, func(c *RouterConfig) {
		c.Move = func(room string, _ *Session) (*Core, error) {
			if c := h.rooms[room]; c != nil {
				return c, nil
			}
			return nil, errors.New("no such room")
		}
		change(c)
	})
	h.change = func(c *Config) {
		c.Hooks.Commands = []Command{OnRawCommand("touch", func(s *Session, _ world.Entity, _ []byte) error {
			h.joins = append(h.joins, "touched in "+s.Room())
			return nil
		})}
		changeRoom(c)
	}
	h.add("one")
	h.add("two")
	return h
}

func (h *testRooms) send(c *roomClient, messages ...wire.Message) {
	require.NoError(h.t, c.Send(messages...))
}

// session returns the live session of a client, in the room where it is.
func (h *testRooms) session(conn *roomClient) *Session {
	for _, c := range h.rooms {
		if s := c.Session(conn.Welcome().Session); s != nil && !s.isOver() {
			return s
		}
	}
	return nil
}

// A session moves over its connection: Leave, Join, and another Welcome follow in this
// order.
func TestMove(t *testing.T) {
	h := newMovingRooms(t, func(*RouterConfig) {})
	conn := h.join("one")
	h.tick(5)
	before, was := conn.Welcome(), h.session(conn)
	was.SetValue("baggage")
	require.ErrorContains(t, was.Move("three"), "no such room")
	require.ErrorIs(t, was.Move("one"), errSameRoom)
	require.ErrorContains(t, was.Move(string(make([]byte, wire.MaxRoom+1))), "at most 64")
	require.NoError(t, was.Move("two"))
	sent := was.viewer.Numbers().Structure
	h.tick(2)
	now, s := conn.Welcome(), h.session(conn)
	require.Len(t, conn.Welcomes, 2)
	require.NotSame(t, was, s)
	require.Equal(t, []any{before.Session, "two", uint8(0), uint32(0), sent + 1, ""}, []any{now.Session, now.Room, now.Resumed, now.Commands, now.Structure, now.SchemaText})
	require.NotEqual(t, before.Epoch, now.Epoch)
	require.NotEqual(t, before.Secret, now.Secret)
	require.Greater(t, now.GenerationFloor, before.GenerationCeiling)
	require.Equal(t, []any{conn.peer.ID(), "baggage", "two", conn.peer}, []any{s.ID(), s.Value(), s.Room(), s.peer})
	require.Error(t, was.Move("two"), "it has ended here")
	require.EqualValues(t, 1, h.rooms["one"].Stats().MovedOut)
	require.EqualValues(t, 1, h.rooms["two"].Stats().MovedIn)
	require.Zero(t, h.rooms["one"].Len())
	require.Equal(t, []int{0, 1}, []int{h.rooms["one"].World().Stats().Entities, h.rooms["two"].World().Stats().Entities})

	// Messages that the client sent before it received the Welcome are meant for the old
	// room.
	h.input(conn, now.Structure-1)
	h.send(conn, wire.Command{ID: 1, Name: "touch"}, wire.Resync{})
	h.tick(1)
	require.Nil(t, s.endReason)
	require.Zero(t, s.silentTicks)
	require.Empty(t, h.joins[1:])
	h.send(conn, wire.Command{ID: 2, Name: "touch"}, wire.Arrived{}, wire.Command{ID: 3, Name: "touch"})
	h.input(conn, now.Structure)
	h.tick(1)
	require.Equal(t, []string{"touched in two"}, h.joins[1:])
	require.EqualValues(t, 1, s.handled)
	require.Zero(t, h.rooms["two"].Stats().Resyncs)
	h.send(conn, wire.Arrived{})
	h.tick(1)
	require.Equal(t, wire.BadState, conn.Ended.Code, "Arrived without a move")
	require.Nil(t, h.router.sessions[conn.peer.ID()])
}

// A client that moves to another room and back gets no further burst of commands or
// Resyncs.
func TestMoveKeepsLimits(t *testing.T) {
	h := newMovingRooms(t, func(*RouterConfig) {})
	conn := h.join("one")
	h.tick(5)
	hz := h.rooms["one"].World().TickHz()
	executed := func() (n uint64) { return h.rooms["one"].Stats().Executed + h.rooms["two"].Stats().Executed }
	served := func() (n uint64) { return h.rooms["one"].Stats().Resyncs + h.rooms["two"].Stats().Resyncs }
	to, ticks := map[string]string{"one": "two", "two": "one"}, 0
	for range 20 {
		for range 2 * defaultCommandBurst {
			h.send(conn, wire.Command{ID: 1, Name: "touch"})
		}
		h.send(conn, wire.Resync{})
		h.tick(1)
		s := h.session(conn)
		require.NotNil(t, s, "%v", conn.Ended)
		require.NoError(t, s.Move(to[s.Room()]))
		h.tick(2)
		h.send(conn, wire.Arrived{})
		h.input(conn, conn.Welcome().Structure)
		ticks += 3
	}
	require.LessOrEqual(t, executed(), uint64(defaultCommandBurst+defaultCommandsPerSecond*(ticks+hz)/hz))
	require.Greater(t, executed(), uint64(defaultCommandBurst+defaultCommandsPerSecond*(ticks-hz)/hz), "they refill meanwhile")
	require.EqualValues(t, 1, served())
	for range 11 * hz { // one Resync in ten seconds, in any room
		h.input(conn, conn.Welcome().Structure)
		h.tick(1)
	}
	h.send(conn, wire.Resync{})
	h.tick(1)
	require.EqualValues(t, 2, served())
}

// A session that cannot enter the other room stays where it was, with its Value, its connection and its replica, and the
// game learns why. Only if the other room decides late, Leave and Join are called here.
func TestMoveRefused(t *testing.T) {
	for name, c := range map[string]struct {
		change func(h *testRooms, two *Core)
		code   wire.Code
		left   int // calls of Leave
	}{
		"full":     {func(_ *testRooms, two *Core) { require.NoError(t, two.SetLimits(1, 0)) }, wire.ServerFull, 0},
		"draining": {func(_ *testRooms, two *Core) { two.Drain() }, wire.Draining, 0},
		"gone":     {func(h *testRooms, two *Core) { two.Close(); delete(h.rooms, "two") }, wire.NoRoom, 0},
		"last": {func(h *testRooms, two *Core) {
			h.rooms["one"].Tick()
			require.NoError(t, two.SetLimits(1, 0))
		}, wire.ServerFull, 1},
		"late": {func(h *testRooms, two *Core) {
			h.rooms["one"].Tick()
			two.Drain()
		}, wire.Draining, 1},
		"closed": {func(h *testRooms, two *Core) {
			h.rooms["one"].Tick()
			two.Close()
			delete(h.rooms, "two")
		}, wire.Draining, 1},
		"abandoned": {func(h *testRooms, two *Core) {
			h.rooms["one"].Tick()
			two.Abandon(errHookPanicked)
			delete(h.rooms, "two")
		}, wire.Internal, 1},
		"refused": {func(_ *testRooms, two *Core) {
			two.config.Hooks.Join = func(*Session) (world.Entity, error) { return 0, errors.New("members only") }
		}, wire.JoinRefused, 1},
		"panics": {func(_ *testRooms, two *Core) {
			two.config.Hooks.Join = func(*Session) (world.Entity, error) { panic("oops") }
		}, wire.Internal, 1},
	} {
		t.Run(name, func(t *testing.T) {
			h := newMovingRooms(t, func(*RouterConfig) {})
			one, two := h.rooms["one"], h.rooms["two"]
			h.join("two")
			conn := h.join("one")
			h.tick(5)
			was, left := h.session(conn), 0
			leave := one.config.Hooks.Leave
			one.config.Hooks.Leave = func(s *Session) {
				left++
				leave(s)
			}
			var refusals []error
			one.config.Hooks.MoveRefused = func(s *Session, room string, why error) {
				require.Equal(t, []any{was, "two"}, []any{s, room})
				refusals = append(refusals, why)
			}
			was.SetValue("baggage")
			require.NoError(t, was.Move("two"))
			c.change(h, two)
			for _, room := range []*Core{one, two, one, one} {
				if !room.requests.hasClosed() {
					room.Tick()
				}
			}
			require.Len(t, refusals, 1)
			require.Equal(t, c.code, refusalOf(refusals[0], wire.NoRoom).Code)
			require.Equal(t, c.left, left)
			require.Same(t, was, h.session(conn))
			require.Equal(t, "baggage", was.Value())
			require.Equal(t, one, h.router.sessions[was.ID()].core)
			require.Empty(t, conn.Closed)
			require.Len(t, conn.Welcomes, 1, "the client's replica continues")
			require.Equal(t, []int{1, 1}, []int{one.Len(), one.World().Stats().Entities})
			require.NotNil(t, was.viewer)
			require.EqualValues(t, 1, one.Stats().MovesRefused)
			h.send(conn, wire.Command{ID: 1, Name: "touch"})
			h.input(conn, conn.Welcome().Structure)
			one.Tick()
			require.Contains(t, h.joins, "touched in one")
			if h.rooms["two"] != nil && !two.Draining() && !two.requests.hasClosed() {
				require.NoError(t, two.SetLimits(5, 0))
				two.config.Hooks.Join = func(*Session) (world.Entity, error) { return 0, nil }
				two.Tick()
				require.NoError(t, was.Move("two"), "it may move later")
				h.tick(2)
				require.Equal(t, "two", h.session(conn).Room())
				h.tick(1)
				require.Nil(t, was.viewer)
			} else {
				require.Error(t, was.Move("two"), "what is known at once is an error of Move")
			}
		})
	}
}

// A session that is kicked on its way ends. So does one that its own room no longer admits.
func TestMoveEndsOnTheWay(t *testing.T) {
	for name, c := range map[string]struct {
		change func(h *testRooms, two *Core)
		code   wire.Code
	}{
		"kicked": {func(h *testRooms, _ *Core) { h.rooms["one"].Kick(h.router.newestID(), "out") }, wire.Kicked},
		"drained here": {func(h *testRooms, two *Core) {
			h.rooms["one"].Tick()
			two.Drain()
			two.Tick()
			h.rooms["one"].Drain()
		}, wire.Draining},
		"closed here": {func(h *testRooms, two *Core) {
			h.rooms["one"].Tick()
			h.rooms["one"].Close()
			delete(h.rooms, "one")
			two.Drain()
		}, wire.Draining},
		"refused here": {func(h *testRooms, two *Core) {
			h.rooms["one"].Tick()
			two.Drain()
			h.rooms["one"].config.Hooks.Join = func(*Session) (world.Entity, error) { return 0, errors.New("not again") }
		}, wire.JoinRefused},
		"banned while it returns": {func(h *testRooms, two *Core) {
			h.rooms["one"].Tick()
			two.Drain()
			two.Tick()
			h.rooms["one"].SetBans([]string{"mallory"})
		}, wire.Banned},
		"kicked while it returns": {func(h *testRooms, two *Core) {
			h.rooms["one"].Tick()
			two.Drain()
			two.Tick()
			require.True(t, h.router.Kick(h.router.newestID(), "out"))
		}, wire.Kicked},
	} {
		h := newMovingRooms(t, func(c *RouterConfig) {
			c.Admit = func(context.Context, []byte) (Admission, error) { return Admission{User: "mallory"}, nil }
		})
		conn := h.join("one")
		one := h.rooms["one"]
		require.NoError(t, h.session(conn).Move("two"))
		c.change(h, h.rooms["two"])
		h.tick(3)
		require.Equal(t, c.code, conn.Ended.Code, name)
		require.NotEmpty(t, conn.Closed, name)
		require.Nil(t, h.router.sessions[conn.peer.ID()], name)
		require.Zero(t, one.Len(), name)
	}
}

// A client whose connection breaks while its session is refused resumes it.
func TestResumeAfterARefusedMove(t *testing.T) {
	h := newMovingRooms(t, func(*RouterConfig) {})
	conn := h.join("one")
	h.tick(5)
	before, received := conn.Welcome(), h.session(conn).viewer.Numbers().Structure
	require.NoError(t, h.session(conn).Move("two"))
	h.rooms["two"].config.Hooks.Join = func(*Session) (world.Entity, error) { return 0, errors.New("members only") }
	h.rooms["one"].Tick()
	conn.peer.Gone()
	again := h.dial(resume(before, received))
	h.tick(4)
	require.Equal(t, []any{before.Session, "one", before.Epoch}, []any{again.Welcome().Session, again.Welcome().Room, again.Welcome().Epoch})
}

// A session whose client leaves between two rooms is not joined to the second.
func TestMoveOfAGoneClient(t *testing.T) {
	h := newMovingRooms(t, func(*RouterConfig) {})
	two, joins := h.rooms["two"], 0
	two.config.Hooks.Join = func(*Session) (world.Entity, error) { joins++; return 0, nil }
	conn := h.join("one")
	require.NoError(t, h.session(conn).Move("two"))
	h.rooms["one"].Tick()
	conn.peer.Left()
	h.tick(2)
	require.Equal(t, []any{0, 0}, []any{joins, two.Len()})
	require.Equal(t, []wire.Code{wire.OK}, conn.Closed)
	require.Nil(t, h.router.sessions[conn.peer.ID()])
}

// A client that has not received the Welcome to its room resumes with its old secret, and
// begins in that room. Both secrets are valid until a datagram for the room arrives.
func TestResumeAfterLostMove(t *testing.T) {
	h := newMovingRooms(t, func(*RouterConfig) {})
	conn := h.join("one")
	h.tick(5)
	first := conn.Welcome()
	require.NoError(t, h.session(conn).Move("two"))
	h.tick(3)
	fence := conn.Welcome().Structure
	conn.peer.Gone()
	h.tick(2)
	lost := h.dial(resume(first, fence-1))
	h.tick(1)
	require.Equal(t, []any{uint8(0), fence, conn.peer.ID(), "two", uint32(0)}, []any{lost.Welcome().Resumed, lost.Welcome().Structure, lost.Welcome().Session, lost.Welcome().Room, lost.Welcome().Commands})
	// The client had received the Welcome, or this answer was lost too.
	again := h.dial(resume(first, fence-1))
	h.tick(1)
	require.Equal(t, fence, again.Welcome().Structure)
	h.send(again, wire.Command{ID: 1, Name: "touch"})
	h.input(again, fence)
	h.tick(1)
	require.Contains(t, h.joins, "touched in two", "no Arrived is due on this connection")
	late := h.dial(resume(first, fence-1))
	h.tick(1)
	require.Zero(t, late.Welcome().Structure, "the old secret is void: a new session")
	require.NotEqual(t, conn.peer.ID(), late.Welcome().Session)
	kept := h.dial(resume(again.Welcome(), fence))
	h.tick(1)
	require.Equal(t, []any{uint8(1), fence, "two"}, []any{kept.Welcome().Resumed, kept.Welcome().Structure, kept.Welcome().Room})
}

// A session moves while its client is away. The move does not extend the grace period.
func TestMoveAway(t *testing.T) {
	h := newMovingRooms(t, func(*RouterConfig) {})
	away := 0
	h.rooms["two"].config.Hooks.Away = func(*Session) { away++ }
	conn := h.join("one")
	h.tick(5)
	conn.peer.Gone()
	grace := h.rooms["one"].graceTicks
	h.tick(grace / 2)
	s := h.session(conn)
	require.NoError(t, s.Move("two"))
	h.tick(2)
	s = h.session(conn)
	require.Equal(t, []any{"two", true, 1}, []any{s.Room(), s.Away(), away})
	require.GreaterOrEqual(t, s.silentTicks, grace/2)
	back := h.dial(resume(conn.Welcome(), 1))
	h.tick(1)
	require.Equal(t, []any{uint8(0), "two", conn.peer.ID()}, []any{back.Welcome().Resumed, back.Welcome().Room, back.Welcome().Session})
	require.NotZero(t, back.Welcome().Structure)
}

// An away session that moves all the time ends when its grace period is over.
func TestMoveAwayEnds(t *testing.T) {
	h := newMovingRooms(t, func(*RouterConfig) {})
	conn := h.join("one")
	conn.peer.Gone()
	h.tick(1)
	for range h.rooms["one"].graceTicks + 10 {
		if s := h.session(conn); s != nil {
			_ = s.Move(map[string]string{"one": "two", "two": "one"}[s.Room()])
		}
		h.tick(1)
	}
	require.Nil(t, h.session(conn))
	require.Nil(t, h.router.sessions[conn.peer.ID()])
}

// Several moves may happen before the client answers: it sends one Arrived for each.
func TestManyMoves(t *testing.T) {
	h := newMovingRooms(t, func(*RouterConfig) {})
	conn := h.join("one")
	const moves = 1000
	for len(conn.Welcomes) <= moves {
		s := h.session(conn)
		if s == nil {
			h.tick(1)
			continue
		}
		require.NoError(t, s.Move(map[string]string{"one": "two", "two": "one"}[s.Room()]))
		for _, c := range []string{"one", "two"} {
			h.rooms[c].Receive()
		}
		h.input(conn, 0)
	}
	s := h.session(conn)
	require.Equal(t, moves, s.travel.arrivals)
	require.LessOrEqual(t, len(s.secrets.former), maxFormer)
	require.Len(t, s.travel.visited, 2)
	for i := 1; i <= moves; i++ {
		require.Greater(t, conn.Welcomes[i].Structure, conn.Welcomes[i-1].Structure)
		require.NotEqual(t, conn.Welcomes[i].Epoch, conn.Welcomes[i-1].Epoch)
	}
	for range moves - 1 {
		h.send(conn, wire.Command{ID: 1, Name: "touch"}, wire.Arrived{})
	}
	h.send(conn, wire.Command{ID: 1, Name: "touch"})
	h.tick(1)
	require.Equal(t, 1, s.travel.arrivals)
	require.NotContains(t, h.joins, "touched in "+s.Room())
	h.send(conn, wire.Arrived{}, wire.Command{ID: 2, Name: "touch"})
	h.tick(1)
	require.Contains(t, h.joins, "touched in "+s.Room())
	require.Empty(t, conn.Closed)
	for range 5000 { // a flood ends the session at the next tick
		h.send(conn, wire.Arrived{})
	}
	h.tick(1)
	require.Equal(t, wire.BadState, conn.Ended.Code)
}

// A session does not enter a room whose generations it knows from another world.
func TestMoveGenerationsSeen(t *testing.T) {
	h := newMovingRooms(t, func(*RouterConfig) {})
	conn := h.join("one")
	require.NoError(t, h.session(conn).Move("two"))
	h.tick(2)
	h.send(conn, wire.Arrived{})
	delete(h.rooms, "one")
	again := h.add("one") // its generations are those that room two had before
	require.Equal(t, h.rooms["two"].ownVisit.first, again.ownVisit.first)
	require.ErrorIs(t, h.session(conn).Move("one"), ErrGenerationsSeen)
	h.tick(2)
	require.Empty(t, conn.Closed)
	// Move returns the room too late: the session stays.
	ready := false
	h.router.config.Move = func(string, *Session) (*Core, error) {
		if !ready {
			return nil, nil
		}
		return again, nil
	}
	require.NoError(t, h.session(conn).Move("one"))
	h.tick(3)
	require.Empty(t, conn.Closed)
	ready = true
	h.tick(2)
	require.Empty(t, conn.Closed)
	require.EqualValues(t, 1, h.rooms["two"].Stats().MovesRefused)
	require.Equal(t, "two", h.session(conn).Room())
}

// A Hello that resumes follows a session that moves before it is answered.
func TestResumeWhileMoving(t *testing.T) {
	h := newMovingRooms(t, func(*RouterConfig) {})
	conn := h.join("one")
	conn.peer.Gone()
	h.tick(1)
	again := h.dial(resume(conn.Welcome(), 1))
	require.NoError(t, h.session(conn).Move("two"))
	h.rooms["one"].Receive() // the client resumes in room one, and moves at once
	h.tick(2)
	require.Equal(t, []string{"one", "two"}, []string{again.Welcomes[0].Room, again.Welcome().Room})

	conn = h.join("one")
	conn.peer.Gone()
	h.tick(1)
	require.NoError(t, h.session(conn).Move("two"))
	one := h.rooms["one"]
	again = h.dial(resume(conn.Welcome(), 1)) // reaches the room after the session has left
	one.requests.mu.Lock()
	one.requests.opened = nil
	one.requests.mu.Unlock()
	one.Receive()
	require.True(t, one.addPeer(one, again.peer))
	h.tick(3)
	require.Equal(t, []any{"two", conn.Welcome().Session}, []any{again.Welcome().Room, again.Welcome().Session})
}

// A room that drains in a hook refuses no connection that it has forwarded in the same tick: the
// connection belongs to another room.
func TestDrainAfterForward(t *testing.T) {
	h := newMovingRooms(t, func(*RouterConfig) {})
	conn := h.join("one")
	conn.peer.Gone()
	h.tick(1)
	one, two := h.rooms["one"], h.rooms["two"]
	require.NoError(t, h.session(conn).Move("two"))
	again := h.dial(resume(conn.Welcome(), 1)) // waits in room one while the session leaves
	held := one.requests.takeForTick().opened
	h.tick(2)
	require.Equal(t, "two", h.session(conn).Room())
	for _, p := range held {
		require.True(t, one.addPeer(one, p))
	}
	one.config.Hooks.Join = func(*Session) (world.Entity, error) {
		one.Drain()
		return 0, nil
	}
	late := h.dial(toRoom("one"))
	one.Tick()
	require.Equal(t, wire.Draining, late.Ended.Code)
	require.Empty(t, again.Closed)
	two.Tick()
	require.Equal(t, []any{"two", conn.Welcome().Session}, []any{again.Welcome().Room, again.Welcome().Session})
}

// A Join that drains its room ends the session that has arrived, after Join and Leave.
func TestDrainInJoinOfAMove(t *testing.T) {
	h := newMovingRooms(t, func(*RouterConfig) {})
	conn := h.join("one")
	two, left := h.rooms["two"], 0
	join := two.config.Hooks.Join
	two.config.Hooks.Join = func(s *Session) (world.Entity, error) {
		two.Drain()
		return join(s)
	}
	two.config.Hooks.Leave = func(*Session) { left++ }
	require.NoError(t, h.session(conn).Move("two"))
	h.tick(2)
	require.Equal(t, []any{wire.Draining, []wire.Code{wire.Draining}, 1, 0}, []any{conn.Ended.Code, conn.Closed, left, two.Active()})
}

// The end of an Admission stays the same in another room.
func TestMoveKeepsAdmission(t *testing.T) {
	h := newMovingRooms(t, func(c *RouterConfig) {
		c.Admit = func(context.Context, []byte) (Admission, error) {
			return Admission{User: "ann", Lasts: time.Second}, nil
		}
	})
	conn := h.join("one")
	h.tick(20)
	require.NoError(t, h.session(conn).Move("two"))
	h.tick(20)
	h.input(conn, conn.Welcome().Structure)
	require.Equal(t, "ann", h.session(conn).User())
	h.tick(30)
	require.Equal(t, wire.SessionExpired, conn.Ended.Code)
}

// A session that Leave kicks, or whose Leave panics, does not reach the other room.
func TestMoveKickedByLeave(t *testing.T) {
	for code, leave := range map[wire.Code]func(*Session){
		wire.Kicked:   func(s *Session) { s.Kick("out") },
		wire.Internal: func(*Session) { panic("a mistake") },
	} {
		h := newMovingRooms(t, func(*RouterConfig) {})
		h.rooms["one"].config.Hooks.Leave = leave
		conn := h.join("one")
		require.NoError(t, h.session(conn).Move("two"))
		h.tick(3)
		require.Equal(t, code, conn.Ended.Code)
		require.Nil(t, h.router.sessions[conn.peer.ID()])
		require.Zero(t, h.rooms["one"].Len()+h.rooms["two"].Len())
		require.Zero(t, h.rooms["one"].Stats().MovedOut)
	}
}

// A kick reaches sessions that wait for a tick of their next room. If that room ends or fails, they return to
// the room from which they came. The Router forgets sessions of a room that fails.
func TestEndBetweenRooms(t *testing.T) {
	for name, c := range map[string]struct {
		end  func(h *testRooms, id uint64)
		want wire.Code
	}{
		"kicked": {func(h *testRooms, id uint64) {
			require.True(t, h.router.Kick(id, "out"))
			h.rooms["two"].Tick()
		}, wire.Kicked},
		"closed":    {func(h *testRooms, _ uint64) { h.rooms["two"].Close() }, wire.OK},
		"abandoned": {func(h *testRooms, _ uint64) { h.rooms["two"].Abandon(&wire.Error{Code: wire.Internal}) }, wire.OK},
	} {
		t.Run(name, func(t *testing.T) {
			h := newMovingRooms(t, func(*RouterConfig) {})
			conn := h.join("one")
			require.NoError(t, h.session(conn).Move("two"))
			h.rooms["one"].Tick()
			require.Empty(t, conn.Closed)
			c.end(h, conn.peer.ID())
			if c.want == wire.OK {
				h.rooms["one"].Tick()
				require.Empty(t, conn.Closed)
				require.Equal(t, "one", h.session(conn).Room())
				require.Len(t, h.router.sessions, 1)
				return
			}
			require.Equal(t, []wire.Code{c.want}, conn.Closed)
			require.Equal(t, c.want, conn.Ended.Code)
			require.Empty(t, h.router.sessions)
		})
	}
	h := newMovingRooms(t, func(*RouterConfig) {})
	h.join("one")
	late := h.dial(toRoom("one"))
	h.rooms["one"].Abandon(&wire.Error{Code: wire.Internal})
	require.Empty(t, h.router.sessions, "they would keep the room's world reachable")
	require.Equal(t, wire.Internal, late.Ended.Code, "no tick has seen it")
}

// A kick that arrives while a session is handed over reaches it in the next room.
func TestKickDuringLeave(t *testing.T) {
	h := newMovingRooms(t, func(*RouterConfig) {})
	h.rooms["one"].config.Hooks.Leave = func(s *Session) { h.router.Kick(s.ID(), "out") }
	conn := h.join("one")
	require.NoError(t, h.session(conn).Move("two"))
	h.rooms["one"].Tick()
	h.rooms["two"].Tick()
	require.Equal(t, []any{wire.Kicked, []wire.Code{wire.Kicked}}, []any{conn.Ended.Code, conn.Closed})
	require.Zero(t, h.rooms["two"].Stats().MovedIn)
}

// Time spent away gives a session no precedence for snapshots.
func TestResumeJoinsTheBackOfTheSchedule(t *testing.T) {
	h := newMovingRooms(t, func(*RouterConfig) {})
	first, second := h.join("one"), h.join("one")
	first.peer.Gone()
	h.tick(20) // the second session receives snapshots meanwhile
	require.Less(t, h.session(first).turn.order, h.session(second).turn.order)
	h.dial(resume(first.Welcome(), 0))
	h.rooms["one"].Receive()
	require.Greater(t, h.session(first).turn.order, h.session(second).turn.order)
}

// Sessions from other rooms and Hellos share a tick's bound.
func TestArrivalsShareTheBoundOfHellos(t *testing.T) {
	h := newMovingRooms(t, func(*RouterConfig) {})
	one, two := h.rooms["one"], h.rooms["two"]
	most := (joinsPerSecond + two.world.TickHz() - 1) / two.world.TickHz()
	const moving = 5
	require.Greater(t, most, moving)
	for range moving {
		h.join("one")
	}
	for s := range one.Sessions() {
		require.NoError(t, s.Move("two"))
	}
	one.Tick()
	for range most {
		h.dial(toRoom("two"))
	}
	two.Tick()
	require.Equal(t, []uint64{moving, uint64(most - moving)}, []uint64{two.Stats().MovedIn, two.Stats().Joined})
}

// Shutdown refuses a client whose Hello arrives while it sends Goodbyes.
func TestHelloDuringShutdown(t *testing.T) {
	h := newMovingRooms(t, func(*RouterConfig) {})
	conn := h.join("one")
	var late *roomClient
	conn.OnMessage = func(kind byte, _ []byte) {
		if kind == wire.TypeGoodbye {
			late = h.dial(toRoom("one"))
		}
	}
	h.rooms["one"].Shutdown()
	require.Equal(t, []any{wire.Draining, wire.Draining}, []any{conn.Ended.Code, late.Ended.Code})
	require.Zero(t, h.rooms["one"].Len())
}

// A Moved without an address is the game's mistake: the client would not know where to go.
func TestMovedNowhere(t *testing.T) {
	h := newMovingRooms(t, func(*RouterConfig) {})
	h.rooms["one"].config.Hooks.Join = func(*Session) (world.Entity, error) {
		return 0, &wire.Error{Code: wire.Moved}
	}
	conn := h.dial(toRoom("one"))
	h.tick(1)
	require.Equal(t, wire.Internal, conn.Ended.Code)
}

// The Router's secrets are not changed in place, because connections may read them at the
// same time.
func TestMoveLeavesSecrets(t *testing.T) {
	h := newMovingRooms(t, func(*RouterConfig) {})
	conn := h.join("one")
	for range 3 * maxFormer {
		known := h.router.sessions[conn.peer.ID()].secrets.former
		was := slices.Clone(known)
		s := h.session(conn)
		require.NoError(t, s.Move(map[string]string{"one": "two", "two": "one"}[s.Room()]))
		h.rooms[s.Room()].Receive()
		h.rooms[s.travel.next.name].Receive()
		require.Equal(t, was, known)
	}
}

// A panic in a library while a session moves ends the room, not only the call. Abandon of the room that the session leaves
// ends it. From the other room it returns.
func TestMoveAbandoned(t *testing.T) {
	for _, room := range []string{"one", "two"} {
		h := newMovingRooms(t, func(*RouterConfig) {})
		crash := func() { columns.AddScaled(make([]float32, 1), nil, 1) }
		conn := h.join("one")
		if room == "one" {
			h.rooms[room].config.Hooks.Leave = func(*Session) { crash() }
		} else {
			h.rooms[room].config.Hooks.Join = func(*Session) (world.Entity, error) { crash(); return 0, nil }
		}
		require.NoError(t, h.session(conn).Move("two"))
		if room == "two" {
			h.rooms["one"].Tick()
		}
		require.Panics(t, h.rooms[room].Tick)
		h.rooms[room].Abandon(&wire.Error{Code: wire.Internal})
		if room == "two" {
			h.rooms["one"].Tick()
			require.Empty(t, conn.Closed)
			require.Equal(t, "one", h.session(conn).Room())
			continue
		}
		require.Equal(t, wire.Internal, conn.Ended.Code)
		require.NotEmpty(t, conn.Closed)
		require.Nil(t, h.router.sessions[conn.peer.ID()])
	}
}
