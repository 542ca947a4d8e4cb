package session

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/rowcodec"
	"github.com/worldd/worldd/replication"
	"github.com/worldd/worldd/replication/schema"
	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/world"
)

// tape is a connection that keeps the messages of the stream.
type tape struct {
	frames  wire.FrameReader
	code    wire.Code
	closed  bool
	full    bool
	welcome []wire.Welcome
	kinds   []byte
	ended   wire.Error // of Refused or Goodbye
}

func (c *tape) SendStream(p []byte) bool {
	if c.full {
		return false
	}
	c.frames.Feed(p)
	for {
		kind, body, ok, err := c.frames.Next()
		if err != nil || !ok {
			return err == nil
		}
		c.kinds = append(c.kinds, kind)
		switch kind {
		case wire.TypeWelcome:
			w, err := wire.Parse[wire.Welcome](body)
			if err != nil {
				panic(err)
			}
			c.welcome = append(c.welcome, w)
		case wire.TypeRefused:
			m, _ := wire.Parse[wire.Refused](body)
			c.ended = wire.Error{Code: m.Code, Detail: m.Text}
		case wire.TypeGoodbye:
			m, _ := wire.Parse[wire.Goodbye](body)
			c.ended = wire.Error{Code: m.Code, Detail: m.Text}
		}
	}
}
func (*tape) HasUnsent() bool         { return false }
func (c *tape) SendSnapshot([][]byte) {}
func (c *tape) Close(code wire.Code, _ string) {
	c.code, c.closed = code, true
}

func (c *tape) last() wire.Welcome { return c.welcome[len(c.welcome)-1] }

// house is a Router with the rooms that its tests make.
type house struct {
	t      *testing.T
	router *Router
	rooms  map[string]*Core
	joins  []string
	change func(*Config) // of rooms made from now on
}

func newHouse(t *testing.T, change func(*RouterConfig)) *house {
	h := &house{t: t, rooms: map[string]*Core{}, change: func(*Config) {}}
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
	var err error
	h.router, err = NewRouter(c)
	require.NoError(t, err)
	return h
}

// add makes a room with generations of its own.
func (h *house) add(name string) *Core {
	const block = world.RunGenerations
	k := uint32(len(h.rooms))
	w, err := world.New(world.Config{Seed: 1, MaxEntities: 64, FirstGeneration: k*block + 1, LastGeneration: (k+1)*block - 1})
	require.NoError(h.t, err)
	crate, err := w.AddKind(world.Kind{Name: "crate", Body: &world.BodyDef{Mass: 1, Radius: 0.5, Friction: 1}})
	require.NoError(h.t, err)
	s := schema.New()
	schema.Define[schema.Body](s, schema.BodyComponent)
	require.NoError(h.t, s.Err())
	config := Config{Room: name, Router: h.router, WorldConfig: WorldConfig{World: w, Schema: s, Hooks: Hooks{
		Join:  func(*Session) (world.Entity, error) { return w.Spawn(crate, world.Vec3{Y: 0.5}, world.Vec3{}) },
		Leave: func(s *Session) { w.Destroy(s.Entity()) },
	}}}
	h.change(&config)
	c, err := NewCore(config)
	require.NoError(h.t, err)
	h.rooms[name] = c
	return c
}

func (h *house) tick(n int) {
	for range n {
		for _, c := range h.rooms {
			c.Tick()
		}
	}
}

func (h *house) hello(change func(*wire.Hello)) (*tape, *Peer) {
	hello := wire.Hello{Protocol: wire.Version, Tables: rowcodec.DefaultTables().Version()}
	change(&hello)
	conn := &tape{}
	p := h.router.Open(context.Background(), "", conn)
	require.NoError(h.t, p.ReceiveStream(wire.AppendMessage(nil, hello)))
	return conn, p
}

// join joins a room and confirms the Welcome.
func (h *house) join(room string) (*tape, *Peer) {
	conn, p := h.hello(func(m *wire.Hello) { m.Room = room })
	h.tick(1)
	require.Len(h.t, conn.welcome, 1, "%v", conn.ended)
	h.input(p, 0)
	return conn, p
}

func (h *house) input(p *Peer, structure uint32) {
	in := wire.Input{Stamp: 1, Ack: wire.Ack{Structure: structure}}
	_, err := p.ReceiveDatagram(in.Append(nil))
	require.NoError(h.t, err)
}

// acknowledge sends the acknowledgement of everything up to n.
func (h *house) acknowledge(p *Peer, n replication.Numbers) {
	in := wire.Input{Stamp: 1, Ack: wire.Ack{Structure: n.Structure, Seen: n.Seq > 0, Newest: n.Seq}}
	_, err := p.ReceiveDatagram(in.Append(nil))
	require.NoError(h.t, err)
}

