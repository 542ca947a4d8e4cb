package session_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/internal/stage"
	"github.com/worldd/worldd/replication/schema"
	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/server/session"
	"github.com/worldd/worldd/world"
)

func TestHandshakeRefusals(t *testing.T) {
	good := newTestServer(t).hello()
	wants := map[wire.Code]string{
		wire.ProtocolVersion: fmt.Sprintf("protocol %x", wire.Version),
		wire.TablesMismatch:  fmt.Sprintf("tables %08x", good.Tables), // the form that worldd train prints
		wire.EpochMismatch:   fmt.Sprintf("epoch %016x", testEpoch),
	}
	for code, change := range map[wire.Code]func(*wire.Hello){
		wire.ProtocolVersion: func(h *wire.Hello) { h.Protocol++ },
		wire.TablesMismatch:  func(h *wire.Hello) { h.Tables++ },
		wire.EpochMismatch:   func(h *wire.Hello) { h.Epoch++ },
		wire.NoRoom:          func(h *wire.Hello) { h.Room = "cellar" },
	} {
		d := newTestServer(t)
		c := d.dial(change)
		m := c.wantRefused("a mismatch is refused in band", code)
		require.NotEmpty(t, m.Text)
		require.Equal(t, wants[code], m.Want)
		c.wantClosed("the connection closes", code)
		require.Zero(t, d.left, "a refused client does not leave")
	}
	d := newTestServer(t)
	w := d.dial(func(h *wire.Hello) { h.Epoch = 0 }).wantWelcome("epoch 0 is any")
	require.Empty(t, w.SchemaText, "the client has it")
	newTestServer(t).dial(func(h *wire.Hello) { h.Tables, h.Abilities = 0, wire.PlainRows }).wantWelcome("plain rows need no tables")
	for _, known := range []uint64{0, good.Schema + 1} {
		w = newTestServer(t).dial(func(h *wire.Hello) { h.Epoch, h.Schema = 0, known }).wantWelcome("the client has another schema, or none")
		require.Equal(t, d.core.Config().Schema.Text(), w.SchemaText)
		require.Equal(t, good.Schema, w.Schema)
	}
}

func TestServerFull(t *testing.T) {
	d := newTestServer(t)
	d.join()
	b := d.join()
	d.dial().wantRefused("both slots are taken", wire.ServerFull)
	b.send(wire.Bye{})
	d.core.Tick()
	require.Equal(t, 1, d.left)
	d.join()
}

func TestCommandsAreChecked(t *testing.T) {
	d := newTestServer(t)
	c := d.join()
	near, far := d.spawn(5), d.spawn(100)
	d.ticks(6)
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
	d.ticks(6)
	c.send(wire.Command{ID: 7, Name: "poke", Target: near})
	c.wantResult("out of sight", 7, wire.HiddenHandle, wire.Hidden)
	d.world.Destroy(near)
	d.core.Tick()
	c.send(wire.Command{ID: 8, Name: "poke", Target: near})
	c.wantResult("dead", 8, wire.StaleHandle, wire.Stale)
	reborn := d.spawn(5)
	require.Equal(t, near.Index(), reborn.Index())
	d.ticks(6)
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
		r := c.result()
		if r.Code == wire.RateLimited {
			limited++
		}
	}
	require.Less(t, limited, 50, "100 in a burst and 50 a second are allowed")
	require.Zero(t, limited)
	gone := d.spawn(5)
	d.ticks(6)
	d.world.Destroy(gone)
	d.core.Tick()
	flood := make([]wire.Message, 200)
	for i := range flood {
		flood[i] = wire.Command{ID: uint32(i), Name: "poke", Target: gone}
	}
	c.send(flood...)
	for range flood {
		r := c.result()
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
			r := c.result()
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
	c.wantGoodbye(wire.TooFast)
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
		require.Len(t, c.Closed, 1, name)
		require.Contains(t, []wire.Code{wire.BadMessage, wire.BadState}, c.Closed[0], name)
		require.EqualValues(t, 1, d.core.Stats().Closed[c.Closed[0]], "%s: counted", name)
		other.send(wire.Command{ID: 1, Name: "poke"})
		other.wantResult("the other session continues", 1, wire.OK, wire.Live)
	}
}

func TestBadDatagrams(t *testing.T) {
	future := wire.Input{Ack: wire.Ack{Structure: 1 << 20}}
	for name, bytes := range map[string][]byte{"garbage": []byte("garbage"), "empty": {}} {
		d := newTestServer(t)
		c := d.join()
		require.Error(t, must.Fail(c.peer.ReceiveDatagram(bytes)), name)
		c.wantClosed(name, wire.BadMessage)
	}
	d := newTestServer(t)
	c := d.join()
	_, err := c.peer.ReceiveDatagram(future.Append(nil))
	require.NoError(t, err, "well-formed")
	c.wantClosed("acknowledges what was never sent", wire.BadMessage)
}

