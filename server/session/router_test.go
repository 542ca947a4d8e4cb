package session

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/internal/stage"
	"github.com/worldd/worldd/replication/schema"
	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/world"
)

// testRooms is a Router with the rooms that its tests make.
type testRooms struct {
	t      *testing.T
	router *Router
	rooms  map[string]*Core
	joins  []string
	change func(*Config) // changes the Config of later rooms
}

func newTestRooms(t *testing.T, change func(*RouterConfig)) *testRooms {
	h := &testRooms{t: t, rooms: map[string]*Core{}, change: func(*Config) {}}
	c := RouterConfig{
		Random: rand.NewChaCha8([32]byte{3}),
		Join: func(_ context.Context, room, _ string, _ Admission) (*Core, error) {
			h.joins = append(h.joins, room)
			if c := h.rooms[room]; c != nil {
				return c, nil
			}
			return nil, fmt.Errorf("%q is no room", room)
		},
	}
	change(&c)
	h.router = must.Get(NewRouter(c))
	return h
}

// add makes a room with its own range of generations.
func (h *testRooms) add(name string) *Core {
	const block = world.RunGenerations
	k := uint32(len(h.rooms))
	w := stage.NewCrates(world.Config{Seed: 1, MaxEntities: 64, FirstGeneration: k*block + 1, LastGeneration: (k+1)*block - 1})
	config := Config{Room: name, Router: h.router, WorldConfig: WorldConfig{World: w.World, Schema: schema.NewWithBody(), Hooks: Hooks{
		Join:  func(*Session) (world.Entity, error) { return w.Put(0, 0), nil },
		Leave: func(s *Session) { w.Destroy(s.Entity()) },
	}}}
	h.change(&config)
	c := must.Get(NewCore(config))
	h.rooms[name] = c
	return c
}

func (h *testRooms) tick(n int) {
	for range n {
		for _, c := range h.rooms {
			c.Tick()
		}
	}
}

// roomClient is the client of a connection to a Router. The test plays the client.
type roomClient struct {
	stage.Conn
	peer *Peer
}

func (h *testRooms) open() *roomClient { return h.openIn(context.Background()) }

func (h *testRooms) openIn(ctx context.Context) *roomClient {
	c := &roomClient{}
	c.peer = h.router.Open(ctx, "", c)
	c.Peer = c.peer
	return c
}

// dial opens a connection and sends a Hello, after changes.
func (h *testRooms) dial(changes ...func(*wire.Hello)) *roomClient {
	c := h.open()
	hello := stage.Hello(nil)
	for _, change := range changes {
		change(&hello)
	}
	require.NoError(h.t, c.Send(hello))
	return c
}

// Changes of a Hello.
func toRoom(name string) func(*wire.Hello) { return func(m *wire.Hello) { m.Room = name } }

func withToken(token string) func(*wire.Hello) {
	return func(m *wire.Hello) { m.Token = []byte(token) }
}

// join joins a room and confirms the Welcome.
func (h *testRooms) join(room string) *roomClient {
	c := h.dial(toRoom(room))
	h.tick(1)
	require.Len(h.t, c.Welcomes, 1, "%v", c.Ended)
	h.input(c, 0)
	return c
}

// input sends a datagram that acknowledges structure.
func (h *testRooms) input(c *roomClient, structure uint32) {
	require.NoError(h.t, c.SendInput(wire.Ack{Structure: structure}))
}

// resume makes a Hello resume the session of a Welcome.
func resume(w wire.Welcome, structure uint32) func(*wire.Hello) {
	return func(m *wire.Hello) {
		m.Session, m.Secret, m.Structure, m.Room = w.Session, w.Secret, structure, w.Room
	}
}