// resume returns a Hello that resumes what the newest Welcome of conn began.
func resume(conn *tape, structure uint32) func(*wire.Hello) {
	return func(m *wire.Hello) {
		w := conn.last()
		m.Session, m.Secret, m.Structure, m.Room = w.Session, w.Secret, structure, w.Room
	}
}

// A client reaches the room that its Hello names, or else its token.
func TestRouterJoins(t *testing.T) {
	h := newHouse(t, func(c *RouterConfig) {
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
		conn, p := h.hello(func(m *wire.Hello) { m.Room, m.Token = c.room, []byte(c.token) })
		h.tick(1)
		require.Equal(t, c.code, conn.ended.Code, "%+v", c)
		if c.want == "" {
			require.True(t, conn.closed)
			require.Nil(t, p.Session())
			continue
		}
		require.Equal(t, c.want, conn.last().Room)
		require.Equal(t, c.want, p.Session().Room())
		require.Equal(t, p.ID(), p.Session().ID())
	}
	require.Equal(t, []int{1, 2}, []int{one.Active(), two.Active()})
	require.Equal(t, RouterStats{Refused: 4, Closed: map[wire.Code]uint64{wire.Unauthorized: 2, wire.NoRoom: 2}}, h.router.Stats())
	require.NotEqual(t, one.Config().Epoch, two.Config().Epoch)
	_, err := NewCore(Config{WorldConfig: WorldConfig{World: one.World(), Schema: schema.New()}, Router: h.router, Admit: func(context.Context, []byte) (Admission, error) { return Admission{}, nil }})
	require.ErrorContains(t, err, "RouterConfig.Admit")
	_, err = NewRouter(RouterConfig{OneSessionPerUser: true})
	require.ErrorContains(t, err, "Join is nil")
	require.ErrorContains(t, err, "without Admit")
}

// A Hello that resumes finds the room of its session, and asks no room to be made. One with a
// wrong secret joins like any other.
func TestRouterResumes(t *testing.T) {
	h := newHouse(t, func(*RouterConfig) {})
	h.add("one")
	h.add("two")
	conn, p := h.join("two")
	h.joins = nil
	p.Gone()
	h.tick(1)
	again, _ := h.hello(func(m *wire.Hello) { resume(conn, 1)(m); m.Room = "one" })
	h.tick(1)
	require.EqualValues(t, 1, again.last().Resumed)
	require.Equal(t, conn.last().Session, again.last().Session)
	require.Empty(t, h.joins)
	wrong, _ := h.hello(func(m *wire.Hello) { resume(conn, 1)(m); m.Secret, m.Room = make([]byte, 16), "one" })
	h.tick(1)
	require.Zero(t, wrong.last().Resumed)
	require.Equal(t, "one", wrong.last().Room)
	require.Equal(t, []string{"one"}, h.joins)
}

// A session that ends before the Hello that resumes it is answered is replaced in its own room
// alone: RouterConfig.Join was not asked.
func TestRouterResumesTooLate(t *testing.T) {
	for _, room := range []string{"", "one", "two"} {
		h := newHouse(t, func(*RouterConfig) {})
		one := h.add("one")
		h.add("two")
		conn, p := h.join("one")
		p.Gone()
		h.tick(1)
		again, _ := h.hello(func(m *wire.Hello) { resume(conn, 1)(m); m.Room = room })
		one.Kick(p.ID(), "go")
		h.tick(1)
		if room == "two" {
			require.Equal(t, wire.Timeout, again.ended.Code)
			require.True(t, again.ended.Code.Info().Retry)
			continue
		}
		require.Zero(t, again.last().Resumed)
		require.Equal(t, "one", again.last().Room)
	}
}

// Connections without a Hello end by the caller's clock, and with their transport.
func TestRouterExpiresHellos(t *testing.T) {
	h := newHouse(t, func(*RouterConfig) {})
	h.add("one")
	silent, broken, faulty := &tape{}, &tape{}, &tape{}
	quiet := h.router.Open(context.Background(), "", silent)
	h.router.Open(context.Background(), "", broken).Gone()
	require.Error(t, h.router.Open(context.Background(), "", faulty).ReceiveStream([]byte{1, wire.TypeResync}))
	now := time.Unix(100, 0)
	h.router.ExpireHellos(now)
	require.Equal(t, []bool{false, true, true}, []bool{silent.closed, broken.closed, faulty.closed})
	require.Equal(t, wire.BadState, faulty.ended.Code)
	require.Equal(t, 1, h.router.Stats().Waiting)
	h.router.ExpireHellos(now.Add(HelloTimeout))
	require.False(t, silent.closed)
	h.router.ExpireHellos(now.Add(HelloTimeout + 1))
	require.Equal(t, wire.Timeout, silent.ended.Code)
	require.NoError(t, quiet.ReceiveStream(wire.AppendMessage(nil, wire.Hello{Protocol: wire.Version, Room: "one"})), "it is closed")
	h.tick(1)
	require.Empty(t, silent.welcome)
	other, _ := h.hello(func(m *wire.Hello) { m.Protocol = 3 })
	require.Equal(t, wire.ProtocolVersion, other.ended.Code)
	h.router.Open(context.Background(), "", silent)
	h.router.Drain()
	require.Equal(t, wire.Draining, silent.ended.Code)
	late, _ := h.hello(func(m *wire.Hello) { m.Room = "one" })
	require.Equal(t, wire.Draining, late.ended.Code)
}

// A room that has retired takes no more clients: the Router asks for another. One that has
// closed with clients on their way to it refuses them.
func TestRoomRetires(t *testing.T) {
	h := newHouse(t, func(*RouterConfig) {})
	one := h.add("one")
	_, p := h.join("one")
	require.False(t, one.CloseIfEmpty())
	p.Left()
	h.tick(2)
	late, _ := h.hello(func(m *wire.Hello) { m.Room = "one" })
	require.False(t, one.CloseIfEmpty(), "a client is on its way")
	h.tick(1)
	require.Len(t, late.welcome, 1)
	one.Shutdown()
	require.True(t, one.CloseIfEmpty())
	refused, _ := h.hello(func(m *wire.Hello) { m.Room = "one" })
	require.Equal(t, wire.Draining, refused.ended.Code, "Join returns a room that has ended")
	one.Close()
	second := h.add("one")
	waiting, _ := h.hello(func(m *wire.Hello) { m.Room = "one" })
	second.Close()
	require.Equal(t, wire.Draining, waiting.ended.Code)
	alone := &tape{}
	second.Open(context.Background(), "", alone)
	require.Equal(t, wire.Draining, alone.ended.Code)
}

// A user's newest session ends the user's others in all rooms.
func TestRouterOneSessionPerUser(t *testing.T) {
	h := newHouse(t, func(c *RouterConfig) {
		c.OneSessionPerUser = true
		c.Admit = func(_ context.Context, token []byte) (Admission, error) {
			if len(token) == 0 {
				panic("no token")
			}
			return Admission{User: string(token)}, nil
		}
	})
	h.add("one")
	h.add("two")
	first, _ := h.hello(func(m *wire.Hello) { m.Room, m.Token = "one", []byte("ann") })
	other, _ := h.hello(func(m *wire.Hello) { m.Room, m.Token = "one", []byte("bob") })
	h.tick(1)
	second, _ := h.hello(func(m *wire.Hello) { m.Room, m.Token = "two", []byte("ann") })
	h.tick(2)
	require.Equal(t, wire.SignedInElsewhere, first.ended.Code)
	require.False(t, other.closed || second.closed)
	failed, _ := h.hello(func(m *wire.Hello) { m.Room = "one" })
	require.Equal(t, wire.Internal, failed.ended.Code)
	require.EqualValues(t, 1, h.router.Stats().Panics)
}

// A client that has gone while its token was checked joins no room, so that none is made for it.
func TestRouterDropsGoneClient(t *testing.T) {
	ctx, end := context.WithCancel(t.Context())
	h := newHouse(t, func(c *RouterConfig) {
		c.Admit = func(context.Context, []byte) (Admission, error) {
			end()
			return Admission{}, nil
		}
	})
	h.add("one")
	conn := &tape{}
	p := h.router.Open(ctx, "", conn)
	hello := wire.Hello{Protocol: wire.Version, Tables: rowcodec.DefaultTables().Version(), Room: "one"}
	require.NoError(t, p.ReceiveStream(wire.AppendMessage(nil, hello)))
	require.Empty(t, h.joins)
	require.True(t, conn.closed)
	h.tick(1)
	require.Zero(t, h.rooms["one"].Len())
}

// Of a user's sessions that begin in two rooms at the same time, the later one stays.
func TestRouterOneSessionPerUserAtOnce(t *testing.T) {
	h := newHouse(t, func(c *RouterConfig) {
		c.OneSessionPerUser = true
		c.Admit = func(context.Context, []byte) (Admission, error) { return Admission{}, nil }
	})
	var sessions []*Session
	for i, name := range []string{"one", "two"} {
		s := newSession(h.add(name), identity{id: uint64(i), address: "here"})
		s.user = "ann"
		s.rotateSecret()
		sessions = append(sessions, s)
	}
	for _, s := range sessions {
		h.router.endOthers(s)
	}
	require.Len(t, h.rooms["one"].requests.kicks, 1)
	require.Empty(t, h.rooms["two"].requests.kicks)
}
