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
	"github.com/worldd/worldd/internal/wiretest"
	"github.com/worldd/worldd/replication"
	"github.com/worldd/worldd/replication/schema"
	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/server/session"
	"github.com/worldd/worldd/world"
)

// testServer is a server core and scripted clients.
type testServer struct {
	t     testing.TB
	world *world.World
	core  *session.Core
	game  *session.Hooks // Away and Back, which tests may replace
	crate world.KindID
	poked []bulk.Handle
	moved []string
	left  int
	weak  bool // a joining client's entity dies in the same tick
	busy  bool // ticks have no time for snapshots
}

const testEpoch = 77

func testSchema(t testing.TB) *schema.Schema {
	s := schema.New()
	schema.Define[schema.Body](s, schema.BodyComponent)
	require.NoError(t, s.Err())
	return s
}

func newTestServer(t testing.TB) *testServer { return newTestServerWith(t, func(*session.Config) {}) }

func newTestServerWith(t testing.TB, change func(*session.Config)) *testServer {
	return newTestServerIn(t, world.Config{Seed: 1, HistoryTicks: 30}, change)
}

func newTestServerIn(t testing.TB, own world.Config, change func(*session.Config)) *testServer {
	w, err := world.New(own)
	require.NoError(t, err)
	d := &testServer{t: t, world: w}
	d.crate, err = w.AddKind(world.Kind{Name: "crate", Body: &world.BodyDef{Mass: 1, Radius: 0.5, Friction: 1}})
	require.NoError(t, err)
	config := session.Config{
		Random: rand.NewChaCha8([32]byte{1}),
		WorldConfig: session.WorldConfig{
			World: w, Schema: testSchema(t), Epoch: testEpoch, MaxSessions: 2,
			Replication: replication.Config{EnterRadius: 10, LeaveRadius: 20},
			Hooks: session.Hooks{
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
				Input: session.OnRawInput(d.move),
				Commands: []session.Command{
					session.OnRawCommand("poke", func(_ *session.Session, h world.Entity, _ []byte) error {
						d.poked = append(d.poked, h)
						return nil
					}),
					session.OnRawCommand("fail", func(*session.Session, world.Entity, []byte) error { return fmt.Errorf("no") }),
					session.OnRawCommand("typo", func(*session.Session, world.Entity, []byte) error { return &wire.Error{Code: wire.BadArguments} }),
					session.OnRawCommand("leave", func(s *session.Session, _ world.Entity, _ []byte) error {
						s.Kick("on request")
						return nil
					}),
				},
				Away: func(s *session.Session) { d.callHook(d.game.Away, s) },
				Back: func(s *session.Session) { d.callHook(d.game.Back, s) },
			},
		},
	}
	d.game = &session.Hooks{}
	change(&config)
	d.core, err = session.NewCore(config)
	require.NoError(t, err)
	return d
}

func (d *testServer) move(_ *session.Session, tick uint64, data []byte) {
	d.moved = append(d.moved, fmt.Sprintf("%d:%s", tick, data))
}

// schemaHash returns the hash of the completed schema.
func (d *testServer) schemaHash() uint64 { return d.core.Config().Schema.Hash() }

func (d *testServer) callHook(f func(*session.Session), s *session.Session) {
	if f != nil {
		f(s)
	}
}

func (d *testServer) spawn(x float32) bulk.Handle {
	h, err := d.world.Spawn(d.crate, world.Vec3{X: x, Y: 0.5}, world.Vec3{})
	require.NoError(d.t, err)
	return h
}

// testClient is one client of a testServer.
type testClient struct {
	d      *testServer
	peer   *session.Peer
	frames wire.FrameReader
	full   bool // the stream takes no more
	closed []wire.Code
	shots  int
	newest []byte // the newest State datagram
	most   int    // bytes of the longest
	unsent bool   // it has not left
}

func (c *testClient) SendStream(p []byte) bool { c.frames.Feed(p); return !c.full }
func (c *testClient) HasUnsent() bool          { return c.unsent }

