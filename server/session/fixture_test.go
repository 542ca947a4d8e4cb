package session_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/internal/stage"
	"github.com/worldd/worldd/internal/wiretest"
	"github.com/worldd/worldd/replication"
	"github.com/worldd/worldd/replication/schema"
	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/server/session"
	"github.com/worldd/worldd/world"
)

// testServer is a core in a world of crates, and clients that the test plays.
type testServer struct {
	t     testing.TB
	world *world.World
	core  *session.Core
	game  *session.Hooks // Away and Back, which tests may replace
	crate world.KindID
	poked []bulk.Handle
	moved []string
	left  int
	busy  bool           // ticks have no time for snapshots
	notes *session.Notes // if not nil, receives the note of each tick
}

const testEpoch = 77

func newTestServer(t testing.TB) *testServer { return newTestServerWith(t, func(*session.Config) {}) }

func newTestServerWith(t testing.TB, change func(*session.Config)) *testServer {
	return newTestServerIn(t, world.Config{Seed: 1, HistoryTicks: 30}, change)
}

func newTestServerIn(t testing.TB, own world.Config, change func(*session.Config)) *testServer {
	w := stage.NewCrates(own)
	d := &testServer{t: t, world: w.World, crate: w.Crate, game: &session.Hooks{}}
	config := session.Config{
		Random: stage.Random(1),
		WorldConfig: session.WorldConfig{
			World: w.World, Schema: schema.NewWithBody(), Epoch: testEpoch, MaxSessions: 2,
			Replication: replication.Config{EnterRadius: 10, LeaveRadius: 20},
			Hooks: session.Hooks{
				Join: func(*session.Session) (world.Entity, error) { return d.spawn(0), nil },
				Leave: func(s *session.Session) {
					d.left++
					w.Destroy(s.Entity())
				},
				Input: session.OnRawInput(d.move),
				Commands: []session.Command{
					command("poke", func(_ *session.Session, h world.Entity) error {
						d.poked = append(d.poked, h)
						return nil
					}),
					command("fail", func(*session.Session, world.Entity) error { return fmt.Errorf("no") }),
					command("typo", func(*session.Session, world.Entity) error { return &wire.Error{Code: wire.BadArguments} }),
					command("leave", func(s *session.Session, _ world.Entity) error {
						s.Kick("on request")
						return nil
					}),
				},
				Away: func(s *session.Session) { d.callHook(d.game.Away, s) },
				Back: func(s *session.Session) { d.callHook(d.game.Back, s) },
			},
		},
	}
	change(&config)
	d.core = must.Get(session.NewCore(config))
	return d
}

// command returns a command without arguments.
func command(name string, f func(*session.Session, world.Entity) error) session.Command {
	return session.OnRawCommand(name, func(s *session.Session, target world.Entity, _ []byte) error { return f(s, target) })
}

func (d *testServer) move(_ *session.Session, tick uint64, data []byte) {
	d.moved = append(d.moved, fmt.Sprintf("%d:%s", tick, data))
}

func (d *testServer) callHook(f func(*session.Session), s *session.Session) {
	if f != nil {
		f(s)
	}
}

func (d *testServer) spawn(x float32) bulk.Handle {
	return must.Get(d.world.Spawn(d.crate, world.Vec3{X: x, Y: 0.5}, world.Vec3{}))
}

func (d *testServer) tick() {
	d.core.Receive()
	d.core.Step()
	if d.notes != nil {
		require.NoError(d.t, d.notes.Add(d.core.AppendNotes(nil, false)))
	}
	d.core.Send(func() bool { return d.busy })
}

func (d *testServer) ticks(n int) {
	for range n {
		d.tick()
	}
}

// counts returns the numbers of connected sessions, of away sessions, and of calls of
// Leave.
func (d *testServer) counts() []int { return []int{d.core.Active(), d.core.Away(), d.left} }

// testClient is one connection of a client.
type testClient struct {
	stage.Conn
	d    *testServer
	peer *session.Peer
}

func (d *testServer) connect() *testClient { return d.connectIn(context.Background()) }

func (d *testServer) connectIn(ctx context.Context) *testClient {
	c := &testClient{d: d}
	c.peer = d.core.Open(ctx, "", c)
	c.Peer = c.peer
	return c
}

// hello returns a Hello that the server welcomes, after changes.
func (d *testServer) hello(changes ...func(*wire.Hello)) wire.Hello {
	h := stage.Hello(d.core.Config().Schema)
	h.Epoch = testEpoch
	for _, change := range changes {
		change(&h)
	}
	return h
}

// dial connects, and sends a Hello.
func (d *testServer) dial(changes ...func(*wire.Hello)) *testClient {
	c := d.connect()
	c.send(d.hello(changes...))
	return c
}

// join dials, and reads the messages that a new client receives.
func (d *testServer) join(changes ...func(*wire.Hello)) *testClient {
	c := d.dial(changes...)
	c.wantWelcome("joins")
	c.want("controls its entity", wire.TypeControl)
	return c
}

// enter dials, and sends a first datagram: from then on the session can be resumed.
func (d *testServer) enter(changes ...func(*wire.Hello)) (*testClient, wire.Welcome) {
	c := d.dial(changes...)
	w := c.wantWelcome("joins")
	c.input(wire.Ack{})
	return c, w
}

// resume dials with the secret of a Welcome, and returns the new Welcome.
func (d *testServer) resume(w wire.Welcome, changes ...func(*wire.Hello)) (*testClient, wire.Welcome) {
	c := d.dial(append([]func(*wire.Hello){withSecret(w)}, changes...)...)
	return c, c.wantWelcome("joins or resumes")
}

