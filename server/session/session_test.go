package session_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/internal/invariants"
	"github.com/worldd/worldd/internal/rowcodec"
	"github.com/worldd/worldd/replication"
	"github.com/worldd/worldd/replication/schema"
	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/server/session"
	"github.com/worldd/worldd/world"
)

// desk is a server core and scripted clients.
type desk struct {
	t     testing.TB
	world *world.World
	core  *session.Core
	game  *session.Game // may be changed before it is asked
	crate world.KindID
	poked []bulk.Handle
	moved []string
	left  int
	weak  bool // who joins dies in the same tick
	busy  bool // ticks have no time for snapshots
}

const deskEpoch = 77

func deskSchema(t testing.TB) *schema.Schema {
	s := schema.New()
	require.NoError(t, schema.Add[schema.Body](s, schema.BodyComponent))
	return s
}

func newDesk(t testing.TB) *desk { return newDeskWith(t, func(*session.Config) {}) }

func newDeskWith(t testing.TB, change func(*session.Config)) *desk {
	w, err := world.New(world.Config{Seed: 1})
	require.NoError(t, err)
	d := &desk{t: t, world: w}
	d.crate, err = w.AddKind(world.Kind{Name: "crate", Body: &world.BodyDef{Mass: 1, Radius: 0.5, Friction: 1}})
	require.NoError(t, err)
	config := session.Config{
		World: w, Schema: deskSchema(t), Epoch: deskEpoch, GenerationFloor: 1, MaxSessions: 2, Random: rand.NewChaCha8([32]byte{1}),
		Replication: replication.Config{EnterRadius: 10, LeaveRadius: 20},
		Game: session.Game{
			Join: func(*session.Session) (world.Entity, error) {
				h := d.spawn(0)
				if d.weak {
					w.Destroy(h)
				}
				return h, nil
			},
			Leave: func(s *session.Session) {
				d.left++
				w.Destroy(s.Entity())
			},
			Input: func(_ *session.Session, tick uint64, data []byte) {
				d.moved = append(d.moved, fmt.Sprintf("%d:%s", tick, data))
			},
			Commands: map[string]session.Command{
				"poke": func(_ *session.Session, h world.Entity, _ []byte) error {
					d.poked = append(d.poked, h)
					return nil
				},
				"fail": func(*session.Session, world.Entity, []byte) error { return fmt.Errorf("no") },
				"typo": func(*session.Session, world.Entity, []byte) error { return &wire.Error{Code: wire.BadArguments} },
				"leave": func(s *session.Session, _ world.Entity, _ []byte) error {
					s.Kick("as you wish")
					return nil
				},
			},
			Away: func(s *session.Session) { d.told(d.game.Away, s) },
			Back: func(s *session.Session) { d.told(d.game.Back, s) },
		},
	}
	d.game = &session.Game{Commands: config.Game.Commands}
	change(&config)
	d.core, err = session.NewCore(config)
	require.NoError(t, err)
	return d
}

func (d *desk) told(f func(*session.Session), s *session.Session) {
	if f != nil {
		f(s)
	}
}

func (d *desk) spawn(x float32) bulk.Handle {
	h, err := d.world.Spawn(d.crate, world.Vec3{X: x, Y: 0.5}, world.Vec3{})
	require.NoError(d.t, err)
	return h
}

// seat is one client of a desk.
type seat struct {
	d      *desk
	peer   *session.Peer
	frames wire.FrameReader
	full   bool // the stream takes no more
	closed []wire.Code
	shots  int
}

func (c *seat) SendStream(p []byte) bool { c.frames.Feed(p); return !c.full }
func (c *seat) SendSnapshot(ds [][]byte) { c.shots += len(ds) }
func (c *seat) Close(code wire.Code, _ string) {
	c.closed = append(c.closed, code)
}

func (d *desk) tick() {
	d.core.Receive()
	d.core.Step()
	d.core.Send(func() bool { return d.busy })
}

func (d *desk) sit() *seat {
	c := &seat{d: d}
	c.peer = d.core.Open(context.Background(), "", c)
	return c
}

