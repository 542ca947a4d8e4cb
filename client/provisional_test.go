package client_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/client"
	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/internal/rowschema"
	"github.com/worldd/worldd/internal/stage"
	"github.com/worldd/worldd/replication/schema"
	"github.com/worldd/worldd/replication/wire"
)

type (
	volley struct {
		First  bulk.Handle `net:"ref"`
		Second bulk.Handle `net:"ref"`
	}
	trigger struct {
		Missile bulk.Handle `net:"ref"`
		At      bulk.Handle `net:"ref"`
	}
)

// provisionalServer is a session that asks for entities by provisional handles, and plays its server by hand.
type provisionalServer struct {
	*client.Session
	t       testing.TB
	schema  *schema.Schema
	records uint32
	seq     uint32
}

func newProvisionalServer(t testing.TB) *provisionalServer {
	s := schema.New()
	schema.Define[health](s, "health")
	schema.DefineCommand[volley](s, "volley")
	schema.DefineInput[trigger](s)
	require.NoError(t, s.Err())
	return newProvisionalServerOf(t, s, s)
}

// newProvisionalServerOf returns a server of the schema served, and a client that declares another.
func newProvisionalServerOf(t testing.TB, served, declared *schema.Schema) *provisionalServer {
	g := &provisionalServer{t: t, schema: served}
	g.Session = must.Get(client.NewSession(client.SessionConfig{Schema: declared}))
	require.ErrorIs(t, must.Fail(g.Provisional()), client.ErrNotJoined)
	g.welcome(func(w *wire.Welcome) { w.SchemaText = served.Text() })
	return g
}

func (g *provisionalServer) welcome(change func(*wire.Welcome)) {
	w := stage.Welcome(g.schema)
	w.SchemaText, w.Tick = "", 100
	change(&w)
	w.Structure = structureOf(g.Session, w.Resumed)
	require.NoError(g.t, g.ReceiveStream(wire.AppendMessage(nil, w)))
	g.TakeStream()
	if w.Resumed == 0 {
		g.records, g.seq = 0, 0
	}
}

// reconnect loses the connection and opens another.
func (g *provisionalServer) reconnect(change func(*wire.Welcome)) {
	g.Lost(errors.New("the cat"))
	g.Reconnect()
	g.welcome(change)
}

func (g *provisionalServer) structure(records ...wire.Record) error {
	err := g.ReceiveStream(wire.AppendFrame(nil, wire.TypeStructure, stage.Structure(g.records+1, 1, records...)))
	if err == nil {
		g.records += uint32(len(records))
	}
	return err
}

func granted(h, entity bulk.Handle) wire.Record {
	return wire.Record{Op: wire.OpAnswer, Number: h.Index(), Handle: entity}
}

func refused(h bulk.Handle) wire.Record { return granted(h, 0) }

func (g *provisionalServer) enter(h bulk.Handle) wire.Record {
	return stage.Enter(g.schema, h, rowschema.Row{Mask: 1, Values: []uint32{5}})
}

// snapshot delivers a snapshot of a tick, without rows.
func (g *provisionalServer) snapshot(tick, input uint32) {
	g.seq++
	h := wire.StateHeader{Seq: g.seq, Tick: tick, Structure: g.records}
	if input > 0 {
		h.InputAge = tick - input + 1
	}
	outcome := must.Get(g.ReceiveDatagram(wire.AppendStateHeader(nil, h), 0))
	require.Equal(g.t, client.Applied, outcome)
}

func (g *provisionalServer) take() bulk.Handle {
	return must.Get(g.Provisional())
}

func (g *provisionalServer) launch(first, second bulk.Handle) (*client.Future, wire.Command) {
	f := must.Get(g.DoValue(0, volley{first, second}))
	return f, takeCommand(g.Session)
}

func (g *provisionalServer) fire(h bulk.Handle) (tick uint32) {
	tick = must.Get(g.SetInputValue(&trigger{Missile: h}, 0))
	return tick
}

func (g *provisionalServer) answer(f *client.Future, code wire.Code) {
	require.NoError(g.t, g.ReceiveStream(wire.AppendMessage(nil, wire.Result{ID: f.ID(), Code: code, Verdict: wire.Live})))
}