func (c *testClient) SendSnapshot(ds [][]byte) {
	c.shots += len(ds)
	c.newest = append(c.newest[:0], ds[len(ds)-1]...)
	for _, d := range ds {
		c.most = max(c.most, len(d))
	}
}

func (c *testClient) Close(code wire.Code, _ string) {
	c.closed = append(c.closed, code)
}

func (d *testServer) tick() {
	d.core.Receive()
	d.core.Step()
	d.core.Send(func() bool { return d.busy })
}

func (d *testServer) connect() *testClient {
	c := &testClient{d: d}
	c.peer = d.core.Open(context.Background(), "", c)
	return c
}

func (d *testServer) join() *testClient {
	c := d.connect()
	c.send(wire.Hello{Protocol: wire.Version, Schema: d.schemaHash(), Tables: rowcodec.DefaultTables().Version(), Epoch: testEpoch, Name: "hand"})
	c.want("joins", wire.TypeWelcome)
	c.want("controls its entity", wire.TypeControl)
	return c
}

func (c *testClient) send(messages ...wire.Message) {
	var b []byte
	for _, m := range messages {
		b = wire.AppendMessage(b, m)
	}
	require.NoError(c.d.t, c.peer.ReceiveStream(b))
	c.d.tick()
}

// want reads the next message that is not structure.
func (c *testClient) want(why string, kind byte) []byte {
	c.d.t.Helper()
	for {
		got, body, ok, err := c.frames.Next()
		require.NoError(c.d.t, err, why)
		require.True(c.d.t, ok, "%s: no message", why)
		if got == wire.TypeStructure && kind != got {
			continue
		}
		require.Equal(c.d.t, kind, got, "%s: %s", why, wiretest.Describe(got, body))
		return body
	}
}

func (c *testClient) wantResult(why string, id uint32, code wire.Code, verdict wire.Verdict) {
	c.d.t.Helper()
	r, err := wire.Parse[wire.Result](c.want(why, wire.TypeResult))
	require.NoError(c.d.t, err)
	require.Equal(c.d.t, []any{id, code, verdict}, []any{r.ID, r.Code, r.Verdict}, why)
}

func (c *testClient) wantClosed(why string, code wire.Code) {
	c.d.t.Helper()
	c.d.core.Tick()
	require.Equal(c.d.t, []wire.Code{code}, c.closed, why)
	require.Zero(c.d.t, c.d.core.Len(), why)
}

func TestHandshakeRefusals(t *testing.T) {
	good := wire.Hello{Protocol: wire.Version, Schema: newTestServer(t).schemaHash(), Tables: rowcodec.DefaultTables().Version(), Epoch: testEpoch}
	wants := map[wire.Code]string{
		wire.ProtocolVersion: fmt.Sprintf("protocol %x", wire.Version),
		wire.SchemaMismatch:  fmt.Sprintf("schema %016x", good.Schema),
		wire.TablesMismatch:  fmt.Sprintf("tables %08x", good.Tables), // as worldd train prints it
		wire.EpochMismatch:   fmt.Sprintf("epoch %016x", testEpoch),
	}
	for code, change := range map[wire.Code]func(*wire.Hello){
		wire.ProtocolVersion: func(h *wire.Hello) { h.Protocol++ },
		wire.SchemaMismatch:  func(h *wire.Hello) { h.Schema++ },
		wire.TablesMismatch:  func(h *wire.Hello) { h.Tables++ },
		wire.EpochMismatch:   func(h *wire.Hello) { h.Epoch++ },
		wire.NoRoom:          func(h *wire.Hello) { h.Room = "cellar" },
	} {
		d := newTestServer(t)
		hello := good
		change(&hello)
		c := d.connect()
		c.send(hello)
		m, err := wire.Parse[wire.Refused](c.want("a mismatch is refused in band", wire.TypeRefused))
		require.NoError(t, err)
		require.Equal(t, code, m.Code)
		require.NotEmpty(t, m.Text)
		require.Equal(t, wants[code], m.Want)
		c.wantClosed("the connection closes", code)
		require.Zero(t, d.left, "a refused client does not leave")
	}
	d := newTestServer(t)
	anyEpoch := good
	anyEpoch.Epoch = 0
	c := d.connect()
	c.send(anyEpoch)
	w, err := wire.Parse[wire.Welcome](c.want("epoch 0 is any", wire.TypeWelcome))
	require.NoError(t, err)
	require.Empty(t, w.SchemaText, "it was not asked for")
	anyEpoch.Schema = 0
	c = d.connect()
	c.send(anyEpoch)
	w, err = wire.Parse[wire.Welcome](c.want("schema 0 asks for the text", wire.TypeWelcome))
	require.NoError(t, err)
	require.Equal(t, d.core.Config().Schema.Text(), w.SchemaText)
	require.Equal(t, good.Schema, w.Schema)
}

