package session_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/client"
	"github.com/worldd/worldd/internal/rowcodec"
	"github.com/worldd/worldd/replication"
	"github.com/worldd/worldd/replication/schema"
	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/server/session"
	"github.com/worldd/worldd/world"
)

// eventServer is a server core whose clients join 100 m from each other.
type eventServer struct {
	t     testing.TB
	world *world.World
	core  *session.Core
	now   time.Duration
	seats []*listener
}

// listener is a client on a perfect link that notes the events it hears.
type listener struct {
	d       *eventServer
	session *client.Session
	peer    *session.Peer
	cut     bool
	heard   []string
}

type (
	Shout struct { // reliable
		Serial uint32
		Who    bulk.Handle `net:"ref"`
	}
	Spark struct { // unreliable
		Serial uint32
		Who    bulk.Handle `net:"ref"`
	}
)

func eventSchema(t testing.TB) (s *schema.Schema, shout schema.DefinedEvent[Shout], spark schema.DefinedEvent[Spark]) {
	s = testSchema(t)
	return s, schema.DefineEvent[Shout](s, "shout"), schema.DefineUnreliableEvent[Spark](s, "spark")
}

func newEventServer(t testing.TB) *eventServer {
	w, err := world.New(world.Config{Seed: 1})
	require.NoError(t, err)
	d := &eventServer{t: t, world: w}
	crate, err := w.AddKind(world.Kind{Name: "crate", Body: &world.BodyDef{Mass: 1, Radius: 0.5, Friction: 1}})
	require.NoError(t, err)
	s, _, _ := eventSchema(t)
	d.core, err = session.NewCore(session.Config{
		Random: rand.NewChaCha8([32]byte{1}),
		WorldConfig: session.WorldConfig{
			World: w, Schema: s, Epoch: testEpoch,
			Replication: replication.Config{EnterRadius: 10, LeaveRadius: 20},
			Hooks: session.Hooks{Join: func(s *session.Session) (world.Entity, error) {
				require.NoError(t, s.Send(Shout{Serial: 1000}))
				return w.Spawn(crate, world.Vec3{X: 100 * float32(s.ID()-1), Y: 0.5}, world.Vec3{})
			}},
		},
	})
	require.NoError(t, err)
	return d
}

func (d *eventServer) join() *listener {
	c := &listener{d: d}
	s, shout, spark := eventSchema(d.t)
	var events client.Events
	client.OnEvent(&events, shout, func(_ uint32, e Shout) { c.heard = append(c.heard, fmt.Sprint("shout ", e.Serial)) })
	client.OnEvent(&events, spark, func(_ uint32, e Spark) { c.heard = append(c.heard, fmt.Sprint("spark ", e.Serial)) })
	var err error
	c.session, err = client.NewSession(client.SessionConfig{Schema: s, Events: &events})
	require.NoError(d.t, err)
	c.connect()
	d.seats = append(d.seats, c)
	return c
}

func (c *listener) connect() {
	c.peer = c.d.core.Open(context.Background(), "", &wireless{c})
}

// wireless is one connection of a listener.
type wireless struct{ *listener }

func (c *wireless) SendStream(p []byte) bool {
	if !c.cut {
		require.NoError(c.d.t, c.session.ReceiveStream(p))
	}
	return true
}

func (*wireless) HasUnsent() bool { return false }

func (c *wireless) SendSnapshot(ds [][]byte) {
	for _, d := range ds {
		if c.cut {
			return
		}
		_, err := c.session.ReceiveDatagram(d, c.d.now)
		require.NoError(c.d.t, err)
	}
}

func (c *wireless) Close(wire.Code, string) {}

func (d *eventServer) play(ticks int) {
	for range ticks {
		d.now += time.Second / 60
		for _, c := range d.seats {
			if c.cut {
				continue
			}
			require.NoError(d.t, c.peer.ReceiveStream(c.session.TakeStream()))
			if in := c.session.Input(d.now); in != nil {
				_, err := c.peer.ReceiveDatagram(in)
				require.NoError(d.t, err)
			}
		}
		d.core.Tick()
	}
}

func (c *listener) take() []string {
	heard := c.heard
	c.heard = nil
	return heard
}