func (g *provisionalServer) want(why string, v wire.Verdict, handles ...bulk.Handle) {
	g.t.Helper()
	for _, h := range handles {
		require.Equal(g.t, v, g.Resolve(h), "%s: %v", why, h)
		require.Equal(g.t, v, g.Replica().Resolve(h), why)
		require.Equal(g.t, v == wire.Live, g.Replica().Entity(h) != nil, why)
	}
}

var (
	rocket = bulk.NewHandle(4, 3)
	flare  = bulk.NewHandle(5, 1)
)

func TestProvisionalOfCommand(t *testing.T) {
	g := newProvisionalServer(t)
	a, b := g.take(), g.take()
	require.NotEqual(t, a, b)
	f, sent := g.launch(a, b)
	require.Equal(t, []uint32{a.Index(), 2}, []uint32{sent.FirstProvisional, uint32(sent.Provisionals)})
	g.want("sent", wire.Provisional, a, b)
	require.Zero(t, g.Real(a))
	require.Equal(t, rocket, g.Real(rocket))

	require.NoError(t, g.structure(granted(a, rocket)))
	g.want("granted, not entered", wire.Pending, a)
	g.want("not answered", wire.Provisional, b)
	require.Equal(t, rocket, g.Real(a))
	g.answer(f, wire.OK)
	g.want("its Result came", wire.Stale, b)
	require.Zero(t, g.Real(b))
	require.NoError(t, g.structure(g.enter(rocket)))
	g.want("entered", wire.Live, a)
	require.Equal(t, rocket, g.Replica().Entity(a).Handle())

	_, sent = g.launch(a, b)
	var args volley
	require.NoError(t, rowschema.NewMessage(g.schema.Commands()[0].Args).ReadValue(sent.Args, &args))
	require.Equal(t, volley{First: rocket}, args, "answered handles are sent as what they stand for")
	require.Zero(t, sent.Provisionals)
	must.Get(g.DoValue(a, volley{}))
	require.Equal(t, rocket, takeCommand(g.Session).Target)
	require.ErrorContains(t, must.Fail(g.DoValue(b, volley{})), "is stale")

	require.NoError(t, g.structure(leave(rocket)))
	g.want("left", wire.Hidden, a)
	require.NoError(t, g.structure(destroy(rocket)))
	g.want("died", wire.Stale, a)
	require.NoError(t, g.structure(g.enter(rocket+2<<32)))
	g.want("its slot has a later tenant", wire.Stale, a)
	require.Equal(t, rocket, g.Real(a))
}

// Deaths before the Enter, and before the Answer.
func TestProvisionalThatDies(t *testing.T) {
	g := newProvisionalServer(t)
	a, b := g.take(), g.take()
	g.launch(a, b)
	require.NoError(t, g.structure(granted(a, rocket), destroy(rocket), destroy(flare), granted(b, flare)))
	g.want("died", wire.Stale, a, b)
	require.NoError(t, g.structure(g.enter(flare+2<<32)))
	g.want("later tenant", wire.Stale, a, b)
}

func TestProvisionalOfInput(t *testing.T) {
	g := newProvisionalServer(t)
	a, b, c := g.take(), g.take(), g.take()
	first := g.fire(a)
	g.Input(0)
	again := g.fire(a)
	require.Greater(t, again, first)
	g.Input(0)
	last := g.fire(b)
	g.Input(0)
	g.want("sent", wire.Provisional, a, b)
	g.snapshot(200, 0)
	g.snapshot(201, first)
	g.want("a later input repeats it", wire.Provisional, a, b)
	g.snapshot(202, again)
	g.want("the last input with it is applied", wire.Stale, a)
	g.want("of a later input", wire.Provisional, b)
	require.NoError(t, g.structure(granted(b, rocket)))
	g.snapshot(203, last)
	g.want("granted", wire.Pending, b)
	require.Greater(t, g.fire(c), last)
	require.NoError(t, g.structure(refused(c)))
	g.want("refused", wire.Stale, c)
	g.fire(c)
	g.fire(b)
	g.want("unchanged", wire.Pending, b)
}