func TestServerFull(t *testing.T) {
	d := newTestServer(t)
	d.join()
	b := d.join()
	c := d.connect()
	c.send(wire.Hello{Protocol: wire.Version, Schema: d.schemaHash(), Tables: rowcodec.DefaultTables().Version()})
	m, err := wire.Parse[wire.Refused](c.want("both slots are taken", wire.TypeRefused))
	require.NoError(t, err)
	require.Equal(t, wire.ServerFull, m.Code)
	b.send(wire.Bye{})
	d.core.Tick()
	require.Equal(t, 1, d.left)
	d.join()
}

func TestCommandsAreChecked(t *testing.T) {
	d := newTestServer(t)
	c := d.join()
	near, far := d.spawn(5), d.spawn(100)
	for range 6 {
		d.core.Tick()
	}
	require.Equal(t, wire.Live, c.peer.Session().Resolve(near))
	c.send(wire.Command{ID: 1, Name: "poke", Target: near}, wire.Command{ID: 2, Name: "poke", Target: far},
		wire.Command{ID: 3, Name: "poke", Target: bulk.NewHandle(900, 1)}, wire.Command{ID: 4, Name: "dance", Target: near},
		wire.Command{ID: 5, Name: "fail", Target: near}, wire.Command{ID: 6, Name: "poke"},
		wire.Command{ID: 7, Name: "typo"})
	c.wantResult("live and in view", 1, wire.OK, wire.Live)
	c.wantResult("live and never in view", 2, wire.UnknownHandle, wire.Pending)
	c.wantResult("forged: the same answer", 3, wire.UnknownHandle, wire.Pending)
	c.wantResult("no such command", 4, wire.UnknownCommand, wire.Live)
	c.wantResult("the game refuses", 5, wire.CommandRefused, wire.Live)
	c.wantResult("without a target", 6, wire.OK, wire.Live)
	c.wantResult("the game refuses with a code", 7, wire.BadArguments, wire.Live)
	require.Equal(t, []bulk.Handle{near, 0}, d.poked, "H2")

	d.world.SetPosition(near, world.Vec3{X: 60, Y: 0.5})
	for range 6 {
		d.core.Tick()
	}
	c.send(wire.Command{ID: 7, Name: "poke", Target: near})
	c.wantResult("out of sight", 7, wire.HiddenHandle, wire.Hidden)
	d.world.Destroy(near)
	d.core.Tick()
	c.send(wire.Command{ID: 8, Name: "poke", Target: near})
	c.wantResult("dead", 8, wire.StaleHandle, wire.Stale)
	reborn := d.spawn(5)
	require.Equal(t, near.Index(), reborn.Index())
	for range 6 {
		d.core.Tick()
	}
	c.send(wire.Command{ID: 9, Name: "poke", Target: near})
	c.wantResult("the slot's next tenant is another entity", 9, wire.StaleHandle, wire.Stale)
	require.Len(t, d.poked, 2, "H2")
}