func TestEventsReachTheirClients(t *testing.T) {
	d := newEventServer(t)
	one, two, three := d.join(), d.join(), d.join()
	d.play(10)
	for _, c := range d.seats {
		require.Equal(t, []string{"shout 1000"}, c.take(), "sent by Join")
	}
	session := two.peer.Session()
	require.NoError(t, session.Send(&Shout{Serial: 1}))
	require.NoError(t, d.core.SendSeen(three.peer.Session().Entity(), Shout{Serial: 2}))
	require.NoError(t, d.core.SendSeen(three.peer.Session().Entity(), Spark{Serial: 3}))
	require.NoError(t, d.core.SendWithin(world.Vec3{X: 40}, 70, Shout{Serial: 4}))
	require.NoError(t, d.core.Broadcast(Spark{Serial: 5}))
	require.NoError(t, session.Send(Shout{Serial: 6}))
	d.play(5)
	require.Equal(t, []string{"shout 4", "spark 5"}, one.take())
	require.Equal(t, []string{"shout 1", "shout 4", "shout 6", "spark 5"}, two.take())
	require.Equal(t, []string{"shout 2", "spark 3", "spark 5"}, three.take())

	for _, err := range []error{
		session.Send(world.Vec3{}), session.Send(nil), d.core.Broadcast(schema.Body{}), d.core.SendSeen(1, 1),
		d.core.SendWithin(world.Vec3{}, 1, &schema.Body{}),
	} {
		require.ErrorContains(t, err, "the schema has no event")
	}
	two.peer.Left()
	d.play(1)
	require.NotNil(t, session.Ending())
	require.NoError(t, session.Send(Shout{}), "after the end")
}

// Reliable events of a session that is away arrive when it is back, and unreliable ones do
// not.
func TestEventsWhileAway(t *testing.T) {
	d := newEventServer(t)
	c := d.join()
	d.play(10)
	require.Equal(t, []string{"shout 1000"}, c.take())
	s := c.peer.Session()
	require.NoError(t, s.Send(Shout{Serial: 1})) // lost with the connection
	c.cut = true
	d.play(6)
	c.peer.Gone()
	d.play(2)
	require.Equal(t, 1, d.core.Away())
	require.NoError(t, s.Send(Shout{Serial: 2}))
	require.NoError(t, s.Send(Spark{Serial: 3}))
	d.play(20)
	c.session.Lost(errors.New("cut"))
	c.session.Reconnect()
	c.cut = false
	c.connect()
	d.play(5)
	require.Equal(t, []string{"shout 1", "shout 2"}, c.take())
	require.EqualValues(t, 1, d.core.Replication().UnreliableEventsDropped)
	require.NoError(t, s.Send(Shout{Serial: 4}))
	d.play(5)
	require.Equal(t, []string{"shout 4"}, c.take())
}

// A game that sends too much gets an error, and its session continues.
func TestEventFloodEndsNoSession(t *testing.T) {
	d := newEventServer(t)
	c := d.join()
	d.play(10)
	c.take()
	s, sent := c.peer.Session(), 0
	for tick := range 600 {
		for range 200 {
			if err := s.Send(Shout{Serial: uint32(sent)}); err == nil {
				sent++
			} else {
				require.ErrorIs(t, err, session.ErrEventRefused)
			}
		}
		require.NoError(t, s.Send(Spark{Serial: uint32(tick)}))
		d.play(1)
	}
	d.play(10)
	require.Nil(t, s.Ending())
	got, want := []string{}, []string{}
	for _, line := range c.take() {
		if line[:5] == "shout" {
			got = append(got, line)
		}
	}
	for i := range sent {
		want = append(want, fmt.Sprint("shout ", i))
	}
	require.Equal(t, want, got)
	require.Positive(t, d.core.Replication().ReliableEventsDropped)
}