func (d *desk) join() *seat {
	c := d.sit()
	c.say(wire.Hello{Protocol: wire.Version, Schema: deskSchema(d.t).Hash(), Tables: rowcodec.DefaultTables().Version(), Epoch: deskEpoch, Name: "hand"})
	c.want("joins", wire.TypeWelcome)
	c.want("steers", wire.TypeControl)
	return c
}

func (c *seat) say(messages ...wire.Message) {
	var b []byte
	for _, m := range messages {
		b = wire.AppendMessage(b, m)
	}
	require.NoError(c.d.t, c.peer.ReceiveStream(b))
	c.d.tick()
}

// want reads the next message that is not structure.
func (c *seat) want(why string, kind byte) []byte {
	c.d.t.Helper()
	for {
		got, body, ok, err := c.frames.Next()
		require.NoError(c.d.t, err, why)
		require.True(c.d.t, ok, "%s: nothing came", why)
		if got == wire.TypeStructure && kind != got {
			continue
		}
		require.Equal(c.d.t, kind, got, "%s: %s", why, wire.Describe(got, body))
		return body
	}
}

func (c *seat) wantResult(why string, id uint32, code wire.Code, verdict wire.Verdict) {
	c.d.t.Helper()
	r, err := wire.ParseResult(c.want(why, wire.TypeResult))
	require.NoError(c.d.t, err)
	require.Equal(c.d.t, []any{id, code, verdict}, []any{r.ID, r.Code, r.Verdict}, why)
}

func (c *seat) wantClosed(why string, code wire.Code) {
	c.d.t.Helper()
	c.d.core.Tick()
	require.Equal(c.d.t, []wire.Code{code}, c.closed, why)
	require.Zero(c.d.t, c.d.core.Sessions(), why)
}

func TestHandshakeRefusals(t *testing.T) {
	good := wire.Hello{Protocol: wire.Version, Schema: deskSchema(t).Hash(), Tables: rowcodec.DefaultTables().Version(), Epoch: deskEpoch}
	wants := map[wire.Code]string{
		wire.ProtocolVersion: fmt.Sprintf("%x", wire.Version),
		wire.SchemaMismatch:  fmt.Sprintf("%016x", good.Schema),
		wire.TablesMismatch:  fmt.Sprintf("%08x", good.Tables), // as worldd train prints it
		wire.EpochMismatch:   fmt.Sprintf("%016x", deskEpoch),
	}
	for code, change := range map[wire.Code]func(*wire.Hello){
		wire.ProtocolVersion: func(h *wire.Hello) { h.Protocol++ },
		wire.SchemaMismatch:  func(h *wire.Hello) { h.Schema++ },
		wire.TablesMismatch:  func(h *wire.Hello) { h.Tables++ },
		wire.EpochMismatch:   func(h *wire.Hello) { h.Epoch++ },
	} {
		d := newDesk(t)
		hello := good
		change(&hello)
		c := d.sit()
		c.say(hello)
		m, err := wire.ParseRefused(c.want("a mismatch is refused in band", wire.TypeRefused))
		require.NoError(t, err)
		require.Equal(t, code, m.Code)
		require.NotEmpty(t, m.Text)
		require.Equal(t, wants[code], m.Want)
		c.wantClosed("and closed", code)
		require.Zero(t, d.left, "who never joined does not leave")
	}
	d := newDesk(t)
	anyEpoch := good
	anyEpoch.Epoch = 0
	c := d.sit()
	c.say(anyEpoch)
	c.want("epoch 0 is any", wire.TypeWelcome)
}

func TestServerFull(t *testing.T) {
	d := newDesk(t)
	d.join()
	b := d.join()
	c := d.sit()
	c.say(wire.Hello{Protocol: wire.Version, Schema: deskSchema(t).Hash(), Tables: rowcodec.DefaultTables().Version()})
	m, err := wire.ParseRefused(c.want("two is all", wire.TypeRefused))
	require.NoError(t, err)
	require.Equal(t, wire.ServerFull, m.Code)
	b.say(wire.Bye{})
	d.core.Tick()
	require.Equal(t, 1, d.left)
	d.join()
}