func TestCommandRate(t *testing.T) {
	d := newTestServer(t)
	c := d.join()
	limited := 0
	for i := range 150 {
		c.send(wire.Command{ID: uint32(i), Name: "poke"})
		r, err := wire.Parse[wire.Result](c.want("each is answered", wire.TypeResult))
		require.NoError(t, err)
		if r.Code == wire.RateLimited {
			limited++
		}
	}
	require.Less(t, limited, 50, "100 in a burst and 50 a second are allowed")
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
	c.send(flood...)
	for range flood {
		r, err := wire.Parse[wire.Result](c.want("each is answered", wire.TypeResult))
		require.NoError(t, err)
		require.Equal(t, wire.Stale, r.Verdict, "even if the command is not executed")
		if r.Code == wire.RateLimited {
			limited++
		}
	}
	require.Greater(t, limited, 90)
	require.Less(t, limited, 200)
}

func TestCommandRateIsConfigured(t *testing.T) {
	d := newTestServerWith(t, func(c *session.Config) { c.CommandsPerSecond, c.CommandBurst = 5, 3 })
	c := d.join()
	codes := func(commands int) (codes []wire.Code) {
		var messages []wire.Message
		for i := range commands {
			messages = append(messages, wire.Command{ID: uint32(i), Name: "poke"})
		}
		c.send(messages...)
		for range commands {
			r, err := wire.Parse[wire.Result](c.want("each is answered", wire.TypeResult))
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
	d := newTestServer(t)
	c := d.join()
	var b []byte
	for i := range 300 {
		b = wire.AppendMessage(b, wire.Command{ID: uint32(i), Name: "poke"})
	}
	err := c.peer.ReceiveStream(b)
	require.Equal(t, wire.TooFast, wire.CodeOf(err))
	require.Error(t, c.peer.ReceiveStream(nil), "later data is rejected")
	d.core.Tick()
	m, err := wire.Parse[wire.Goodbye](func() []byte {
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
		"a hello with a tail":   wire.AppendFrame(nil, wire.TypeHello, append(wire.Hello{Protocol: wire.Version}.Append(nil), 0)),
	} {
		d := newTestServer(t)
		other := d.join()
		c := d.connect()
		require.Error(t, c.peer.ReceiveStream(bytes), name)
		d.core.Tick()
		require.Len(t, c.closed, 1, name)
		require.Contains(t, []wire.Code{wire.BadMessage, wire.BadState}, c.closed[0], name)
		require.EqualValues(t, 1, d.core.Stats().Closed[c.closed[0]], "%s: counted", name)
		other.send(wire.Command{ID: 1, Name: "poke"})
		other.wantResult("the other session continues", 1, wire.OK, wire.Live)
	}
}

func TestBadDatagrams(t *testing.T) {
	future := wire.Input{Ack: wire.Ack{Structure: 1 << 20}}
	for name, bytes := range map[string][]byte{"garbage": []byte("garbage"), "empty": {}} {
		d := newTestServer(t)
		c := d.join()
		_, err := c.peer.ReceiveDatagram(bytes)
		require.Error(t, err, name)
		c.wantClosed(name, wire.BadMessage)
	}
	d := newTestServer(t)
	c := d.join()
	_, err := c.peer.ReceiveDatagram(future.Append(nil))
	require.NoError(t, err, "well-formed")
	c.wantClosed("acknowledges what was never sent", wire.BadMessage)
}

// Snapshots fit into what the path of their connection carries.
func TestSnapshotsFitThePath(t *testing.T) {
	d := newTestServer(t)
	c, w := d.enter()
	var crowd []bulk.Handle
	for i := range 300 {
		crowd = append(crowd, d.spawn(float32(i%20)-10))
	}
	longest := func(c *testClient) int {
		for tick := range 60 {
			for i, h := range crowd {
				d.world.SetVelocity(h, world.Vec3{X: float32((i+tick)%5 - 2)})
			}
			d.tick()
			if tick == 30 {
				c.most = 0 // datagrams of the limit before have been sent
			}
		}
		return c.most
	}
	for limit, want := range map[int]int{1175: 1175, 1100: wire.MinDatagram, 1500: wire.MaxDatagram} {
		c.peer.SetMaxDatagram(limit)
		require.InDelta(t, want-8, longest(c), 8)
	}
	c.peer.SetMaxDatagram(1160)
	c, _ = d.resume(w, asIs)
	require.InDelta(t, wire.MaxDatagram-8, longest(c), 8, "another connection, another path")
}

func TestTimeouts(t *testing.T) {
	d := newTestServer(t)
	c := d.connect()
	for range 5*60 + 1 {
		d.core.Tick()
	}
	c.wantClosed("no Hello", wire.Timeout)
	d = newTestServer(t)
	c = d.join()
	for range 10*60 + 1 {
		d.core.Tick()
	}
	require.Equal(t, []wire.Code{wire.Timeout}, c.closed, "no datagrams")
	require.Equal(t, []int{1, 0}, []int{d.core.Away(), d.left}, "it may resume")
	d.ticks(15*60 + 1)
	require.Equal(t, []int{0, 1}, []int{d.core.Len(), d.left})
}

func TestUnreadStreamClosesItsReader(t *testing.T) {
	d := newTestServer(t)
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
	d := newTestServer(t)
	c := d.join()
	d.core.Drain()
	m, err := wire.Parse[wire.Goodbye](c.want("Goodbye first", wire.TypeGoodbye))
	require.NoError(t, err)
	require.Equal(t, wire.Draining, m.Code)
	c.wantClosed("then closed", wire.Draining)
	late := d.connect()
	late.send(wire.Hello{Protocol: wire.Version, Schema: d.schemaHash(), Tables: rowcodec.DefaultTables().Version()})
	r, err := wire.Parse[wire.Refused](late.want("no new session", wire.TypeRefused))
	require.NoError(t, err)
	require.Equal(t, wire.Draining, r.Code)
}

func TestResyncHasNoBody(t *testing.T) {
	d := newTestServer(t)
	c := d.join()
	require.Error(t, c.peer.ReceiveStream(wire.AppendFrame(nil, wire.TypeResync, []byte{1})))
	c.wantClosed("bytes left over", wire.BadMessage)
}

func TestResyncIsLimited(t *testing.T) {
	d := newTestServer(t)
	c := d.join()
	for range 30 {
		c.send(wire.Resync{})
	}
	require.EqualValues(t, 1, d.core.Stats().Resyncs)
	require.EqualValues(t, 29, d.core.Stats().ResyncsDropped)
	require.LessOrEqual(t, d.core.Replication().Resyncs, uint64(1))
}

// mute is a Conn that discards everything.
type mute struct{}

func (mute) SendStream([]byte) bool  { return true }
func (mute) HasUnsent() bool         { return false }
func (mute) SendSnapshot([][]byte)   {}
func (mute) Close(wire.Code, string) {}

func TestWarmTickAllocatesNothing(t *testing.T) {
	if invariants.Enabled {
		t.Skip("the audits allocate")
	}
	d := newTestServer(t)
	var moving []bulk.Handle
	for x := range 50 {
		moving = append(moving, d.spawn(float32(x%8)))
	}
	session := d.core.Open(context.Background(), "", mute{})
	hello := wire.Hello{Protocol: wire.Version, Schema: d.schemaHash(), Tables: rowcodec.DefaultTables().Version()}
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
	d := newTestServer(t)
	c := d.connect()
	c.full = true
	c.send(wire.Hello{Protocol: wire.Version, Schema: d.schemaHash(), Tables: rowcodec.DefaultTables().Version(), Epoch: testEpoch})
	c.wantClosed("the stream is full", wire.TooSlow)
	require.Equal(t, 1, d.left, "joined, so it leaves")
}

// The death of an entity that a client never received is not revealed to it: every answer is
// Pending, whatever its code, and no Destroy follows (R10 of replication).
func TestUnseenDeathIsNotAnswered(t *testing.T) {
	d := newTestServer(t)
	c := d.join()
	far := d.spawn(500)
	d.world.Destroy(far)
	d.core.Tick()
	c.send(wire.Command{ID: 1, Name: "poke", Target: far}, wire.Command{ID: 2, Name: "dance", Target: far})
	c.wantResult("destroyed, and never in view", 1, wire.UnknownHandle, wire.Pending)
	c.wantResult("likewise for an unknown command", 2, wire.UnknownCommand, wire.Pending)
	require.False(t, c.deaths()[far])
}

// The rate limit applies first: unknown commands are charged like any other.
func TestUnknownCommandsAreLimited(t *testing.T) {
	d := newTestServer(t)
	c := d.join()
	flood := make([]wire.Message, 200)
	for i := range flood {
		flood[i] = wire.Command{ID: uint32(i), Name: "dance", Target: bulk.NewHandle(900, 1)}
	}
	c.send(flood...)
	codes := map[wire.Code]int{}
	for range flood {
		r, err := wire.Parse[wire.Result](c.want("each is answered", wire.TypeResult))
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
	d := newTestServer(t)
	c := d.join()
	near := d.spawn(5)
	for range 6 {
		d.core.Tick()
	}
	d.world.Destroy(near)
	require.True(t, c.deaths()[near])
	c.send(wire.Command{ID: 1, Name: "dance", Target: near})
	c.wantResult("destroyed, and Destroy was sent", 1, wire.UnknownCommand, wire.Stale)
}

// The controlled entity is named before it enters view, and may never enter it.
func TestControlledEntityIsKnown(t *testing.T) {
	d := newTestServer(t)
	d.weak = true
	c := d.join()
	require.True(t, c.deaths()[c.peer.Session().Entity()], "H3")
}

// deaths runs some ticks and returns the handles that the client learns are dead.
func (c *testClient) deaths() map[bulk.Handle]bool {
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

// Epoch 0 picks a random epoch.
func TestEpochIsChosen(t *testing.T) {
	seen := map[uint64]bool{0: true}
	random := rand.NewChaCha8([32]byte{1})
	for range 3 {
		d := newTestServerWith(t, func(c *session.Config) { c.Epoch, c.Random = 0, random })
		c := d.connect()
		hello := d.hello()
		hello.Epoch = 0
		c.send(hello)
		m, err := wire.Parse[wire.Welcome](c.want("joins", wire.TypeWelcome))
		require.NoError(t, err)
		require.NotContains(t, seen, m.Epoch)
		seen[m.Epoch] = true
	}
	w, err := world.New(world.Config{})
	require.NoError(t, err)
	_, err = session.NewCore(session.Config{WorldConfig: session.WorldConfig{World: w, Schema: testSchema(t)}, Random: strings.NewReader("short")})
	require.ErrorContains(t, err, "no random number")
}

// If Join drains the server, the joining client is refused like all others, and Leave is
// called for it.
func TestDrainInJoin(t *testing.T) {
	var d *testServer
	d = newTestServerWith(t, func(c *session.Config) {
		join := c.Hooks.Join
		c.Hooks.Join = func(s *session.Session) (world.Entity, error) {
			if s.Name() == "last" {
				d.core.Drain()
			}
			return join(s)
		}
	})
	first := d.join()
	c := d.connect()
	hello := d.hello()
	hello.Name = "last"
	c.send(hello)
	m, err := wire.Parse[wire.Refused](c.want("is refused", wire.TypeRefused))
	require.NoError(t, err)
	require.Equal(t, wire.Draining, m.Code)
	_, _, more, err := c.frames.Next()
	require.NoError(t, err)
	require.False(t, more, "no further message")
	require.Equal(t, []wire.Code{wire.Draining}, first.closed)
	c.wantClosed("both have ended", wire.Draining)
	require.Equal(t, 2, d.left, "Join had admitted it")
}