// A client reaches the room named by its Hello, or else by its token.
func TestRouterJoins(t *testing.T) {
	h := newTestRooms(t, func(c *RouterConfig) {
		c.Admit = func(_ context.Context, token []byte) (Admission, error) {
			if string(token) == "bad" {
				return Admission{}, errors.New("no such token")
			}
			return Admission{Room: string(token)}, nil
		}
	})
	one, two := h.add("one"), h.add("two")
	for _, c := range []struct {
		room, token, want string
		code              wire.Code
	}{
		{room: "one", want: "one"},
		{token: "two", want: "two"},
		{room: "two", token: "two", want: "two"},
		{room: "one", token: "two", code: wire.Unauthorized},
		{room: "three", code: wire.NoRoom},
		{token: "bad", code: wire.Unauthorized},
		{code: wire.NoRoom},
	} {
		conn := h.dial(toRoom(c.room), withToken(c.token))
		h.tick(1)
		require.Equal(t, c.code, conn.Ended.Code, "%+v", c)
		if c.want == "" {
			require.NotEmpty(t, conn.Closed)
			require.Nil(t, conn.peer.Session())
			continue
		}
		require.Equal(t, c.want, conn.Welcome().Room)
		require.Equal(t, c.want, conn.peer.Session().Room())
		require.Equal(t, conn.peer.ID(), conn.peer.Session().ID())
	}
	require.Equal(t, []int{1, 2}, []int{one.Active(), two.Active()})
	stats := h.router.Stats()
	require.Equal(t, []any{0, uint64(4), uint64(0)}, []any{stats.Waiting, stats.Refused, stats.Panics})
	require.Equal(t, map[wire.Code]uint64{wire.Unauthorized: 2, wire.NoRoom: 2}, stats.Closed)
	require.NotEqual(t, one.Config().Epoch, two.Config().Epoch)
	_, err := NewCore(Config{WorldConfig: WorldConfig{World: one.World(), Schema: schema.New()}, Router: h.router, Admit: func(context.Context, []byte) (Admission, error) { return Admission{}, nil }})
	require.ErrorContains(t, err, "RouterConfig.Admit")
	_, err = NewRouter(RouterConfig{OneSessionPerUser: true})
	require.ErrorContains(t, err, "Join is nil")
	require.ErrorContains(t, err, "without Admit")
}

// A Hello that resumes reaches the room of its session without a call of RouterConfig.Join.
// A Hello with a wrong secret joins like any other.
func TestRouterResumes(t *testing.T) {
	h := newTestRooms(t, func(*RouterConfig) {})
	h.add("one")
	h.add("two")
	conn := h.join("two")
	h.joins = nil
	conn.peer.Gone()
	h.tick(1)
	again := h.dial(resume(conn.Welcome(), 1), toRoom("one"))
	h.tick(1)
	require.EqualValues(t, 1, again.Welcome().Resumed)
	require.Equal(t, conn.Welcome().Session, again.Welcome().Session)
	require.Empty(t, h.joins)
	wrong := h.dial(func(m *wire.Hello) { resume(conn.Welcome(), 1)(m); m.Secret, m.Room = make([]byte, 16), "one" })
	h.tick(1)
	require.Zero(t, wrong.Welcome().Resumed)
	require.Equal(t, "one", wrong.Welcome().Room)
	require.Equal(t, []string{"one"}, h.joins)
}

// If a session cannot be resumed by a Hello that has its secret, only RouterConfig.Join admits a new session to its room. The
// client connects again with the same Hello, which then joins like any other.
func TestRouterResumesTooLate(t *testing.T) {
	ends := map[string]func(s *Session){
		"kicked": func(s *Session) { s.core.Kick(s.ID(), "go") },
		"spent":  func(s *Session) { s.secrets.crashed = s.secrets.allSecrets() },
	}
	for name, end := range ends {
		for _, room := range []string{"", "one", "two"} {
			h := newTestRooms(t, func(*RouterConfig) {})
			one := h.add("one")
			h.add("two")
			conn := h.join("one")
			s := conn.peer.Session()
			conn.peer.Gone()
			h.tick(1)
			h.joins = nil
			again := func() *roomClient { return h.dial(resume(conn.Welcome(), 1), toRoom(room)) }
			first := again()
			end(s)
			h.tick(1)
			require.Equal(t, wire.Timeout, first.Ended.Code, name)
			require.True(t, first.Ended.Code.Info().Retry)
			require.Zero(t, one.Active()+one.Away())
			require.Empty(t, h.joins)

			second := again()
			h.tick(1)
			require.Equal(t, []string{room}, h.joins)
			if room == "" {
				require.Equal(t, wire.NoRoom, second.Ended.Code)
				continue
			}
			require.Zero(t, second.Welcome().Resumed)
			require.Equal(t, room, second.Welcome().Room)
		}
	}
}