func TestCommandsAreChecked(t *testing.T) {
	d := newDesk(t)
	c := d.join()
	near, far := d.spawn(5), d.spawn(100)
	for range 6 {
		d.core.Tick()
	}
	require.Equal(t, wire.Live, c.peer.Session().Resolve(near))
	c.say(wire.Command{ID: 1, Name: "poke", Target: near}, wire.Command{ID: 2, Name: "poke", Target: far},
		wire.Command{ID: 3, Name: "poke", Target: bulk.NewHandle(900, 1)}, wire.Command{ID: 4, Name: "dance", Target: near},
		wire.Command{ID: 5, Name: "fail", Target: near}, wire.Command{ID: 6, Name: "poke"},
		wire.Command{ID: 7, Name: "typo"})
	c.wantResult("live and shown", 1, wire.OK, wire.Live)
	c.wantResult("live and never shown", 2, wire.UnknownHandle, wire.Pending)
	c.wantResult("made up: the same answer", 3, wire.UnknownHandle, wire.Pending)
	c.wantResult("no such command", 4, wire.UnknownCommand, wire.Live)
	c.wantResult("the game says no", 5, wire.CommandRefused, wire.Live)
	c.wantResult("about nobody", 6, wire.OK, wire.Live)
	c.wantResult("the game says why", 7, wire.BadArguments, wire.Live)
	require.Equal(t, []bulk.Handle{near, 0}, d.poked, "H2")

	d.world.SetPosition(near, world.Vec3{X: 60, Y: 0.5})
	for range 6 {
		d.core.Tick()
	}
	c.say(wire.Command{ID: 7, Name: "poke", Target: near})
	c.wantResult("out of sight", 7, wire.HiddenHandle, wire.Hidden)
	d.world.Destroy(near)
	d.core.Tick()
	c.say(wire.Command{ID: 8, Name: "poke", Target: near})
	c.wantResult("dead", 8, wire.StaleHandle, wire.Stale)
	reborn := d.spawn(5)
	require.Equal(t, near.Index(), reborn.Index())
	for range 6 {
		d.core.Tick()
	}
	c.say(wire.Command{ID: 9, Name: "poke", Target: near})
	c.wantResult("the slot's next tenant is somebody else", 9, wire.StaleHandle, wire.Stale)
	require.Len(t, d.poked, 2, "H2")
}

func TestCommandRate(t *testing.T) {
	d := newDesk(t)
	c := d.join()
	limited := 0
	for i := range 150 {
		c.say(wire.Command{ID: uint32(i), Name: "poke"})
		r, err := wire.ParseResult(c.want("each is answered", wire.TypeResult))
		require.NoError(t, err)
		if r.Code == wire.RateLimited {
			limited++
		}
	}
	require.Less(t, limited, 50, "100 in a burst and 50 a second are free")
	require.Zero(t, limited)
	gone := d.spawn(5)
	for range 6 {
		d.core.Tick()
	}
	d.world.Destroy(gone)
	d.core.Tick()
	flood := make([]wire.Message, 200)
	for i := range flood {
		flood[i] = wire.Command{ID: uint32(i), Name: "poke", Target: gone}
	}
	c.say(flood...)
	for range flood {
		r, err := wire.ParseResult(c.want("each is answered", wire.TypeResult))
		require.NoError(t, err)
		require.Equal(t, wire.Stale, r.Verdict, "also where the command is not looked at")
		if r.Code == wire.RateLimited {
			limited++
		}
	}
	require.Greater(t, limited, 90)
	require.Less(t, limited, 200)
}

func TestCommandRateIsConfigured(t *testing.T) {
	d := newDeskWith(t, func(c *session.Config) { c.CommandsPerSecond, c.CommandBurst = 5, 3 })
	c := d.join()
	codes := func(commands int) (codes []wire.Code) {
		var messages []wire.Message
		for i := range commands {
			messages = append(messages, wire.Command{ID: uint32(i), Name: "poke"})
		}
		c.say(messages...)
		for range commands {
			r, err := wire.ParseResult(c.want("each is answered", wire.TypeResult))
			require.NoError(t, err)
			codes = append(codes, r.Code)
		}
		return codes
	}
	require.Equal(t, []wire.Code{wire.OK, wire.OK, wire.OK, wire.RateLimited}, codes(4), "the burst")
	d.ticks(25) // at 60 Hz, one command per 12
	require.Equal(t, []wire.Code{wire.OK, wire.OK, wire.RateLimited}, codes(3), "the rate")
}

