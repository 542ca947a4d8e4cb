package simulation

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/client"
	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/internal/shorttest"
	"github.com/worldd/worldd/internal/simtest"
	"github.com/worldd/worldd/internal/stage"
	"github.com/worldd/worldd/replication"
	"github.com/worldd/worldd/replication/schema"
	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/server/session"
	"github.com/worldd/worldd/world"
)

const (
	roomCount       = 3
	roomClientCount = 3
)

// roomsSim is a simulation of several rooms and of clients that a seed moves between them,
// over links that lose, delay and break. A client must show only the room that its newest
// Welcome names, whatever other data is still on its way.
type roomsSim struct {
	seed    uint64
	rng     *rand.Rand
	tick    int
	links   simtest.Conditions
	router  *session.Router
	rooms   []*simRoom
	clients []*roomClient
	issued  map[bulk.Handle]roomTenant // handles issued by all rooms
	wrong   error                      // the first failure
	late    int                        // ticks for which Move has no room yet

	refusing *rand.Rand          // decides which sessions a room refuses to take from another
	homes    map[uint64]*simRoom // rooms in which sessions are

	restless      *roomClient // client that moves and asks in every tick
	restlessUntil int
}

type roomTenant struct {
	room     *simRoom
	identity uint64
}

type simRoom struct {
	s        *roomsSim
	number   int
	pace     int // ticks of the simulation per tick of the room
	core     *session.Core
	world    *world.World
	crate    world.KindID
	identity *world.Component[Identity]
	live     []bulk.Handle
}

// hail is the event that rooms broadcast.
type hail struct{ Room uint16 }

// roomClient is a client and its connection.
type roomClient struct {
	s        *roomsSim
	number   int
	session  *client.Session
	conn     *roomConnection
	backAt   int // tick at which the client reconnects; 0: it is connected
	asked    map[uint32]uint64
	made     uint32 // commands sent
	moves    int
	revision uint64 // epoch of the room in which it renders
	heard    int
}

type roomConnection struct {
	stage.Linked
	c      *roomClient
	peer   *session.Peer
	closed bool
}

func (s *roomsSim) fail(format string, args ...any) {
	if s.wrong == nil {
		s.wrong = fmt.Errorf("seed %d, tick %d: "+format, append([]any{s.seed, s.tick}, args...)...)
	}
}

func (s *roomsSim) now() int64 { return int64(s.tick * tickMs) }

func newRoomsSim(t testing.TB, seed uint64) *roomsSim {
	s := &roomsSim{
		seed: seed, rng: rand.New(rand.NewPCG(seed, 1)), issued: map[bulk.Handle]roomTenant{},
		refusing: rand.New(rand.NewPCG(seed, 2)), homes: map[uint64]*simRoom{},
	}
	s.links = simtest.Conditions{
		Loss: s.rng.Float64() * 0.2, Duplicate: 0.05, Reorder: 0.1, ReorderExtra: 40,
		DelayMin: 5, DelayMax: 5 + s.rng.Int64N(120),
	}
	random := rand.NewChaCha8([32]byte{byte(seed), byte(seed >> 8)})
	s.router = must.Get(session.NewRouter(session.RouterConfig{
		Random: random,
		Join: func(_ context.Context, room, _ string, _ session.Admission) (*session.Core, error) {
			return s.roomOf(room).core, nil
		},
		Move: func(room string, _ *session.Session) (*session.Core, error) {
			if s.late > 0 {
				return nil, nil
			}
			return s.roomOf(room).core, nil
		},
	}))
	for i := range roomCount {
		s.rooms = append(s.rooms, s.newRoom(t, i))
	}
	for i := range roomClientCount {
		c := &roomClient{s: s, number: i, asked: map[uint32]uint64{}}
		own := schema.NewWithBody()
		events := &client.Events{}
		client.OnEvent(events, schema.DefineEvent[hail](own, "hail"), func(_ uint32, e hail) {
			c.heard++
			if w, ok := c.session.Welcome(); !ok || w.Room != s.rooms[e.Room].name() {
				s.fail("client %d in room %q hears the event of room %d", i, w.Room, e.Room)
			}
		})
		c.session = must.Get(client.NewSession(client.SessionConfig{Schema: own, PlainRows: i%3 == 1, Events: events, Room: s.rooms[i%roomCount].name(), Observer: client.Observer{
			Update: func(e *client.Entity) { c.check(e) },
			Enter:  func(e *client.Entity) { c.check(e) },
		}}))
		c.connect()
		s.clients = append(s.clients, c)
	}
	return s
}

func (r *simRoom) name() string { return fmt.Sprintf("room/%d", r.number) }

func (s *roomsSim) roomOf(name string) *simRoom {
	return s.rooms[slices.IndexFunc(s.rooms, func(r *simRoom) bool { return r.name() == name })]
}