// Snapshots fit into the size limit of their connection's path.
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
				c.Longest = 0 // datagrams of the previous limit have been sent
			}
		}
		return c.Longest
	}
	for limit, want := range map[int]int{1175: 1175, 1100: wire.MinDatagram, 1500: wire.MaxDatagram} {
		c.peer.SetMaxDatagram(limit)
		require.InDelta(t, want-8, longest(c), 8)
	}
	c.peer.SetMaxDatagram(1160)
	c, _ = d.resume(w)
	require.InDelta(t, wire.MaxDatagram-8, longest(c), 8, "another connection, another path")
}

func TestTimeouts(t *testing.T) {
	d := newTestServer(t)
	c := d.connect()
	d.ticks(5*60 + 1)
	c.wantClosed("no Hello", wire.Timeout)
	d = newTestServer(t)
	c = d.join()
	d.ticks(10*60 + 1)
	require.Equal(t, []wire.Code{wire.Timeout}, c.Closed, "no datagrams")
	require.Equal(t, []int{1, 0}, []int{d.core.Away(), d.left}, "it may resume")
	d.ticks(15*60 + 1)
	require.Equal(t, []int{0, 1}, []int{d.core.Len(), d.left})
}

func TestUnreadStreamClosesItsReader(t *testing.T) {
	d := newTestServer(t)
	c := d.join()
	c.Full = true
	d.spawn(1)
	d.ticks(3)
	c.wantClosed("too slow", wire.TooSlow)
	require.Equal(t, 1, d.left)
}

func TestDrain(t *testing.T) {
	d := newTestServer(t)
	c := d.join()
	d.core.Drain()
	m := must.Get(wire.Parse[wire.Goodbye](c.want("Goodbye first", wire.TypeGoodbye)))
	require.Equal(t, wire.Draining, m.Code)
	c.wantClosed("then closed", wire.Draining)
	late := d.connect()
	late.send(stage.Hello(d.core.Config().Schema))
	late.wantRefused("no new session", wire.Draining)
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

// A connection may reject even the first message.
func TestWelcomeIsNotTaken(t *testing.T) {
	d := newTestServer(t)
	c := d.connect()
	c.Full = true
	c.send(d.hello())
	c.wantClosed("the stream is full", wire.TooSlow)
	require.Equal(t, 1, d.left, "joined, so it leaves")
}

// If a client never received an entity, its death is not revealed to the client: every
// verdict is Pending, whatever the code of the answer, and no Destroy follows (R10 of
// replication).
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
		r := c.result()
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
	d.ticks(6)
	d.world.Destroy(near)
	require.True(t, c.deaths()[near])
	c.send(wire.Command{ID: 1, Name: "dance", Target: near})
	c.wantResult("destroyed, and Destroy was sent", 1, wire.UnknownCommand, wire.Stale)
}

// The client learns of its controlled entity before the entity enters view. The entity may
// never enter view.
func TestControlledEntityIsKnown(t *testing.T) {
	d := newTestServerWith(t, func(c *session.Config) {
		c.Hooks.Join = func(*session.Session) (world.Entity, error) {
			w := c.World
			h := stage.Crates{World: w}.Put(0, 0)
			w.Destroy(h)
			return h, nil
		}
	})
	c := d.join()
	require.True(t, c.deaths()[c.peer.Session().Entity()], "H3")
}

// Epoch 0 picks a random epoch.
func TestEpochIsChosen(t *testing.T) {
	seen := map[uint64]bool{0: true}
	random := stage.Random(1)
	for range 3 {
		d := newTestServerWith(t, func(c *session.Config) { c.Epoch, c.Random = 0, random })
		c := d.connect()
		c.send(d.hello(func(h *wire.Hello) { h.Epoch = 0 }))
		m := c.wantWelcome("joins")
		require.NotContains(t, seen, m.Epoch)
		seen[m.Epoch] = true
	}
	w := must.Get(world.New(world.Config{}))
	_, err := session.NewCore(session.Config{WorldConfig: session.WorldConfig{World: w, Schema: schema.NewWithBody()}, Random: strings.NewReader("short")})
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
	c := d.dial(withName("last"))
	c.wantRefused("is refused", wire.Draining)
	c.wantNothing()
	require.Equal(t, []wire.Code{wire.Draining}, first.Closed)
	c.wantClosed("both have ended", wire.Draining)
	require.Equal(t, 2, d.left, "Join had admitted it")
}