// A held snapshot rejects no handles until the structure message with the Answer has arrived.
func TestAnswerOvertaken(t *testing.T) {
	g := newProvisionalServer(t)
	a := g.take()
	tick := g.fire(a)
	outcome := must.Get(g.ReceiveDatagram(wire.AppendStateHeader(nil, wire.StateHeader{Seq: 1, Tick: 300, Structure: 1, InputAge: 300 - tick + 1}), 0))
	require.Equal(t, client.Held, outcome)
	g.want("waits", wire.Provisional, a)
	require.NoError(t, g.structure(granted(a, rocket)))
	g.want("granted", wire.Pending, a)
}

func TestProvisionalOverResume(t *testing.T) {
	g := newProvisionalServer(t)
	a, b, c, d, e := g.take(), g.take(), g.take(), g.take(), g.take()
	g.launch(a, b)
	g.launch(c, 0)
	tick := g.fire(d)
	g.Lost(errors.New("the cat"))
	g.want("nothing is known", wire.Provisional, a, b, c, d, e)
	g.Reconnect()
	g.welcome(func(w *wire.Welcome) { w.Resumed, w.Commands, w.Tick = 1, 1, 400 })
	g.want("lost", wire.Stale, c)
	g.want("received", wire.Provisional, a, b, d, e)
	require.NoError(t, g.structure(granted(a, rocket)))
	g.snapshot(400, 0)
	g.want("a snapshot of the old connection", wire.Provisional, b)
	g.snapshot(401, 0)
	g.want("no Answer came", wire.Stale, b)
	g.want("granted", wire.Pending, a)
	g.want("not applied", wire.Provisional, d)

	f, _ := g.launch(e, 0) // the second that the server will receive
	require.NoError(t, g.structure(granted(e, flare)))
	g.answer(f, wire.OK)
	later := g.take()
	g.launch(later, 0)
	g.reconnect(func(w *wire.Welcome) { w.Resumed, w.Commands, w.Tick = 1, 3, 500 })
	g.want("the third was received", wire.Provisional, later)
	g.reconnect(func(w *wire.Welcome) { w.Resumed, w.Commands, w.Tick = 1, 3, 600 })
	g.snapshot(501, 0)
	g.want("older than the newest Welcome", wire.Provisional, later)
	g.snapshot(601, tick)
	g.want("settled", wire.Stale, later, d)
	g.want("granted", wire.Pending, a, e)
}

func TestProvisionalOfNewSession(t *testing.T) {
	g := newProvisionalServer(t)
	a, b, c := g.take(), g.take(), g.take()
	g.launch(a, 0)
	require.NoError(t, g.structure(granted(a, rocket), g.enter(rocket)))
	g.launch(b, 0)
	g.reconnect(func(*wire.Welcome) {})
	g.want("the same run: its entity may live", wire.Pending, a)
	g.want("rejected", wire.Stale, b, c)
	require.NoError(t, g.structure(g.enter(rocket)))
	g.want("entered again", wire.Live, a)
	d := g.take()
	require.Greater(t, d.Index(), c.Index(), "indexes only grow")

	g.reconnect(func(w *wire.Welcome) { w.Epoch = 2 })
	g.want("another world", wire.Stale, a, b, c, d)
	require.NoError(t, g.structure(g.enter(rocket)))
	g.want("another entity has its handle", wire.Stale, a)
	require.Equal(t, wire.Live, g.Resolve(rocket))
	require.Zero(t, g.Real(a))
	e := g.take()
	require.Greater(t, e.Index(), d.Index())
	g.Lost(&wire.Error{Code: wire.EpochMismatch})
	require.Equal(t, wire.Stale, g.Resolve(e))
}