// A client whose token is refused learns it at once, when its session cannot be resumed either.
func TestRouterResumesTooLateWithoutToken(t *testing.T) {
	h := newTestRooms(t, func(c *RouterConfig) {
		c.Admit = func(_ context.Context, token []byte) (Admission, error) {
			if string(token) == "used" {
				return Admission{}, errors.New("used before")
			}
			return Admission{}, nil
		}
	})
	one := h.add("one")
	conn := h.join("one")
	again := h.dial(resume(conn.Welcome(), 1), withToken("used"))
	one.Kick(conn.peer.ID(), "go")
	h.tick(1)
	require.Equal(t, wire.Unauthorized, again.Ended.Code)
}

// A client whose token is refused causes no work, unless it knows the run. Clients that resume may have used up their tokens: they
// learn to ask again with the epoch.
func TestRouterRestoresWithoutToken(t *testing.T) {
	var restored []uint64
	h := newTestRooms(t, func(c *RouterConfig) {
		c.Admit = func(context.Context, []byte) (Admission, error) { return Admission{}, errors.New("used before") }
		c.Restore = func(_ context.Context, _, _ string, epoch uint64) error {
			restored = append(restored, epoch)
			return nil
		}
	})
	was := wire.Welcome{Session: 7, Secret: make([]byte, wire.SecretBytes), Room: "one"}
	require.Equal(t, wire.NoRoom, h.dial(resume(was, 1)).Ended.Code)
	require.Empty(t, restored)
	again := h.dial(resume(was, 1), func(m *wire.Hello) { m.Epoch = 5 })
	require.Equal(t, wire.Unauthorized, again.Ended.Code)
	require.Equal(t, []uint64{5}, restored)
	require.Equal(t, wire.Unauthorized, h.dial(toRoom("one")).Ended.Code)
	require.Empty(t, h.joins)
}

// Others who have a session's id and secret enter its room only by RouterConfig.Join, also with other abilities.
func TestRouterResumesWithOtherAbilities(t *testing.T) {
	h := newTestRooms(t, func(*RouterConfig) {})
	one := h.add("one")
	conn := h.join("one")
	delete(h.rooms, "one") // Join refuses it
	for range 2 {
		other := h.dial(resume(conn.Welcome(), 1), func(m *wire.Hello) { m.Abilities = wire.Simulates })
		one.Tick()
		require.Equal(t, wire.NoRoom, other.Ended.Code)
	}
	require.Equal(t, 1, one.Active())
	require.Empty(t, conn.Closed)
}

// Connections without a Hello end by the caller's clock, or with their transport.
func TestRouterExpiresHellos(t *testing.T) {
	h := newTestRooms(t, func(*RouterConfig) {})
	h.add("one")
	silent, broken, faulty := h.open(), h.open(), h.open()
	broken.peer.Gone()
	require.Error(t, faulty.Send(wire.Resync{}))
	now := time.Unix(100, 0)
	h.router.Expire(now)
	require.Empty(t, silent.Closed)
	require.NotEmpty(t, broken.Closed)
	require.NotEmpty(t, faulty.Closed)
	require.Equal(t, wire.BadState, faulty.Ended.Code)
	require.Equal(t, 1, h.router.Stats().Waiting)
	h.router.Expire(now.Add(HelloTimeout))
	require.Empty(t, silent.Closed)
	h.router.Expire(now.Add(HelloTimeout + 1))
	require.Equal(t, wire.Timeout, silent.Ended.Code)
	require.NoError(t, silent.Send(wire.Hello{Protocol: wire.Version, Room: "one"}), "it is closed")
	h.tick(1)
	require.Empty(t, silent.Welcomes)
	require.Equal(t, wire.ProtocolVersion, h.dial(func(m *wire.Hello) { m.Protocol = 3 }).Ended.Code)
	silent = h.open()
	h.router.Drain()
	require.Equal(t, wire.Draining, silent.Ended.Code)
	require.Equal(t, wire.Draining, h.dial(toRoom("one")).Ended.Code)
}