func TestFloodClosesItsSender(t *testing.T) {
	d := newDesk(t)
	c := d.join()
	var b []byte
	for i := range 300 {
		b = wire.AppendMessage(b, wire.Command{ID: uint32(i), Name: "poke"})
	}
	err := c.peer.ReceiveStream(b)
	require.Equal(t, wire.TooFast, wire.CodeOf(err))
	require.Error(t, c.peer.ReceiveStream(nil), "nothing more is taken")
	d.core.Tick()
	m, err := wire.ParseGoodbye(func() []byte {
		for {
			kind, body, ok, err := c.frames.Next()
			require.True(t, ok && err == nil)
			if kind == wire.TypeGoodbye {
				return body
			}
		}
	}())
	require.NoError(t, err)
	require.Equal(t, wire.TooFast, m.Code)
	c.wantClosed("too fast", wire.TooFast)
	require.Equal(t, 1, d.left)
}

func TestBadStreams(t *testing.T) {
	for name, bytes := range map[string][]byte{
		"command before hello":  wire.AppendMessage(nil, wire.Command{Name: "poke"}),
		"a server's message":    wire.AppendFrame(nil, wire.TypeWelcome, nil),
		"unknown type":          wire.AppendFrame(nil, 9, []byte("x")),
		"not msgpack":           wire.AppendFrame(nil, wire.TypeHello, []byte{0xdd, 0xff, 0xff, 0xff, 0xff}),
		"a frame of a gigabyte": {0xff, 0xff, 0xff, 0xff, 0x03},
		"a hello with a tail":   wire.AppendFrame(nil, wire.TypeHello, append(wire.Hello{}.Append(nil), 0)),
	} {
		d := newDesk(t)
		other := d.join()
		c := d.sit()
		require.Error(t, c.peer.ReceiveStream(bytes), name)
		d.core.Tick()
		require.Len(t, c.closed, 1, name)
		require.Contains(t, []wire.Code{wire.BadMessage, wire.BadState}, c.closed[0], name)
		require.EqualValues(t, 1, d.core.Stats().Closed[c.closed[0]], "%s: counted", name)
		other.say(wire.Command{ID: 1, Name: "poke"})
		other.wantResult("everybody else goes on", 1, wire.OK, wire.Live)
	}
}

func TestBadDatagrams(t *testing.T) {
	future := wire.Input{Ack: wire.Ack{Structure: 1 << 20}}
	for name, bytes := range map[string][]byte{"garbage": []byte("garbage"), "empty": {}} {
		d := newDesk(t)
		c := d.join()
		_, err := c.peer.ReceiveDatagram(bytes)
		require.Error(t, err, name)
		c.wantClosed(name, wire.BadMessage)
	}
	d := newDesk(t)
	c := d.join()
	_, err := c.peer.ReceiveDatagram(future.Append(nil))
	require.NoError(t, err, "well-formed")
	c.wantClosed("acknowledges what was never sent", wire.BadMessage)
}

func TestTimeouts(t *testing.T) {
	d := newDesk(t)
	c := d.sit()
	for range 5*60 + 1 {
		d.core.Tick()
	}
	c.wantClosed("no Hello", wire.Timeout)
	d = newDesk(t)
	c = d.join()
	for range 10*60 + 1 {
		d.core.Tick()
	}
	c.wantClosed("no datagrams", wire.Timeout)
	require.Equal(t, 1, d.left)
}

func TestUnreadStreamClosesItsReader(t *testing.T) {
	d := newDesk(t)
	c := d.join()
	c.full = true
	d.spawn(1)
	for range 3 {
		d.core.Tick()
	}
	c.wantClosed("too slow", wire.TooSlow)
	require.Equal(t, 1, d.left)
}

func TestDrain(t *testing.T) {
	d := newDesk(t)
	c := d.join()
	d.core.Drain()
	m, err := wire.ParseGoodbye(c.want("goodbye first", wire.TypeGoodbye))
	require.NoError(t, err)
	require.Equal(t, wire.Draining, m.Code)
	c.wantClosed("then closed", wire.Draining)
	late := d.sit()
	late.say(wire.Hello{Protocol: wire.Version, Schema: deskSchema(t).Hash(), Tables: rowcodec.DefaultTables().Version()})
	r, err := wire.ParseRefused(late.want("nobody new", wire.TypeRefused))
	require.NoError(t, err)
	require.Equal(t, wire.Draining, r.Code)
}