// newRoom makes a room. Even rooms and odd rooms have different schemas.
func (s *roomsSim) newRoom(t testing.TB, i int) *simRoom {
	const block = world.RunGenerations
	r := &simRoom{s: s, number: i, pace: 1 + i%2}
	r.world = must.Get(world.New(world.Config{Seed: s.seed, MaxEntities: 48, FirstGeneration: uint32(i)*block + 1, LastGeneration: uint32(i+1)*block - 1}))
	r.crate = must.Get(r.world.AddKind(world.Kind{Name: "crate", Body: &world.BodyDef{Mass: 1, Radius: 0.5, Friction: 1}}))
	r.identity = must.Get(world.Register[Identity](r.world, "identity"))
	own := schema.NewWithBody()
	schema.Define[Identity](own, "identity")
	schema.DefineEvent[hail](own, "hail")
	require.NoError(t, own.Err())
	config := session.Config{
		Router: s.router, Room: r.name(),
		WorldConfig: session.WorldConfig{
			World: r.world, Schema: own, Grace: 3 * time.Second,
			Replication: replication.Config{EnterRadius: 20, LeaveRadius: 25},
			Hooks: session.Hooks{
				Join: func(x *session.Session) (world.Entity, error) {
					if x.Room() != r.name() {
						s.fail("Join of a session in room %q, want %q", x.Room(), r.name())
					}
					if home := s.homes[x.ID()]; home != nil && home != r && s.refusing.IntN(5) == 0 {
						return 0, errors.New("it stays where it was")
					}
					s.homes[x.ID()] = r
					return r.spawn(), nil
				},
				MoveRefused: func(x *session.Session, room string, _ error) {
					if x.Room() != r.name() || room == r.name() || s.homes[x.ID()] != r {
						s.fail("room %d hears that a session does not move to %q", i, room)
					}
				},
				Leave: func(x *session.Session) { r.destroy(x.Entity()) },
				Input: session.OnRawInput(func(_ *session.Session, _ uint64, data []byte) {
					if binary.LittleEndian.Uint64(data) != r.core.Config().Epoch {
						s.fail("room %d is given an input of another room", i)
					}
				}),
				Commands: []session.Command{session.OnRawCommand("touch", func(x *session.Session, h world.Entity, args []byte) error {
					c := s.clients[args[1]]
					number := uint32(args[2])<<7 | uint32(args[3])
					if epoch := c.asked[number]; epoch != r.core.Config().Epoch {
						s.fail("room %d executes command %d of client %d, made in epoch %x", i, number, c.number, epoch)
					}
					if h != 0 && s.issued[h].room != r {
						s.fail("room %d executes a command for %v of another room", i, h)
					}
					return nil
				})},
			},
		},
	}
	if i%2 == 0 {
		config.Hooks.Commands = append(config.Hooks.Commands, session.OnRawCommand("nothing", func(*session.Session, world.Entity, []byte) error { return nil }))
	}
	r.core = must.Get(session.NewCore(config))
	r.core.OnPanic(func(p session.HookPanic) { s.fail("%v: %v\n%s", p.Hook, p.Value, p.Stack) })
	for range 10 {
		r.spawn()
	}
	return r
}

func (r *simRoom) spawn() bulk.Handle {
	at := world.Vec3{X: float32(r.s.rng.IntN(50)) - 25, Y: 0.5, Z: float32(r.s.rng.IntN(10))}
	h, err := r.world.Spawn(r.crate, at, world.Vec3{X: float32(r.s.rng.IntN(8)) - 4})
	if err != nil {
		return 0
	}
	if was, again := r.s.issued[h]; again {
		r.s.fail("%v is issued by room %d and before by room %d (H4)", h, r.number, was.room.number)
	}
	identity := uint64(len(r.s.issued) + 1)
	r.s.issued[h] = roomTenant{r, identity}
	r.identity.Set(h, Identity{identity})
	r.live = append(r.live, h)
	return h
}

func (r *simRoom) destroy(h bulk.Handle) {
	if i := slices.Index(r.live, h); i >= 0 {
		r.live = slices.Delete(r.live, i, i+1)
		r.world.Destroy(h)
	}
}

func (c *roomClient) connect() {
	n := &roomConnection{c: c}
	n.Linked = stage.Linked{
		Connection: simtest.NewConnection(c.s.rng.Uint64(), c.s.links), Client: c.session, Now: c.s.now(), Unit: time.Millisecond, OnClose: n.close,
	}
	n.peer = c.s.router.Open(context.Background(), "", n)
	n.Peer = n.peer
	c.conn, c.backAt = n, 0
}

