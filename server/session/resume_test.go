package session_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/server/session"
	"github.com/worldd/worldd/world"
)

// hookLog records the session hooks that are called.
func (d *testServer) hookLog() *[]string {
	var lines []string
	d.game.Away = func(*session.Session) { lines = append(lines, "away") }
	d.game.Back = func(*session.Session) { lines = append(lines, "back") }
	return &lines
}

func TestResume(t *testing.T) {
	d := newTestServer(t)
	hooks := d.hookLog()
	c, w := d.enter()
	s := c.peer.Session()
	near := d.spawn(5)
	d.ticks(6)
	c.peer.Gone()
	d.ticks(30)
	require.Equal(t, []string{"away"}, *hooks)
	require.Equal(t, []int{0, 1, 1}, []int{d.core.Active(), d.core.Away(), d.core.Len()})
	require.Zero(t, d.left)
	require.Equal(t, bulk.Live, d.world.Status(s.Entity()), "its entity stays")
	shots := c.Datagrams
	d.world.Destroy(near)
	d.ticks(10)
	require.Equal(t, shots, c.Datagrams, "nothing is sent without a connection")

	c, next := d.resume(w)
	require.EqualValues(t, 1, next.Resumed)
	require.Equal(t, w.Session, next.Session)
	require.NotEqual(t, w.Secret, next.Secret)
	require.Same(t, s, c.peer.Session())
	require.Equal(t, []string{"away", "back"}, *hooks)
	require.Equal(t, []int{1, 0, 1}, []int{d.core.Active(), d.core.Away(), d.core.Len()})
	m := must.Get(wire.Parse[wire.Control](c.want("its controlled entity", wire.TypeControl)))
	require.Equal(t, s.Entity(), m.Entity)
	d.ticks(3)
	first := must.Get(wire.ParseStructure(c.want("all structure again: none was acknowledged", wire.TypeStructure)))
	require.EqualValues(t, 1, first.First)
	require.True(t, c.deaths()[near], "H3: it died meanwhile")
	require.EqualValues(t, 1, d.core.Stats().Resumed)
}

// A resumed client receives the structure that it missed before every answer, however late
// the next snapshot: a verdict depends on the client's knowledge.
func TestAnswersDoNotOvertakeStructure(t *testing.T) {
	d := newTestServer(t)
	c, w := d.enter()
	near := d.spawn(5)
	d.ticks(6)
	require.Equal(t, wire.Live, c.peer.Session().Resolve(near))
	c.lose()
	d.busy = true
	c, _ = d.resume(w)
	c.send(wire.Command{ID: 1, Name: "poke", Target: near})
	c.want("its controlled entity", wire.TypeControl)
	for entered := false; !entered; {
		m := must.Get(wire.ParseStructure(c.want("first the entity's Enter", wire.TypeStructure)))
		for r := range m.Records() {
			entered = entered || r.Op == wire.OpEnter && r.Handle == near
		}
	}
	require.Zero(t, c.Datagrams)
	c.wantResult("then the answer", 1, wire.OK, wire.Live)
}

// After the grace period the game's Leave is called once, and the client begins a new session.
func TestGraceEnds(t *testing.T) {
	for name, change := range map[string]func(*session.Config){
		"15 s":   func(*session.Config) {},
		"1 s":    func(c *session.Config) { c.Grace = time.Second },
		"at 0 s": func(c *session.Config) { c.Grace = -1 },
	} {
		d := newTestServerWith(t, change)
		grace := map[string]int{"15 s": 15 * 60, "1 s": 60, "at 0 s": -1}[name]
		c, w := d.enter()
		require.Equal(t, grace < 0, len(w.Secret) == 0, "%s: no secret without grace", name)
		c.peer.Gone()
		d.ticks(1 + max(grace, 0))
		require.Equal(t, grace < 0, d.left == 1, "%s: too early", name)
		d.ticks(1)
		require.Equal(t, 1, d.left, name)
		require.Zero(t, d.core.Len(), name)
		if grace > 0 {
			_, next := d.resume(w)
			require.Zero(t, next.Resumed, name)
			require.NotEqual(t, w.Session, next.Session, name)
		}
	}
}