// After CloseIfEmpty a room takes no more clients: the Router asks for another room. After
// Close a room refuses the clients that were on their way to it.
func TestRoomRetires(t *testing.T) {
	h := newTestRooms(t, func(*RouterConfig) {})
	one := h.add("one")
	p := h.join("one")
	require.False(t, one.CloseIfEmpty())
	p.peer.Left()
	h.tick(2)
	late := h.dial(toRoom("one"))
	require.False(t, one.CloseIfEmpty(), "a client is on its way")
	h.tick(1)
	require.Len(t, late.Welcomes, 1)
	one.Shutdown()
	require.True(t, one.CloseIfEmpty())
	require.Equal(t, wire.Draining, h.dial(toRoom("one")).Ended.Code, "Join returns a room that has ended")
	one.Close()
	second := h.add("one")
	waiting := h.dial(toRoom("one"))
	second.Close()
	require.Equal(t, wire.Draining, waiting.Ended.Code)
	alone := &stage.Conn{}
	second.Open(context.Background(), "", alone)
	require.Equal(t, wire.Draining, alone.Ended.Code)
}

// newRoomsOfUsers returns rooms "one", "two" and "three" with one session for each user; tokens are users. joins has the calls of Join and Leave.
func newRoomsOfUsers(t *testing.T) *testRooms {
	var h *testRooms
	h = newMovingRoomsWith(t, func(c *RouterConfig) {
		c.OneSessionPerUser = true
		c.Admit = func(_ context.Context, token []byte) (Admission, error) {
			if len(token) == 0 {
				panic("no token")
			}
			return Admission{User: string(token)}, nil
		}
	}, func(c *Config) {
		join, leave := c.Hooks.Join, c.Hooks.Leave
		c.Hooks.Join = func(s *Session) (world.Entity, error) {
			h.joins = append(h.joins, "join "+s.Room()+" "+s.User())
			return join(s)
		}
		c.Hooks.Leave = func(s *Session) {
			h.joins = append(h.joins, "leave "+s.Room()+" "+s.User())
			leave(s)
		}
	})
	h.add("three")
	return h
}

// tickRooms runs a tick of each room, in order.
func (h *testRooms) tickRooms(order ...string) {
	for _, name := range order {
		h.rooms[name].Tick()
	}
}

// takeCalls returns the calls of Join and Leave, and forgets them.
func (h *testRooms) takeCalls() []string {
	calls := slices.DeleteFunc(h.joins, func(call string) bool { return !strings.Contains(call, " ") })
	h.joins = nil
	return calls
}