// close ends a connection for the server.
func (n *roomConnection) close(code wire.Code, text string) {
	n.closed = true
	if s := n.c.s; code != wire.OK && code != wire.Timeout && code != wire.Replaced && code != wire.SchemaMismatch {
		s.fail("the server ends client %d: %v %s", n.c.number, code, text)
	}
}

// drop breaks the connection. The server notices at once, or when another one replaces it.
func (c *roomClient) drop(noticed bool, away int) {
	n := c.conn
	if noticed {
		n.peer.Gone()
	}
	c.session.Lost(&wire.Error{Code: wire.Timeout})
	c.backAt = c.s.tick + away
}

// step moves bytes, and lets the client act.
func (c *roomClient) step() {
	s, n := c.s, c.conn
	if c.backAt != 0 {
		if s.tick < c.backAt {
			return
		}
		c.session.Reconnect()
		c.connect()
		n = c.conn
	}
	if p := n.Down.Receive(s.now()); len(p) > 0 {
		for len(p) > 0 { // deliver in pieces, like a socket
			k := min(len(p), 1+s.rng.IntN(400))
			if err := c.session.ReceiveStream(p[:k]); wire.CodeOf(err) == wire.SchemaMismatch { // the client then asks for the schema
				c.drop(true, 1)
				return
			} else if err != nil {
				s.fail("client %d: %v", c.number, err)
				return
			}
			c.verify()
			p = p[k:]
		}
	}
	for _, d := range n.DownData.Receive(s.now()) {
		if _, err := c.session.ReceiveDatagram(d, n.Time()); err != nil {
			s.fail("client %d: %v", c.number, err)
			return
		}
	}
	c.session.Render(n.Time())
	c.verify()
	if w, ok := c.session.Welcome(); ok && c.session.Joined() && s.rng.IntN(2) == 0 {
		_, _ = c.session.SetRawInput(binary.LittleEndian.AppendUint64(nil, w.Epoch), n.Time())
	}
	n.Answer()
	c.deliver()
}

// deliver gives arrived data to the server.
func (c *roomClient) deliver() {
	s, n := c.s, c.conn
	if n.closed {
		return
	}
	if err := n.Serve(); err != nil {
		s.fail("the server refuses what client %d sent: %v", c.number, err)
	}
}

// touch sends a command for any handle that was ever issued.
func (c *roomClient) touch(target bulk.Handle) *client.Future {
	w, _ := c.session.Welcome()
	c.made++
	args := []byte{0x93, byte(c.number), byte(c.made >> 7 & 127), byte(c.made & 127)}
	c.asked[c.made&(1<<14-1)] = w.Epoch
	f, err := c.session.DoRaw("touch", target, args)
	if err != nil {
		c.s.fail("client %d: %v", c.number, err)
	}
	return f
}

// check checks an entity in view (H1).
func (c *roomClient) check(e *client.Entity) {
	w, _ := c.session.Welcome()
	own, ok := c.s.issued[e.Handle()]
	switch {
	case !ok:
		c.s.fail("client %d shows %v, which was never issued", c.number, e.Handle())
	case own.room.core.Config().Epoch != w.Epoch:
		c.s.fail("client %d in room %q shows %v of room %d", c.number, w.Room, e.Handle(), own.room.number)
	default:
		if got := e.AppendValues(nil); !slices.Contains(got, uint32(own.identity)) {
			c.s.fail("client %d shows %v with the state %v, want identity %d", c.number, e.Handle(), got, own.identity)
		}
	}
}

// verify checks every entity in view, and the verdicts on all handles.
func (c *roomClient) verify() {
	w, ok := c.session.Welcome()
	if !ok {
		return
	}
	if w.Epoch != c.revision {
		c.revision = w.Epoch
		c.moves++
	}
	for e := range c.session.Replica().All() {
		c.check(e)
	}
	for h, own := range c.s.issued {
		v := c.session.Resolve(h)
		switch here := own.room.core.Config().Epoch == w.Epoch; {
		case !here && v != wire.Stale:
			c.s.fail("client %d in room %q calls %v of room %d %v", c.number, w.Room, h, own.room.number, v)
		case here && v == wire.Stale && own.room.world.Status(h) == bulk.Live:
			c.s.fail("client %d in room %q calls %v stale, which lives (H3)", c.number, w.Room, h)
		}
	}
}