// A Hello with any wrong resume data begins a new session, and affects no other session.
func TestSessionIsNobodyElses(t *testing.T) {
	for name, change := range map[string]func(*wire.Hello){
		"a wrong secret":       func(h *wire.Hello) { h.Secret = append([]byte{^h.Secret[0]}, h.Secret[1:]...) },
		"another session":      func(h *wire.Hello) { h.Session += 100 },
		"no secret":            func(h *wire.Hello) { h.Session, h.Secret = 0, nil },
		"the last byte is off": func(h *wire.Hello) { h.Secret = append(append([]byte{}, h.Secret[:15]...), ^h.Secret[15]) },
	} {
		d := newTestServer(t)
		c, w := d.enter()
		_, next := d.resume(w, change)
		require.Zero(t, next.Resumed, name)
		require.NotEqual(t, w.Session, next.Session, name)
		require.Empty(t, c.Closed, name)
		c.lose()
		d.tick()
		_, next = d.resume(w)
		require.EqualValues(t, 1, next.Resumed, "%s: its own session is still there", name)
	}
}

// A secret is valid until the client confirms the next one.
func TestSecretIsSpent(t *testing.T) {
	d := newTestServer(t)
	c, first := d.enter()
	c.lose()
	d.tick()
	_, second := d.resume(first)
	require.EqualValues(t, 1, second.Resumed)
	_, third := d.resume(first)
	require.EqualValues(t, 1, third.Resumed, "the second Welcome was lost")
	_, fourth := d.resume(first)
	require.EqualValues(t, 1, fourth.Resumed, "and the third")
	last, fifth := d.resume(fourth)
	require.EqualValues(t, 1, fifth.Resumed)
	last.input(wire.Ack{})
	for i, w := range []wire.Welcome{first, second, third, fourth} {
		_, next := d.resume(w)
		require.Zero(t, next.Resumed, "welcome %d", i+1)
		last.d.core.Kick(next.Session, "")
		d.ticks(2)
	}
	_, next := d.resume(fifth)
	require.EqualValues(t, 1, next.Resumed)
}

// A client with the secret resumes its session even if the server has not noticed the loss.
// Later data of the old connection is ignored.
func TestSessionIsTakenOver(t *testing.T) {
	d := newTestServer(t)
	hooks := d.hookLog()
	c, w := d.enter()
	next, welcome := d.resume(w)
	require.EqualValues(t, 1, welcome.Resumed)
	require.Equal(t, []wire.Code{wire.Replaced}, c.Closed)
	c.wantGoodbye(wire.Replaced)
	require.Empty(t, *hooks, "it was never away")
	moved := len(d.moved)
	c.queueInput(wire.Ack{}, wire.TickInput{Tick: 99, Data: []byte("x")})
	require.NoError(t, c.Send(wire.Command{ID: 9, Name: "poke"}))
	c.peer.Left()
	d.ticks(2)
	require.Equal(t, moved, len(d.moved))
	require.Empty(t, d.poked)
	require.Empty(t, next.Closed)
	require.Equal(t, 1, d.core.Active())
}

// A Hello that arrives after its client has opened a newer connection does not take the
// session from that connection.
func TestLateHelloTakesNothing(t *testing.T) {
	d := newTestServer(t)
	_, w := d.enter()
	early := d.connect()
	late, next := d.resume(w)
	require.EqualValues(t, 1, next.Resumed)
	h := d.hello()
	h.Session, h.Secret = w.Session, w.Secret
	early.send(h)
	early.wantRefused("is refused", wire.Replaced)
	require.Equal(t, []wire.Code{wire.Replaced}, early.Closed, "the client has abandoned it")
	require.Empty(t, late.Closed)
	require.Equal(t, []int{1, 1}, []int{d.core.Active(), d.core.Len()})
}

// A session resumes although a client joins in the same tick over an older connection.
func TestResumeBesideAJoin(t *testing.T) {
	d := newTestServer(t)
	older := d.connect()
	c, w := d.enter()
	c.lose()
	d.tick()
	require.Equal(t, 1, d.core.Away())
	require.NoError(t, older.Send(d.hello()))
	_, next := d.resume(w)
	require.EqualValues(t, 1, next.Resumed)
	require.Equal(t, w.Session, next.Session)
	require.Equal(t, []int{2, 0}, []int{d.core.Active(), d.core.Away()})
}