// A wrong Answer ends the session, and nothing of its message is applied.
func TestAnswersThatAreWrong(t *testing.T) {
	for name, records := range map[string]func(g *provisionalServer, a, b, unused bulk.Handle) []wire.Record{
		"never taken": func(_ *provisionalServer, _, _, c bulk.Handle) []wire.Record { return []wire.Record{refused(c + 1)} },
		"not sent":    func(_ *provisionalServer, _, _, c bulk.Handle) []wire.Record { return []wire.Record{refused(c)} },
		"answered":    func(_ *provisionalServer, a, _, _ bulk.Handle) []wire.Record { return []wire.Record{granted(a, flare)} },
		"answered twice": func(_ *provisionalServer, _, b, _ bulk.Handle) []wire.Record {
			return []wire.Record{refused(b), refused(b)}
		},
		"entered": func(g *provisionalServer, _, b, _ bulk.Handle) []wire.Record {
			return []wire.Record{g.enter(flare), granted(b, flare)}
		},
		"out of view": func(g *provisionalServer, _, b, _ bulk.Handle) []wire.Record {
			return []wire.Record{g.enter(flare), leave(flare), granted(b, flare)}
		},
		"beyond the slots": func(_ *provisionalServer, _, b, _ bulk.Handle) []wire.Record {
			return []wire.Record{granted(b, bulk.NewHandle(100, 1))}
		},
	} {
		g := newProvisionalServer(t)
		a, b, c := g.take(), g.take(), g.take()
		g.launch(a, b)
		require.NoError(t, g.structure(granted(a, rocket)))
		err := g.structure(records(g, a, b, c)...)
		require.Equal(t, wire.BadMessage, wire.CodeOf(err), "%s: %v", name, err)
		require.Equal(t, wire.Provisional, g.Resolve(b), name)
		require.Equal(t, wire.Pending, g.Resolve(flare), name)
	}
}

func TestProvisionalMisuse(t *testing.T) {
	g := newProvisionalServer(t)
	a, b, c, d := g.take(), g.take(), g.take(), g.take()
	do := func(want string, first, second bulk.Handle) {
		t.Helper()
		require.ErrorContains(t, must.Fail(g.DoValue(0, volley{first, second})), want)
	}
	do("no handle of this client", d+1, 0)
	do("no handle of this client", bulk.NewHandle(a.Index(), 4), 0)
	do("one right after the other", a, c)
	require.ErrorContains(t, must.Fail(g.DoRaw("wave", 0, nil, a, c)), "one right after the other")
	require.ErrorContains(t, must.Fail(g.DoRaw("wave", 0, nil, rocket)), "take a handle by Provisional")
	require.ErrorContains(t, must.Fail(g.DoValue(a, volley{})), "is provisional")
	g.launch(b, b)
	do("another command or input", b, 0)
	do("older one", a, 0)
	require.ErrorContains(t, must.Fail(g.SetInputValue(trigger{Missile: b}, 0)), "another command or input")
	g.fire(d)
	do("another command or input", d, 0)
	require.ErrorContains(t, must.Fail(g.SetInputValue(trigger{Missile: a}, 0)), "older one")
	require.ErrorContains(t, must.Fail(g.DoRaw("wave", 0, nil, d)), "take a handle by Provisional")
	f := must.Get(g.DoRaw("wave", 0, nil, c))
	sent := takeCommand(g.Session)
	require.Equal(t, []uint32{c.Index(), 1}, []uint32{sent.FirstProvisional, uint32(sent.Provisionals)})
	g.answer(f, wire.CommandRefused)
	g.want("refused", wire.Stale, c)
	g.want("not touched", wire.Provisional, a, b, d)
	g.Lost(errors.New("the cat"))
	require.ErrorIs(t, must.Fail(g.DoValue(0, volley{g.take(), 0})), client.ErrNotJoined)
}

// The number of unanswered handles is bounded, and so are those remembered. A forgotten one
// is Stale and never stands for anything else. Handles that are never used block no others.
func TestProvisionalIsBounded(t *testing.T) {
	g := newProvisionalServer(t)
	first := g.take()
	g.launch(first, 0)
	require.NoError(t, g.structure(granted(first, rocket), g.enter(rocket)))
	idle := g.take()
	for range 4094 {
		tick := g.fire(g.take())
		g.Input(0)
		g.snapshot(tick, tick)
	}
	g.want("remembered", wire.Live, first)
	g.want("not used", wire.Provisional, idle)
	last := g.take()
	g.want("forgotten", wire.Stale, first)
	g.want("not used", wire.Provisional, idle)
	require.Equal(t, wire.Live, g.Resolve(rocket))
	next := g.take()
	g.want("not used for too long", wire.Stale, idle)
	g.want("new", wire.Provisional, last, next)
	require.EqualValues(t, 4097, next.Index())

	f, _ := g.launch(last, next)
	for range 256 - 2 {
		g.fire(g.take())
	}
	require.ErrorIs(t, must.Fail(g.Provisional()), client.ErrTooManyProvisional)
	g.answer(f, wire.OK)
	idle, spare := g.take(), g.take()
	for range 300 { // a game may give up before it uses a handle, for example without a connection
		g.want("not used", wire.Provisional, idle, spare)
		next = g.take()
		g.want("gave way", wire.Stale, idle)
		idle, spare = spare, next
	}
}