// act executes one random action.
func (s *roomsSim) act() {
	c, r := s.clients[s.rng.IntN(len(s.clients))], s.rooms[s.rng.IntN(len(s.rooms))]
	switch s.rng.IntN(12) {
	case 0, 1:
		r.spawn()
	case 2, 3:
		if len(r.live) > 6 {
			r.destroyStranger(r.live[s.rng.IntN(len(r.live))])
		}
	case 4, 5:
		s.move(c, r)
	case 6:
		s.restless, s.restlessUntil = c, s.tick+10
	case 7:
		s.late = s.rng.IntN(10)
	case 8:
		if c.backAt == 0 && s.rng.IntN(2) == 0 {
			c.drop(s.rng.IntN(2) == 0, 1+s.rng.IntN(90))
		}
	case 9, 10:
		if len(s.issued) > 0 && c.session.Joined() {
			c.touch(s.anyHandle())
		}
	default:
		_ = r.core.Broadcast(&hail{uint16(r.number)})
	}
}

// move moves the session of c to r.
func (s *roomsSim) move(c *roomClient, r *simRoom) {
	w, ok := c.session.Welcome()
	if !ok {
		return
	}
	for _, from := range s.rooms {
		if x := from.core.Session(w.Session); x != nil {
			_ = x.Move(r.name()) // fails in the room where the session is
		}
	}
}

// destroyStranger destroys h unless a session controls it.
func (r *simRoom) destroyStranger(h bulk.Handle) {
	for x := range r.core.Sessions() {
		if x.Entity() == h {
			return
		}
	}
	r.destroy(h)
}

func (s *roomsSim) anyHandle() bulk.Handle {
	r := s.rooms[s.rng.IntN(len(s.rooms))]
	if len(r.live) == 0 {
		return 0
	}
	return r.live[s.rng.IntN(len(r.live))]
}

func (s *roomsSim) advance(act bool) {
	s.tick++
	s.late = max(s.late-1, 0)
	if act && s.rng.IntN(2) == 0 {
		s.act()
	}
	if act && s.tick < s.restlessUntil {
		s.move(s.restless, s.rooms[s.rng.IntN(len(s.rooms))])
		if s.restless.session.Joined() {
			s.restless.touch(s.anyHandle())
		}
	}
	for _, c := range s.clients {
		c.conn.Now = s.now()
	}
	for _, r := range s.rooms {
		if s.tick%r.pace == 0 {
			r.core.Tick()
		}
	}
	s.router.Expire(time.UnixMilli(s.now()))
	for _, c := range s.clients {
		c.step()
	}
}

// simulate runs the simulation, and ends it over perfect links: every client then shows its
// room's view, and commands are answered.
func (s *roomsSim) simulate() error {
	for s.tick < 500 && s.wrong == nil {
		s.advance(true)
	}
	s.links, s.late = simtest.Conditions{}, 0
	for _, c := range s.clients {
		if c.backAt == 0 {
			c.drop(true, 1)
		} else {
			c.backAt = s.tick + 1
		}
	}
	for range 120 {
		if s.wrong != nil {
			return s.wrong
		}
		s.advance(false)
	}
	var last []*client.Future
	for _, c := range s.clients {
		w, ok := c.session.Welcome()
		if !ok || !c.session.Joined() {
			s.fail("client %d has not joined", c.number)
			break
		}
		x := s.roomOf(w.Room).core.Session(w.Session)
		if x == nil {
			s.fail("client %d shows room %q, where its session is not", c.number, w.Room)
			break
		}
		seen := 0
		for h := range x.InterestSet() {
			seen++
			if c.session.Resolve(h) != wire.Live {
				s.fail("client %d does not show %v of its room: %v", c.number, h, c.session.Resolve(h))
			}
		}
		if n := c.session.Replica().Len(); n != seen {
			s.fail("client %d shows %d entities, want %d", c.number, n, seen)
		}
		if c.session.Controlled() != x.Entity() {
			s.fail("client %d controls %v, want %v", c.number, c.session.Controlled(), x.Entity())
		}
		last = append(last, c.touch(x.Entity()))
	}
	for range 10 {
		s.advance(false)
	}
	for _, f := range last {
		if r, ok := f.Poll(); !ok || r.Err != nil {
			s.fail("the last command is answered %t: %v", ok, r.Err)
		}
	}
	return s.wrong
}

// Sessions move between rooms over bad links. Clients always show the room where their
// session is.
func TestMovesBetweenRooms(t *testing.T) {
	seeds := shorttest.Pick(60, 12)
	var moves, heard, in, refused int
	for seed := range uint64(seeds) {
		s := newRoomsSim(t, seed)
		require.NoError(t, s.simulate())
		for _, c := range s.clients {
			moves += c.moves
			heard += c.heard
		}
		for _, r := range s.rooms {
			in += int(r.core.Stats().MovedIn)
			refused += int(r.core.Stats().MovesRefused)
		}
	}
	require.Greater(t, refused, seeds)
	t.Logf("%d sessions came to rooms, clients changed rooms %d times and heard %d events", in, moves, heard)
	require.Greater(t, in, 10*seeds)
	require.Greater(t, moves, 5*seeds)
	require.Greater(t, heard, 5*seeds)
}