func TestNoGrace(t *testing.T) {
	for name, end := range map[string]func(*testServer, *testClient){
		"goodbye":   func(_ *testServer, c *testClient) { c.send(wire.Bye{}) },
		"left":      func(_ *testServer, c *testClient) { c.peer.Left(); c.peer.Gone() },
		"a breach":  func(_ *testServer, c *testClient) { _ = c.peer.ReceiveStream([]byte{1, 99}) },
		"kicked":    func(_ *testServer, c *testClient) { c.peer.Session().Kick("enough") },
		"by id":     func(d *testServer, c *testClient) { d.core.Kick(c.peer.ID(), "enough") },
		"too slow":  func(d *testServer, c *testClient) { c.Full = true; d.spawn(1) },
		"draining":  func(d *testServer, _ *testClient) { d.core.Drain() },
		"by itself": func(_ *testServer, c *testClient) { c.send(wire.Command{ID: 1, Name: "leave"}) },
	} {
		d := newTestServer(t)
		hooks := d.hookLog()
		c, w := d.enter()
		end(d, c)
		d.ticks(4)
		require.Equal(t, 1, d.left, name)
		require.Zero(t, d.core.Len(), name)
		require.Len(t, c.Closed, 1, name)
		require.Empty(t, *hooks, name)
		if name != "draining" {
			_, next := d.resume(w)
			require.Zero(t, next.Resumed, name)
		}
	}
}

// A session can resume even if its connection breaks before the first datagram: the Welcome
// has the secret.
func TestResumeWithoutADatagram(t *testing.T) {
	d := newTestServer(t)
	c := d.dial()
	w := c.wantWelcome("joins")
	c.lose()
	d.tick()
	require.Equal(t, []int{1, 0}, []int{d.core.Away(), d.left})
	c, next := d.resume(w)
	require.EqualValues(t, 1, next.Resumed)
	c.peer.Gone()
	d.ticks(2 + 15*60)
	require.Equal(t, []int{0, 1}, []int{d.core.Len(), d.left}, "the grace period bounds its stay")
}

// The order of connections is the order of their first packets, however late a stream
// opens.
func TestLateStreamTakesNothing(t *testing.T) {
	d := newTestServer(t)
	older := d.core.Reserve()
	_, w := d.enter()
	newer, next := d.resume(w)
	require.EqualValues(t, 1, next.Resumed)
	late := &testClient{d: d}
	late.peer = d.core.OpenReserved(context.Background(), older, "", late)
	late.Peer = late.peer
	h := d.hello()
	h.Session, h.Secret = w.Session, w.Secret
	late.send(h)
	late.wantRefused("is refused", wire.Replaced)
	require.Empty(t, newer.Closed)
	require.Equal(t, older, late.peer.ID())
}

// A Hello with other abilities than the session's begins a new session.
func TestResumeWithOtherAbilities(t *testing.T) {
	for _, began := range []wire.Abilities{0, wire.Simulates, wire.PlainRows, wire.Simulates | wire.PlainRows} {
		d := newTestServer(t)
		c := d.dial(withAbilities(began))
		w := c.wantWelcome("joins")
		_, next := d.resume(w, func(h *wire.Hello) { h.Abilities = began ^ wire.PlainRows })
		require.Zero(t, next.Resumed, "began with abilities %d", began)
		require.Empty(t, c.Closed)
		_, next = d.resume(w, func(h *wire.Hello) { h.Abilities = began })
		require.EqualValues(t, 1, next.Resumed, "began with abilities %d", began)
	}
}

// The Hello of a client that has already gone begins, resumes and ends no session.
func TestHelloOfAGoneClient(t *testing.T) {
	for name, leave := range map[string]func(*session.Peer, context.CancelFunc){
		"broke":              func(p *session.Peer, _ context.CancelFunc) { p.Gone() },
		"left":               func(p *session.Peer, _ context.CancelFunc) { p.Left() },
		"ended during Admit": func(_ *session.Peer, end context.CancelFunc) { end() },
	} {
		var joins int
		d := newTestServerWith(t, func(c *session.Config) {
			join := c.Hooks.Join
			c.Hooks.Join = func(s *session.Session) (world.Entity, error) {
				joins++
				return join(s)
			}
			c.OneSessionPerUser = true
			c.Admit = func(context.Context, []byte) (session.Admission, error) { return session.Admission{User: "alice"}, nil }
		})
		phone, w := d.enter()
		for _, secret := range [][]byte{nil, w.Secret} {
			ctx, end := context.WithCancel(t.Context())
			laptop := d.connectIn(ctx)
			h := d.hello()
			h.Session, h.Secret = w.Session*uint64(min(len(secret), 1)), secret
			require.NoError(t, laptop.Send(h))
			leave(laptop.peer, end)
			d.ticks(1)
			laptop.lose()
			require.Empty(t, phone.Closed, "%s: the phone plays on", name)
			require.Equal(t, []int{1, 0, 1, 1}, []int{joins, d.left, d.core.Active(), d.core.Len()}, name)
			require.Equal(t, []wire.Code{wire.OK}, laptop.Closed, name)
			end()
		}
	}
}