// A user's newest session ends the user's others in all rooms, before its Join: that loads what their Leave has saved.
func TestRouterOneSessionPerUser(t *testing.T) {
	for _, order := range [][]string{{"one", "two", "three"}, {"three", "two", "one"}} {
		h := newRoomsOfUsers(t)
		enter := func(room string) *roomClient { return h.dial(toRoom(room), withToken("ann")) }
		bob := h.dial(toRoom("one"), withToken("bob"))
		first := enter("one")
		h.tickRooms(order...)
		h.takeCalls()

		again := enter("one")
		h.tickRooms(order...)
		require.Equal(t, []string{"leave one ann", "join one ann"}, h.takeCalls(), "in one room")
		require.Equal(t, wire.SignedInElsewhere, first.Ended.Code)

		second := enter("two")
		for range 3 {
			h.tickRooms(order...)
		}
		require.Equal(t, []string{"leave one ann", "join two ann"}, h.takeCalls(), "in another one")
		require.Equal(t, wire.SignedInElsewhere, again.Ended.Code)

		require.NoError(t, h.session(second).Move("one"))
		h.rooms["two"].Tick() // it is handed over
		third := enter("three")
		for range 3 {
			h.tickRooms(order...)
		}
		calls := h.takeCalls()
		require.Equal(t, "leave two ann", calls[0], "between two rooms")
		require.Equal(t, "join three ann", calls[len(calls)-1], "between two rooms: %v", calls)
		require.Equal(t, wire.SignedInElsewhere, second.Ended.Code)
		require.Len(t, third.Welcomes, 1)

		enter("one")
		fourth := enter("two")
		for range 5 {
			h.tickRooms(order...)
		}
		calls = h.takeCalls()
		require.Equal(t, "leave three ann", calls[0])
		for i, call := range calls {
			require.Equal(t, i%2 == 1, strings.HasPrefix(call, "join"), "two at once: %v", calls)
		}
		require.Empty(t, bob.Closed)
		_ = fourth
		require.Equal(t, 2, h.rooms["one"].Len()+h.rooms["two"].Len()+h.rooms["three"].Len())
		require.Empty(t, h.router.joining)
	}
	h := newRoomsOfUsers(t)
	require.Equal(t, wire.Internal, h.dial(toRoom("one")).Ended.Code)
	require.EqualValues(t, 1, h.router.Stats().Panics)
}

// A client whose room would refuse it ends no session of its user. One whose user's other session does not end, since that room stands still,
// is refused after a while, and may ask again.
func TestRouterOneSessionPerUserWaits(t *testing.T) {
	h := newRoomsOfUsers(t)
	h.change = func(c *Config) { c.MaxSessions = 1 }
	h.add("full")
	ann, bob := h.dial(toRoom("one"), withToken("ann")), h.dial(toRoom("full"), withToken("bob"))
	h.tickRooms("one", "full")
	refused := h.dial(toRoom("full"), withToken("ann"))
	h.tickRooms("full", "one", "full")
	require.Equal(t, wire.ServerFull, refused.Ended.Code)
	require.Empty(t, append(ann.Closed, bob.Closed...))

	waits := h.dial(toRoom("two"), withToken("ann"))
	for range int(HelloTimeout.Seconds())*h.rooms["two"].World().TickHz() + 2 {
		h.rooms["two"].Tick()
	}
	require.Equal(t, wire.Timeout, waits.Ended.Code)
	require.Contains(t, waits.Ended.Detail, "another session")
	require.Len(t, h.rooms["one"].requests.kicks, 1)
	h.rooms["one"].Close() // its goroutine has ended without a word
	h.dial(toRoom("two"), withToken("ann"))
	h.rooms["two"].Tick()
	require.Equal(t, 1, h.rooms["two"].Active())
}

// A client that left while its token was checked joins no room, and no room is made for it.
func TestRouterDropsGoneClient(t *testing.T) {
	ctx, end := context.WithCancel(t.Context())
	h := newTestRooms(t, func(c *RouterConfig) {
		c.Admit = func(context.Context, []byte) (Admission, error) {
			end()
			return Admission{}, nil
		}
	})
	h.add("one")
	conn := h.openIn(ctx)
	hello := stage.Hello(nil)
	hello.Room = "one"
	require.NoError(t, conn.Send(hello))
	require.Empty(t, h.joins)
	require.NotEmpty(t, conn.Closed)
	h.tick(1)
	require.Zero(t, h.rooms["one"].Len())
}

// A connection that waited too long for its token stays refused when the token is accepted.
func TestRouterRefusesLateToken(t *testing.T) {
	var h *testRooms
	h = newTestRooms(t, func(c *RouterConfig) {
		c.Admit = func(context.Context, []byte) (Admission, error) {
			h.router.Expire(time.Unix(1, 0))
			h.router.Expire(time.Unix(1, 0).Add(HelloTimeout + time.Second))
			return Admission{}, nil
		}
	})
	h.add("one")
	conn := h.dial(toRoom("one"))
	require.Empty(t, h.joins)
	h.tick(1)
	require.Equal(t, []wire.Code{wire.Timeout}, conn.Closed)
}