func TestResyncHasNoBody(t *testing.T) {
	d := newDesk(t)
	c := d.join()
	require.Error(t, c.peer.ReceiveStream(wire.AppendFrame(nil, wire.TypeResync, []byte{1})))
	c.wantClosed("bytes left over", wire.BadMessage)
}

func TestResyncIsLimited(t *testing.T) {
	d := newDesk(t)
	c := d.join()
	for range 30 {
		c.say(wire.Resync{})
	}
	require.EqualValues(t, 1, d.core.Stats().Resyncs)
	require.EqualValues(t, 29, d.core.Stats().ResyncsDropped)
	require.LessOrEqual(t, d.core.Replication().Resyncs, uint64(1))
}

// mute is a Conn that discards everything.
type mute struct{}

func (mute) SendStream([]byte) bool  { return true }
func (mute) SendSnapshot([][]byte)   {}
func (mute) Close(wire.Code, string) {}

func TestWarmTickAllocatesNothing(t *testing.T) {
	if invariants.Enabled {
		t.Skip("the audits allocate")
	}
	d := newDesk(t)
	var moving []bulk.Handle
	for x := range 50 {
		moving = append(moving, d.spawn(float32(x%8)))
	}
	session := d.core.Open(context.Background(), "", mute{})
	hello := wire.Hello{Protocol: wire.Version, Schema: deskSchema(t).Hash(), Tables: rowcodec.DefaultTables().Version()}
	require.NoError(t, session.ReceiveStream(wire.AppendMessage(nil, hello)))
	input := wire.Input{Stamp: 1, Inputs: []wire.TickInput{{Tick: 1, Data: []byte("go")}}}
	datagram := input.Append(nil)
	tick := func() {
		for i, h := range moving {
			d.world.SetVelocity(h, world.Vec3{Z: float32(i%3 - 1), Y: 1})
		}
		_, err := session.ReceiveDatagram(datagram)
		require.NoError(t, err)
		d.core.Tick()
	}
	for range 1000 {
		tick()
	}
	require.Zero(t, testing.AllocsPerRun(300, tick))
	require.NotZero(t, d.core.Replication().Rows)
}

// A connection may reject even the first message.
func TestWelcomeIsNotTaken(t *testing.T) {
	d := newDesk(t)
	c := d.sit()
	c.full = true
	c.say(wire.Hello{Protocol: wire.Version, Schema: deskSchema(t).Hash(), Tables: rowcodec.DefaultTables().Version(), Epoch: deskEpoch})
	c.wantClosed("the stream takes nothing", wire.TooSlow)
	require.Equal(t, 1, d.left, "joined, so it leaves")
}

// The death of an entity that a client never received is not revealed to it: every answer is
// Pending, whatever its code, and no Destroy follows (R10 of replication).
func TestUnseenDeathIsNotAnswered(t *testing.T) {
	d := newDesk(t)
	c := d.join()
	far := d.spawn(500)
	d.world.Destroy(far)
	d.core.Tick()
	c.say(wire.Command{ID: 1, Name: "poke", Target: far}, wire.Command{ID: 2, Name: "dance", Target: far})
	c.wantResult("destroyed, and never shown", 1, wire.UnknownHandle, wire.Pending)
	c.wantResult("likewise, by an unknown command", 2, wire.UnknownCommand, wire.Pending)
	require.False(t, c.deaths()[far])
}

// The rate limit applies first: unknown commands are charged like any other.
func TestUnknownCommandsAreLimited(t *testing.T) {
	d := newDesk(t)
	c := d.join()
	flood := make([]wire.Message, 200)
	for i := range flood {
		flood[i] = wire.Command{ID: uint32(i), Name: "dance", Target: bulk.NewHandle(900, 1)}
	}
	c.say(flood...)
	codes := map[wire.Code]int{}
	for range flood {
		r, err := wire.ParseResult(c.want("each is answered", wire.TypeResult))
		require.NoError(t, err)
		require.Equal(t, wire.Pending, r.Verdict)
		codes[r.Code]++
	}
	require.Len(t, codes, 2)
	require.Greater(t, codes[wire.RateLimited], 90)
	require.NotZero(t, codes[wire.UnknownCommand])
}