// Kick and Drain also end away sessions.
func TestAwayEnds(t *testing.T) {
	for name, end := range map[string]func(*testServer, *session.Session){
		"kicked":   func(_ *testServer, s *session.Session) { s.Kick("enough") },
		"draining": func(d *testServer, _ *session.Session) { d.core.Drain() },
	} {
		d := newTestServer(t)
		c, _ := d.enter()
		s := c.peer.Session()
		c.lose()
		end(d, s)
		d.ticks(1)
		require.Equal(t, 1, d.left, name)
		require.Zero(t, d.core.Len(), name)
	}
}

// A full server ends the longest away session for a new client.
func TestAwayMakesRoom(t *testing.T) {
	d := newTestServer(t) // two slots
	a, first := d.enter()
	b, second := d.enter()
	b.peer.Gone()
	d.ticks(10)
	a.lose()
	require.Equal(t, 2, d.core.Away())
	d.join()
	require.Equal(t, 1, d.left)
	_, next := d.resume(second, func(h *wire.Hello) { h.Structure = 0 })
	require.Zero(t, next.Resumed, "it was away longest, and was ended; the other then made room for it")
	require.Equal(t, 2, d.left)
	c := d.dial(withSecret(first))
	c.wantRefused("both slots are taken", wire.ServerFull)
}

// An earlier Result may rest on deaths. A client that resumes between two snapshots
// receives these deaths at once, before any other Result.
func TestResumeBetweenSnapshots(t *testing.T) {
	d := newTestServer(t)
	c, w := d.enter()
	near, hidden := d.spawn(5), d.spawn(6)
	d.ticks(6)
	d.world.SetPosition(hidden, world.Vec3{X: 60, Y: 0.5})
	d.ticks(6)
	require.Equal(t, wire.Hidden, c.peer.Session().Resolve(hidden))
	c.Skip()
	d.busy = true
	d.world.Destroy(near)
	d.world.Destroy(hidden)
	d.ticks(1)
	c.send(wire.Command{ID: 1, Name: "poke", Target: near})
	c.wantResult("it is dead", 1, wire.StaleHandle, wire.Stale)
	c.lose()
	c, next := d.resume(w, func(h *wire.Hello) { h.Structure = 4 })
	require.EqualValues(t, 1, next.Resumed)
	c.want("its controlled entity", wire.TypeControl)
	dead := map[bulk.Handle]bool{}
	for _, r := range c.records() {
		dead[r.Handle] = r.Op == wire.OpDestroy
	}
	require.Equal(t, map[bulk.Handle]bool{near: true, hidden: true}, dead)
}

// A client that acknowledges unsent structure, or has missed more than the server keeps,
// begins a new session.
func TestStructureMustFit(t *testing.T) {
	d := newTestServer(t)
	c, w := d.enter()
	d.ticks(6)
	c.lose()
	_, next := d.resume(w, func(h *wire.Hello) { h.Structure = 1 << 20 })
	require.Zero(t, next.Resumed)
	require.Equal(t, 1, d.left, "the old session has ended")
}

// Silence is treated as a lost connection: the client may not have received Goodbye.
func TestSilenceIsForgiven(t *testing.T) {
	d := newTestServer(t)
	c, w := d.enter()
	d.ticks(10*60 + 1)
	require.Equal(t, []wire.Code{wire.Timeout}, c.Closed)
	require.Zero(t, d.left)
	_, next := d.resume(w)
	require.EqualValues(t, 1, next.Resumed)
}

// Inputs continue after a resume: none is applied twice.
func TestInputsAfterResume(t *testing.T) {
	d := newTestServer(t)
	c, w := d.enter()
	send := func(c *testClient, tick uint32) {
		c.queueInput(wire.Ack{}, wire.TickInput{Tick: tick, Data: []byte("m")})
		d.core.Tick()
	}
	send(c, 7)
	c.lose()
	c, _ = d.resume(w)
	send(c, 7)
	send(c, 8)
	d.ticks(8) // until their ticks
	require.Equal(t, []string{"7:m", "8:m"}, d.moved)
}