// Inputs without provisional handles allocate nothing.
func TestInputsWithReferencesAllocateNothing(t *testing.T) {
	g := newProvisionalServer(t)
	in := trigger{At: rocket}
	now := time.Duration(0)
	push := func() {
		now += 16 * time.Millisecond
		must.Get(g.SetInputValue(&in, now))
		g.Input(now)
	}
	for range 100 {
		push()
	}
	require.Zero(t, testing.AllocsPerRun(100, push))
}

// The server lacks a handle of a command: the command names the handle that the field holds, and
// the Result rejects it.
func TestProvisionalThatTheServerLacks(t *testing.T) {
	type broadside struct {
		First  bulk.Handle    `net:"ref"`
		Spare  [2]bulk.Handle `net:"ref"`
		Second bulk.Handle    `net:"ref"`
	}
	served, declared := schema.New(), schema.New()
	schema.DefineCommand[volley](served, "volley")
	schema.DefineCommand[broadside](declared, "volley")
	g := newProvisionalServerOf(t, served, declared)
	a, b, c, d := g.take(), g.take(), g.take(), g.take()
	f := must.Get(g.DoValue(0, broadside{a, [2]bulk.Handle{b, rocket}, c}))
	sent := takeCommand(g.Session)
	require.Equal(t, []uint32{a.Index(), 3}, []uint32{sent.FirstProvisional, uint32(sent.Provisionals)})
	var args volley
	require.NoError(t, rowschema.NewMessage(served.Commands()[0].Args).ReadValue(sent.Args, &args))
	require.Equal(t, volley{a, c}, args)
	require.ErrorContains(t, must.Fail(g.DoValue(0, broadside{Spare: [2]bulk.Handle{b}})), "another command or input")
	require.NoError(t, g.structure(granted(a, rocket)))
	g.want("no Result", wire.Provisional, b, c)
	g.answer(f, wire.OK)
	g.want("granted", wire.Pending, a)
	g.want("its Result came", wire.Stale, b, c)

	f = must.Get(g.DoValue(0, &broadside{Spare: [2]bulk.Handle{b, d}}))
	g.want("the only one", wire.Provisional, d)
	g.answer(f, wire.CommandRefused)
	g.want("its Result came", wire.Stale, d)
}

// The server lacks a handle of the input: the handle ends with the last input that holds it.
func TestProvisionalInputThatTheServerLacks(t *testing.T) {
	served, declared := schema.New(), schema.New()
	schema.DefineInput[struct {
		At bulk.Handle `net:"ref"`
	}](served)
	schema.DefineInput[trigger](declared)
	g := newProvisionalServerOf(t, served, declared)
	a, b := g.take(), g.take()
	first := must.Get(g.SetInputValue(trigger{Missile: b, At: a}, 0))
	g.Input(0)
	last := must.Get(g.SetInputValue(&trigger{Missile: b}, 0))
	g.snapshot(200, first)
	g.want("a later input repeats it", wire.Provisional, b)
	g.want("not bound", wire.Stale, a)
	g.snapshot(201, last)
	g.want("the last input with it is applied", wire.Stale, b)
}

// A server without an input receives none: its provisional handles end at once.
func TestProvisionalInputOfServerWithout(t *testing.T) {
	declared := schema.New()
	schema.DefineInput[trigger](declared)
	g := newProvisionalServerOf(t, schema.New(), declared)
	a, b := g.take(), g.take()
	require.Zero(t, must.Get(g.SetInputValue(trigger{Missile: a, At: rocket}, 0)))
	g.want("not sent", wire.Stale, a)
	g.want("not named", wire.Provisional, b)
	require.ErrorContains(t, must.Fail(g.SetInputValue(trigger{Missile: b + 1}, 0)), "no handle of this client")
	require.ErrorContains(t, must.Fail(g.SetInputValue(volley{}, 0)), "want a client_test.trigger")
}