// BenchmarkEvents compares a server of 500 clients, each of which is sent ten events a
// second, with one that sends none, by the median of ticks that alternate.
func BenchmarkEvents(b *testing.B) {
	quiet, loud := newCrowdedCore(b), newCrowdedCore(b)
	var spent [2][]time.Duration
	tick := uint32(crowdWarmUp)
	for b.Loop() {
		tick++
		for i, c := range []*crowdedCore{quiet, loud} {
			c.prepare(tick)
			began := time.Now()
			if i == 1 {
				c.send(tick)
			}
			c.core.Tick()
			spent[i] = append(spent[i], time.Since(began))
		}
	}
	r := loud.core.Replication()
	median := func(i int) float64 {
		slices.Sort(spent[i])
		return float64(spent[i][len(spent[i])/2])
	}
	b.ReportMetric(median(1)/median(0), "loud/quiet")
	b.ReportMetric(float64(r.ReliableEvents+r.UnreliableEvents)/float64(tick-crowdWarmUp)*60/500, "events/client/s")
	b.ReportMetric(median(0)/1000, "quiet-µs/tick")
}

const crowdWarmUp = 600 // ticks

// crowdedCore is a server of 500 clients that walk among 500 crates.
type crowdedCore struct {
	core   *session.Core
	world  *world.World
	sinks  []*sink
	b      *testing.B
	movers []world.Entity
}

func newCrowdedCore(b *testing.B) *crowdedCore {
	w, err := world.New(world.Config{Seed: 3})
	require.NoError(b, err)
	c := &crowdedCore{world: w, b: b}
	crate, err := w.AddKind(world.Kind{Name: "crate", Body: &world.BodyDef{Mass: 1, Radius: 0.5, Friction: 1}})
	require.NoError(b, err)
	spawn := func(i int) world.Entity {
		h, err := w.Spawn(crate, world.Vec3{X: float32(i%32)*8 - 128, Y: 0.5, Z: float32(i/32)*8 - 128}, world.Vec3{})
		require.NoError(b, err)
		return h
	}
	s, _, _ := eventSchema(b)
	c.core, err = session.NewCore(session.Config{
		Random: rand.NewChaCha8([32]byte{1}),
		WorldConfig: session.WorldConfig{
			World: w, Schema: s, Epoch: testEpoch, MaxSessions: 500,
			Replication: replication.Config{EnterRadius: 40, LeaveRadius: 44},
			Hooks: session.Hooks{
				Join: func(s *session.Session) (world.Entity, error) { return spawn(2*int(s.ID()) - 1), nil },
				Input: session.OnRawInput(func(s *session.Session, tick uint64, _ []byte) {
					turn := (tick/30 + s.ID()) % 4
					w.SetVelocity(s.Entity(), world.Vec3{X: float32(turn%2*6) - 3, Z: float32(turn/2*6) - 3})
				}),
			},
		},
	})
	require.NoError(b, err)
	for i := range 500 {
		c.movers = append(c.movers, spawn(2*i))
	}
	hello := wire.Hello{Protocol: wire.Version, Schema: c.core.Config().Schema.Hash(), Tables: rowcodec.DefaultTables().Version()}
	for range 500 {
		p := &sink{}
		p.server = c.core.Open(context.Background(), "", p)
		require.NoError(b, p.server.ReceiveStream(wire.AppendMessage(nil, hello)))
		c.sinks = append(c.sinks, p)
	}
	for tick := range uint32(crowdWarmUp) {
		c.prepare(tick + 1)
		c.core.Tick()
	}
	require.Equal(b, 500, c.core.Active())
	return c
}

// prepare delivers the clients' datagrams and moves a third of the crates.
func (c *crowdedCore) prepare(tick uint32) {
	for _, p := range c.sinks {
		p.answer(c.b, tick)
	}
	for i, h := range c.movers {
		if i%3 == 0 {
			c.world.SetVelocity(h, world.Vec3{X: float32((tick/20+uint32(i))%9) - 4, Z: float32((tick/30+uint32(i))%5) - 2})
		}
	}
}

// send sends a sixth of the clients an event, half of them a reliable one.
func (c *crowdedCore) send(tick uint32) {
	for i, p := range c.sinks {
		if uint32(i)%6 != tick%6 {
			continue
		}
		var event any = Shout{tick, c.movers[i]}
		if i%2 == 1 {
			event = Spark{tick, c.movers[i]}
		}
		if err := p.server.Session().Send(event); err != nil {
			c.b.Fatal(err)
		}
	}
}
