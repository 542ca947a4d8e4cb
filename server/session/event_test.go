package session_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/client"
	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/internal/simtest"
	"github.com/worldd/worldd/internal/stage"
	"github.com/worldd/worldd/replication"
	"github.com/worldd/worldd/replication/schema"
	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/server/session"
	"github.com/worldd/worldd/world"
)

// eventServer is a test server whose clients join 100 m from each other.
type eventServer struct {
	*testServer
	clients []*listener
}

// listener is a client on a perfect link that records the events that arrive.
type listener struct {
	stage.Linked
	d     *eventServer
	peer  *session.Peer
	cut   bool
	heard []string
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
	s = schema.NewWithBody()
	return s, schema.DefineEvent[Shout](s, "shout"), schema.DefineUnreliableEvent[Spark](s, "spark")
}

func newEventServer(t testing.TB) *eventServer {
	d := &eventServer{}
	d.testServer = newTestServerWith(t, func(c *session.Config) {
		c.Schema, _, _ = eventSchema(t)
		c.MaxSessions, c.Hooks = 0, session.Hooks{Join: func(s *session.Session) (world.Entity, error) {
			require.NoError(t, s.Send(Shout{Serial: 1000}))
			return d.spawn(100 * float32(s.ID()-1)), nil
		}}
	})
	return d
}

func (d *eventServer) join() *listener {
	c := &listener{d: d, Linked: stage.Linked{Unit: time.Second / 60, OnClose: func(wire.Code, string) {}}}
	s, shout, spark := eventSchema(d.t)
	var events client.Events
	client.OnEvent(&events, shout, func(_ uint32, e Shout) { c.heard = append(c.heard, fmt.Sprint("shout ", e.Serial)) })
	client.OnEvent(&events, spark, func(_ uint32, e Spark) { c.heard = append(c.heard, fmt.Sprint("spark ", e.Serial)) })
	c.Client = must.Get(client.NewSession(client.SessionConfig{Schema: s, Events: &events}))
	c.connect()
	d.clients = append(d.clients, c)
	return c
}

func (c *listener) connect() {
	c.Connection = simtest.NewConnection(1, simtest.Conditions{})
	c.peer = c.d.core.Open(context.Background(), "", c)
	c.Peer = c.peer
}

func (d *eventServer) play(ticks int) {
	for range ticks {
		for _, c := range d.clients {
			c.Now++
			if !c.cut {
				c.Answer()
				require.NoError(d.t, c.Serve())
			}
		}
		d.tick()
		for _, c := range d.clients {
			if !c.cut {
				must.Get(c.Receive())
			}
		}
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
	for _, c := range d.clients {
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

// Reliable events of an away session arrive after it resumes; unreliable events do not.
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
	c.Client.Lost(errors.New("cut"))
	c.Client.Reconnect()
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

// BenchmarkEvents compares a server that sends each of 500 clients ten events a second with
// a server that sends none, by the medians of alternating ticks.
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

// crowdedCore is a test server of 500 clients that walk among 500 crates.
type crowdedCore struct {
	*testServer
	clients []*testClient
	movers  []world.Entity
}

func newCrowdedCore(b *testing.B) *crowdedCore {
	c := &crowdedCore{}
	var w stage.Crates
	spawn := func(i int) world.Entity { return w.Put(float32(i%32)*8-128, float32(i/32)*8-128) }
	c.testServer = newTestServerIn(b, world.Config{Seed: 3}, func(config *session.Config) {
		config.Schema, _, _ = eventSchema(b)
		config.MaxSessions, config.Replication = 500, replication.Config{EnterRadius: 40, LeaveRadius: 44}
		config.Hooks = session.Hooks{
			Join: func(s *session.Session) (world.Entity, error) { return spawn(2*int(s.ID()) - 1), nil },
			Input: session.OnRawInput(func(s *session.Session, tick uint64, _ []byte) {
				turn := (tick/30 + s.ID()) % 4
				w.SetVelocity(s.Entity(), world.Vec3{X: float32(turn%2*6) - 3, Z: float32(turn/2*6) - 3})
			}),
		}
	})
	w = stage.Crates{World: c.world, Crate: c.crate}
	for i := range 500 {
		c.movers = append(c.movers, spawn(2*i))
	}
	for range 500 {
		p := c.connect()
		p.Forget = true
		require.NoError(b, p.Send(stage.Hello(c.core.Config().Schema)))
		c.clients = append(c.clients, p)
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
	for _, p := range c.clients {
		must.Do(p.SendInput(p.Ack(), wire.TickInput{Tick: tick, Data: make([]byte, 4)}))
	}
	for i, h := range c.movers {
		if i%3 == 0 {
			c.world.SetVelocity(h, world.Vec3{X: float32((tick/20+uint32(i))%9) - 4, Z: float32((tick/30+uint32(i))%5) - 2})
		}
	}
}

// send sends an event to a sixth of the clients; half of the events are reliable.
func (c *crowdedCore) send(tick uint32) {
	for i, p := range c.clients {
		if uint32(i)%6 != tick%6 {
			continue
		}
		var event any = Shout{tick, c.movers[i]}
		if i%2 == 1 {
			event = Spark{tick, c.movers[i]}
		}
		must.Do(p.peer.Session().Send(event))
	}
}