// Changes of a Hello.
func withSecret(w wire.Welcome) func(*wire.Hello) {
	return func(h *wire.Hello) { h.Session, h.Secret = w.Session, w.Secret }
}

func withToken(token string) func(*wire.Hello) {
	return func(h *wire.Hello) { h.Token = []byte(token) }
}
func withName(name string) func(*wire.Hello) { return func(h *wire.Hello) { h.Name = name } }
func withAbilities(a wire.Abilities) func(*wire.Hello) {
	return func(h *wire.Hello) { h.Abilities = a }
}

// send sends messages, and makes a tick.
func (c *testClient) send(messages ...wire.Message) {
	require.NoError(c.d.t, c.Send(messages...))
	c.d.tick()
}

// input sends a datagram, and makes a tick.
func (c *testClient) input(ack wire.Ack, inputs ...wire.TickInput) {
	c.queueInput(ack, inputs...)
	c.d.tick()
}

// queueInput sends a datagram, which the next tick reads.
func (c *testClient) queueInput(ack wire.Ack, inputs ...wire.TickInput) {
	require.NoError(c.d.t, c.SendInput(ack, inputs...))
}

// nextInput returns an input for the next tick.
func (d *testServer) nextInput(data string) wire.TickInput {
	return wire.TickInput{Tick: uint32(d.world.Tick()) + 1, Data: []byte(data)}
}

// lose breaks the connection. The server notices it in the next tick.
func (c *testClient) lose() {
	c.peer.Gone()
	c.d.tick()
}

// want reads the next message that is not structure.
func (c *testClient) want(why string, kind byte) []byte {
	c.d.t.Helper()
	for {
		got, body, ok := c.Next()
		require.True(c.d.t, ok, "%s: no message", why)
		if got == wire.TypeStructure && kind != got {
			continue
		}
		require.Equal(c.d.t, kind, got, "%s: %s", why, wiretest.Describe(got, body))
		return body
	}
}

func (c *testClient) wantNothing() {
	c.d.t.Helper()
	_, _, ok := c.Next()
	require.False(c.d.t, ok, "a further message")
}

func (c *testClient) wantWelcome(why string) wire.Welcome {
	c.d.t.Helper()
	return must.Get(wire.Parse[wire.Welcome](c.want(why, wire.TypeWelcome)))
}

func (c *testClient) wantRefused(why string, code wire.Code) wire.Refused {
	c.d.t.Helper()
	m := must.Get(wire.Parse[wire.Refused](c.want(why, wire.TypeRefused)))
	require.Equal(c.d.t, code, m.Code, why)
	return m
}

// wantGoodbye reads up to a Goodbye, which ends the connection.
func (c *testClient) wantGoodbye(code wire.Code) {
	c.d.t.Helper()
	require.Equal(c.d.t, code, must.Get(wire.Parse[wire.Goodbye](c.lastMessage(wire.TypeGoodbye))).Code)
	require.Equal(c.d.t, []wire.Code{code}, c.Closed)
}

// wantControl requires that the client receives h as its controlled entity.
func (c *testClient) wantControl(why string, h bulk.Handle) {
	c.d.t.Helper()
	m := must.Get(wire.Parse[wire.Control](c.want(why, wire.TypeControl)))
	require.Equal(c.d.t, h, m.Entity, why)
}

func (c *testClient) result() wire.Result {
	c.d.t.Helper()
	return must.Get(wire.Parse[wire.Result](c.want("an answer", wire.TypeResult)))
}

func (c *testClient) wantResult(why string, id uint32, code wire.Code, verdict wire.Verdict) {
	c.d.t.Helper()
	r := c.result()
	require.Equal(c.d.t, []any{id, code, verdict}, []any{r.ID, r.Code, r.Verdict}, why)
}

// wantServed requires that the server executes the client's next command.
func (c *testClient) wantServed() {
	c.d.t.Helper()
	c.send(wire.Command{ID: 7, Name: "poke"})
	c.wantResult("the session continues", 7, wire.OK, wire.Live)
}

func (c *testClient) wantClosed(why string, code wire.Code) {
	c.d.t.Helper()
	c.d.tick()
	require.Equal(c.d.t, []wire.Code{code}, c.Closed, why)
	require.Zero(c.d.t, c.d.core.Len(), why)
}

// lastMessage reads everything, and returns the newest message of a kind.
func (c *testClient) lastMessage(kind byte) (last []byte) {
	c.d.t.Helper()
	for {
		got, body, ok := c.Next()
		if !ok {
			require.NotNil(c.d.t, last)
			return last
		}
		if got == kind {
			last = body
		}
	}
}

// records returns the structure records among the unread messages, which are all structure.
func (c *testClient) records() (all []wire.Record) {
	c.d.t.Helper()
	for {
		kind, body, ok := c.Next()
		if !ok {
			return all
		}
		require.Equal(c.d.t, wire.TypeStructure, kind)
		for r, err := range must.Get(wire.ParseStructure(body)).Records() {
			require.NoError(c.d.t, err)
			all = append(all, r)
		}
	}
}

// deaths makes some ticks, and returns the handles whose Destroys arrive.
func (c *testClient) deaths() map[bulk.Handle]bool {
	c.d.t.Helper()
	c.d.ticks(10)
	dead := map[bulk.Handle]bool{}
	for _, r := range c.records() {
		if r.Op == wire.OpDestroy {
			dead[r.Handle] = true
		}
	}
	return dead
}