// A Result and the client's own verdict agree even if the command does not run (H3).
func TestUnknownCommandAgreesWithReplica(t *testing.T) {
	d := newDesk(t)
	c := d.join()
	near := d.spawn(5)
	for range 6 {
		d.core.Tick()
	}
	d.world.Destroy(near)
	require.True(t, c.deaths()[near])
	c.say(wire.Command{ID: 1, Name: "dance", Target: near})
	c.wantResult("destroyed, and told so", 1, wire.UnknownCommand, wire.Stale)
}

// The controlled entity is named before it enters view, and may never enter it.
func TestControlledIsTaught(t *testing.T) {
	d := newDesk(t)
	d.weak = true
	c := d.join()
	require.True(t, c.deaths()[c.peer.Session().Entity()], "H3")
}

// deaths runs some ticks and returns the handles that the client learns are dead.
func (c *seat) deaths() map[bulk.Handle]bool {
	for range 10 {
		c.d.core.Tick()
	}
	dead := map[bulk.Handle]bool{}
	for {
		kind, body, ok, err := c.frames.Next()
		require.NoError(c.d.t, err)
		if !ok {
			return dead
		}
		require.Equal(c.d.t, wire.TypeStructure, kind)
		m, err := wire.ParseStructure(body)
		require.NoError(c.d.t, err)
		for r, err := range m.Records() {
			require.NoError(c.d.t, err)
			if r.Op == wire.OpDestroy {
				dead[r.Handle] = true
			}
		}
	}
}

// Clients and replication use the same generation floor: a core rejects any other.
func TestFloorIsTheWorlds(t *testing.T) {
	w, err := world.New(world.Config{FirstGeneration: 5})
	require.NoError(t, err)
	for floor, right := range map[uint32]bool{0: true, 5: true, 1: false, 7: false} {
		_, err := session.NewCore(session.Config{World: w, Schema: deskSchema(t), Epoch: 1, GenerationFloor: floor, Random: rand.NewChaCha8([32]byte{1})})
		require.Equal(t, right, err == nil, "floor %d: %v", floor, err)
	}
}

// Epoch 0 picks a random epoch.
func TestEpochIsChosen(t *testing.T) {
	seen := map[uint64]bool{0: true}
	random := rand.NewChaCha8([32]byte{1})
	for range 3 {
		d := newDeskWith(t, func(c *session.Config) { c.Epoch, c.Random = 0, random })
		c := d.sit()
		hello := d.hello()
		hello.Epoch = 0
		c.say(hello)
		m, err := wire.ParseWelcome(c.want("joins", wire.TypeWelcome))
		require.NoError(t, err)
		require.NotContains(t, seen, m.Epoch)
		seen[m.Epoch] = true
	}
	w, err := world.New(world.Config{})
	require.NoError(t, err)
	_, err = session.NewCore(session.Config{World: w, Schema: deskSchema(t), Random: strings.NewReader("short")})
	require.ErrorContains(t, err, "no random number")
}

// If Join drains the server, the joining client is refused like all others, and Leave is
// called for it.
func TestDrainInJoin(t *testing.T) {
	var d *desk
	d = newDeskWith(t, func(c *session.Config) {
		join := c.Game.Join
		c.Game.Join = func(s *session.Session) (world.Entity, error) {
			if s.Name() == "last" {
				d.core.Drain()
			}
			return join(s)
		}
	})
	first := d.join()
	c := d.sit()
	hello := d.hello()
	hello.Name = "last"
	c.say(hello)
	m, err := wire.ParseRefused(c.want("is refused", wire.TypeRefused))
	require.NoError(t, err)
	require.Equal(t, wire.Draining, m.Code)
	_, _, more, err := c.frames.Next()
	require.NoError(t, err)
	require.False(t, more, "and told nothing more")
	require.Equal(t, []wire.Code{wire.Draining}, first.closed)
	c.wantClosed("both are gone", wire.Draining)
	require.Equal(t, 2, d.left, "Join had admitted it")
}