// Only the text of a Rejection reaches the client.
func TestRejectionText(t *testing.T) {
	d := newTestServerWith(t, func(c *session.Config) {
		c.Hooks.Commands = append(c.Hooks.Commands, command("far", func(*session.Session, world.Entity) error {
			return &session.Rejection{Text: "too far away"}
		}))
		c.Hooks.Commands = append(c.Hooks.Commands, command("long", func(*session.Session, world.Entity) error {
			return &session.Rejection{Code: wire.BadArguments, Text: strings.Repeat("x", 2*wire.MaxText)}
		}))
	})
	c := d.join()
	c.send(wire.Command{ID: 1, Name: "far"}, wire.Command{ID: 2, Name: "long"}, wire.Command{ID: 3, Name: "fail"}, wire.Command{ID: 4, Name: "typo"})
	for _, want := range []wire.Result{
		{ID: 1, Code: wire.CommandRefused, Verdict: wire.Live, Text: "too far away"},
		{ID: 2, Code: wire.BadArguments, Verdict: wire.Live, Text: strings.Repeat("x", wire.MaxText)},
		{ID: 3, Code: wire.CommandRefused, Verdict: wire.Live},
		{ID: 4, Code: wire.BadArguments, Verdict: wire.Live},
	} {
		want.Answer = []byte{}
		require.Equal(t, want, must.Get(wire.Parse[wire.Result](c.want("an answer", wire.TypeResult))))
	}
}

// A client that has lost its replica, such as a page that was reloaded, continues its session and receives
// everything again.
func TestResumeWithoutReplica(t *testing.T) {
	d := newSavingServer(t)
	c, w := d.enter()
	s := c.peer.Session()
	near, far := d.spawn(5), d.spawn(1000)
	s.Own(far)
	d.ticks(6)
	c.send(wire.Command{ID: 1, Name: "name", FirstProvisional: 5, Provisionals: 2})
	c.input(c.Ack(), wire.TickInput{Tick: uint32(d.world.Tick()) + 20, Data: []byte("of the page before")})
	c.lose()

	before := s.Traffic().Interest
	c, next := d.resume(w, func(h *wire.Hello) { h.Structure = wire.NoStructure })
	require.Equal(t, []any{uint8(0), w.Session, w.Epoch, uint32(1)}, []any{next.Resumed, next.Session, next.Epoch, next.Commands})
	require.Same(t, s, c.peer.Session())
	c.wantControl("its entity", s.Entity())
	fence := next.Structure
	require.Positive(t, fence)
	d.ticks(9)
	entered := map[bulk.Handle]bool{}
	for _, r := range c.records() {
		if r.Op == wire.OpEnter {
			entered[r.Handle] = true
		}
	}
	require.True(t, entered[near] && entered[far] && entered[s.Entity()], "everything enters again")
	require.Equal(t, before, s.Traffic().Interest)
	c.input(c.Ack(), d.nextInput("new"))
	d.ticks(30)
	require.Len(t, d.moved, 1, "an input of the page before is not applied")
	c.Skip()
	c.send(wire.Command{ID: 1, Name: "name", FirstProvisional: 0, Provisionals: 1})
	c.wantResult("provisional handles begin again", 1, wire.OK, wire.Live)

	c.lose()
	c, again := d.resume(next, func(h *wire.Hello) { h.Structure = wire.NoStructure })
	require.Equal(t, w.Session, again.Session)
	require.Greater(t, again.Structure, fence)
	c.lose()
	_, again = d.resume(again, func(h *wire.Hello) { h.Structure = again.Structure })
	require.EqualValues(t, 1, again.Resumed, "as any client of this session")
}

// A client that was redirected and resumes has not had the address: it is redirected again, while a token for the other server may be good.
func TestRedirectionIsRepeated(t *testing.T) {
	d := newTestServer(t)
	c, w := d.enter()
	moved := must.Get(wire.MovedTo("b:2", []byte("token")))
	require.NoError(t, d.core.Session(w.Session).Redirect(moved.Address, moved.Token))
	d.tick()
	require.Equal(t, *moved, c.Ended)
	d.ticks(14 * d.core.World().TickHz())
	again := d.dial(withSecret(w))
	d.tick()
	require.Equal(t, *moved, again.Ended)
	d.ticks(2 * d.core.World().TickHz())
	d.dial(withSecret(w)).wantWelcome("a new session")
}
