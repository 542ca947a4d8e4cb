package session_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/internal/rowschema"
	"github.com/worldd/worldd/replication/schema"
	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/server/session"
	"github.com/worldd/worldd/world"
)

type (
	toss struct {
		Speed float32     `net:"range=0..20,step=0.1"`
		At    bulk.Handle `net:"ref"`
		Shout string      `net:"max=8"`
	}
	find struct {
		Which uint8
	}
	found struct {
		Entity bulk.Handle `net:"ref"`
		Name   string      `net:"max=8"`
	}
	stick struct {
		X    int8
		Fire bool
		Note string `net:"-"`
	}
)

// typedServer is a test server with typed commands and inputs.
type typedServer struct {
	*testServer
	tossed []toss
	steps  []string
	find   func(which uint8) (found, error)
	seen   string // result of View in the last called function
}

// definitions has the items of typedSchema.
type definitions struct {
	toss  schema.DefinedCommand[toss]
	find  schema.DefinedQuery[find, found]
	stick schema.DefinedInput[stick]
}

func typedSchema(t testing.TB) (*schema.Schema, definitions) {
	s := schema.NewWithBody()
	d := definitions{schema.DefineCommand[toss](s, "toss"), schema.DefineQuery[find, found](s, "find"), schema.DefineInput[stick](s)}
	require.NoError(t, s.Err())
	return s, d
}

func newTypedServer(t testing.TB) *typedServer {
	return newTypedServerIn(t, world.Config{Seed: 1, HistoryTicks: 30})
}

func newTypedServerIn(t testing.TB, own world.Config) *typedServer {
	d := &typedServer{}
	d.testServer = newTestServerIn(t, own, func(c *session.Config) {
		var defined definitions
		c.Schema, defined = typedSchema(t)
		c.Hooks.Commands = append(c.Hooks.Commands,
			session.OnCommand(defined.toss, func(s *session.Session, _ world.Entity, args toss) error {
				d.note(s)
				d.tossed = append(d.tossed, args)
				return nil
			}),
			session.OnQuery(defined.find, func(s *session.Session, _ world.Entity, args find) (found, error) {
				return d.find(args.Which)
			}))
		c.Hooks.Input = session.OnInput(defined.stick, func(s *session.Session, tick uint64, in stick) {
			d.note(s)
			d.steps = append(d.steps, fmt.Sprint(tick, in))
		})
	})
	return d
}

func (d *typedServer) note(s *session.Session) {
	at, ok := s.View()
	d.seen = fmt.Sprint(at.Tick, at.Fraction, ok)
}

func (d *typedServer) join() *testClient {
	c := d.dial()
	c.want("joins", wire.TypeWelcome)
	c.want("controls its entity", wire.TypeControl)
	return c
}

// encode returns the body of a command's arguments or of an input.
func (d *typedServer) encode(v any) []byte {
	s := d.core.Config().Schema
	m := s.Input()
	switch v.(type) {
	case toss:
		i, _ := s.CommandByName("toss")
		m = s.Commands()[i].Args
	case find:
		i, _ := s.CommandByName("find")
		m = s.Commands()[i].Args
	}
	return must.Get(rowschema.NewMessage(m).AppendValue(nil, v))
}

func TestTypedCommands(t *testing.T) {
	d := newTypedServer(t)
	c := d.join()
	// Handles in arguments reach the game as they are.
	want := toss{Speed: 20, At: bulk.NewHandle(3, 5), Shout: "hey"}
	c.send(wire.Command{ID: 1, Name: "toss", Args: d.encode(want)})
	require.Equal(t, wire.Result{ID: 1, Verdict: wire.Live, Answer: []byte{}}, c.result())
	require.Equal(t, []toss{want}, d.tossed)

	good := d.encode(want)
	for name, args := range map[string][]byte{
		"none": nil, "cut off": good[:len(good)-1], "one more": append(good[:len(good):len(good)], 0), "msgpack": {0x90},
		"text too long": append(d.encode(toss{})[:2:2], "\x09too long!"...), "no UTF-8": append(d.encode(toss{})[:2:2], 1, 0xff),
	} {
		c.send(wire.Command{ID: 2, Name: "toss", Args: args})
		require.Equal(t, wire.Result{ID: 2, Code: wire.BadArguments, Verdict: wire.Live, Answer: []byte{}}, c.result(), name)
	}
	require.Len(t, d.tossed, 1, "the game saw malformed arguments")
	require.EqualValues(t, 6, d.core.Stats().Rejections[wire.BadArguments])
}

func TestAnswers(t *testing.T) {
	d := newTypedServer(t)
	c := d.join()
	ask := func(answer found, err error) (found, wire.Result) {
		d.find = func(which uint8) (found, error) {
			require.EqualValues(t, 200, which)
			return answer, err
		}
		c.send(wire.Command{ID: 7, Name: "find", Args: d.encode(find{200})})
		r := c.result()
		var got found
		if r.Code == wire.OK {
			i, _ := d.core.Config().Schema.CommandByName("find")
			require.NoError(t, rowschema.NewMessage(d.core.Config().Schema.Commands()[i].Answer).ReadValue(r.Answer, &got))
		}
		return got, r
	}
	s := c.peer.Session()
	far := d.spawn(500)
	require.Equal(t, wire.Pending, s.Resolve(far))
	got, _ := ask(found{far, "crate"}, nil)
	require.Equal(t, found{far, "crate"}, got)
	require.Equal(t, wire.Hidden, s.Resolve(far), "H3: the client now has the handle")
	d.world.Destroy(far)
	d.tick()
	d.tick()
	require.Equal(t, wire.Stale, s.Resolve(far))

	unissued := bulk.NewHandle(far.Index(), far.Generation()+8)
	got, _ = ask(found{unissued, "nobody"}, nil)
	require.Equal(t, found{0, "nobody"}, got, "H3: the client would not learn of the death of its later tenant")
	got, _ = ask(found{bulk.NewHandle(1, 2), "too long a name"}, nil)
	require.Equal(t, found{0, "too long"}, got)

	_, r := ask(found{s.Entity(), "secret"}, &session.Rejection{Text: "no"})
	require.Equal(t, wire.Result{ID: 7, Code: wire.CommandRefused, Verdict: wire.Live, Text: "no", Answer: []byte{}}, r)
	d.find = func(uint8) (found, error) { s.Kick("gone"); return found{s.Entity(), "x"}, nil }
	c.send(wire.Command{ID: 8, Name: "find", Args: d.encode(find{})})
	require.Equal(t, wire.OK, c.result().Code, "what it did counts, although it ended its session")
}

// A query may end all sessions: its answer is then dropped.
func TestAnswerOfEndedSession(t *testing.T) {
	d := newTypedServer(t)
	c := d.join()
	d.find = func(uint8) (found, error) {
		d.core.Drain()
		return found{Entity: d.spawn(1)}, nil
	}
	c.send(wire.Command{ID: 1, Name: "find", Args: d.encode(find{})})
	c.want("the end", wire.TypeGoodbye)
	require.Equal(t, []wire.Code{wire.Draining}, c.Closed)
}

func TestTypedInputs(t *testing.T) {
	d := newTypedServer(t)
	c, other := d.join(), d.join()
	send := func(data []byte) uint32 {
		tick := uint32(d.world.Tick()) + 1
		c.queueInput(wire.Ack{}, wire.TickInput{Tick: tick, Data: data})
		d.core.Tick()
		return tick
	}
	first := send(d.encode(stick{X: -5, Fire: true, Note: "not sent"}))
	second := send(d.encode(stick{X: 3}))
	require.Equal(t, []string{fmt.Sprint(first, stick{X: -5, Fire: true}), fmt.Sprint(second, stick{X: 3})}, d.steps)
	require.Empty(t, c.Closed)
	send([]byte{1}) // cut off
	require.Equal(t, []wire.Code{wire.BadMessage}, c.Closed)
	require.Len(t, d.steps, 2)
	require.Empty(t, other.Closed)
}

// View is bounded by the newest acknowledged snapshot and by its age.
func TestViewIsChecked(t *testing.T) {
	d := newTypedServer(t)
	c := d.join()
	for d.world.Tick() < 100 {
		d.core.Tick()
	}
	command := func(view uint64) string {
		d.seen = ""
		c.send(wire.Command{ID: 1, Name: "toss", Args: d.encode(toss{}), View: view})
		return d.seen
	}
	input := func(in wire.TickInput) string {
		d.seen = ""
		in.Data = d.encode(stick{})
		m := wire.Input{Stamp: 1, Inputs: []wire.TickInput{in}}
		must.Get(c.peer.ReceiveDatagram(m.Append(nil)))
		d.core.Tick()
		return d.seen
	}
	require.Equal(t, fmt.Sprint(d.world.Tick(), " ", 0, false), command(100*256), "nothing is acknowledged")

	for shots := c.Datagrams; c.Datagrams == shots; {
		d.core.Tick()
	}
	acked := d.world.Tick()
	ack := wire.Input{Stamp: 1, Ack: wire.Ack{Seen: true, Newest: uint32(c.Datagrams)}}
	must.Get(c.peer.ReceiveDatagram(ack.Append(nil)))
	d.core.Tick()
	require.Equal(t, fmt.Sprint(d.world.Tick(), " ", 0, false), command(0), "none is claimed")
	require.Equal(t, fmt.Sprint(acked-1, " ", 0.5, true), command((acked-1)*256+128))
	require.Equal(t, fmt.Sprint(acked, " ", 0, true), command(acked*256))
	require.Equal(t, fmt.Sprint(acked, " ", 0, true), command(acked*256+1), "not newer than acknowledged")
	require.Equal(t, fmt.Sprint(acked, " ", 0, true), command(1<<40-1))
	require.Equal(t, fmt.Sprint(d.world.Tick()-15, " ", 0, true), command(1), "at most 250 ms old")

	next := uint32(d.world.Tick()) + 1
	require.Equal(t, fmt.Sprint(d.world.Tick(), " ", 0, false), input(wire.TickInput{Tick: next}))
	next++
	require.Equal(t, fmt.Sprint(acked-2, " ", 0.25, true), input(wire.TickInput{Tick: next, Back: next - uint32(acked) + 2, Fraction: 64}))
	next++
	require.Equal(t, fmt.Sprint(acked, " ", 0, true), input(wire.TickInput{Tick: next, Back: 1, Fraction: 255}))
	early := next + 4
	m := wire.Input{Stamp: 1, Inputs: []wire.TickInput{{Tick: early, Back: early - uint32(acked) + 1, Fraction: 128, Data: d.encode(stick{})}}}
	must.Get(c.peer.ReceiveDatagram(m.Append(nil)))
	for d.seen = ""; d.seen == ""; {
		d.core.Tick()
	}
	require.EqualValues(t, early, d.world.Tick())
	require.Equal(t, fmt.Sprint(acked-1, " ", 0.5, true), d.seen, "of an input that waited for its tick")

	for d.world.Tick() < acked+40 {
		d.core.Tick()
	}
	require.Equal(t, fmt.Sprint(d.world.Tick()-15, " ", 0, true), command(acked*256), "the bound on its age prevails")
	at, ok := c.peer.Session().View()
	require.Equal(t, world.Moment{Tick: d.world.Tick()}, at, "outside of a function")
	require.False(t, ok)
	views := d.core.Stats().Views
	require.EqualValues(t, 4, views[session.ViewDrawn])
	require.EqualValues(t, 3, views[session.ViewUnseen])
	require.EqualValues(t, 2, views[session.ViewCapped])
}

// A world with less history than MaxViewAge bounds the view. A world without history
// returns the present, so that a query always searches a known moment.
func TestViewAndHistory(t *testing.T) {
	for history, age := range map[int]uint64{0: 0, 4: 4, 15: 15, 30: 15} {
		d := newTypedServerIn(t, world.Config{Seed: 1, HistoryTicks: history})
		c := d.join()
		for d.world.Tick() < 100 {
			d.core.Tick()
		}
		ack := wire.Input{Stamp: 1, Ack: wire.Ack{Seen: true, Newest: uint32(c.Datagrams)}}
		must.Get(c.peer.ReceiveDatagram(ack.Append(nil)))
		d.core.Tick()
		want := fmt.Sprint(d.world.Tick()-age, " ", 0, true)
		c.send(wire.Command{ID: 1, Name: "toss", Args: d.encode(toss{}), View: 1})
		require.Equal(t, want, d.seen, "%d ticks of history", history)
	}
}

// A Command's provisional handles ascend over the session; a Result without an Answer
// rejects them. A provisional target is Stale.
func TestProvisionals(t *testing.T) {
	d := newTestServer(t)
	c, w := d.enter()
	c.want("controls its entity", wire.TypeControl)
	ask := func(first uint32, provisionals uint8, name string) wire.Code {
		c.send(wire.Command{ID: 1, Name: name, FirstProvisional: first, Provisionals: provisionals})
		return c.result().Code
	}
	require.Equal(t, wire.OK, ask(0, 1, "poke"))
	require.Equal(t, wire.BadArguments, ask(0, 1, "poke"), "named before")
	require.Equal(t, wire.OK, ask(1, 3, "poke"))
	require.Equal(t, wire.BadArguments, ask(3, 2, "poke"), "the first of them was named before")
	require.Equal(t, wire.OK, ask(0, 0, "poke"), "none")
	require.Equal(t, wire.UnknownCommand, ask(10, 16, "nothing"))
	require.Equal(t, wire.BadArguments, ask(25, 1, "poke"), "named by a rejected command")
	require.Len(t, d.poked, 3)

	c.lose()
	c, _ = d.resume(w)
	c.want("controls its entity", wire.TypeControl)
	require.Equal(t, wire.BadArguments, ask(25, 1, "poke"), "named before the session resumed")
	require.Equal(t, wire.OK, ask(26, 1, "poke"))

	c.send(wire.Command{ID: 2, Name: "poke", Target: bulk.NewHandle(c.peer.Session().Entity().Index(), 2)})
	c.wantResult("a provisional target", 2, wire.StaleHandle, wire.Stale)
	require.Len(t, d.poked, 4)
}

// commandOf returns a command that does nothing.
func commandOf[Args any](name string) session.Command {
	return session.OnCommand(schema.DefineCommand[Args](schema.New(), name), func(*session.Session, world.Entity, Args) error { return nil })
}

func queryOf[Args, Answer any](name string) session.Command {
	return session.OnQuery(schema.DefineQuery[Args, Answer](schema.New(), name), func(*session.Session, world.Entity, Args) (a Answer, _ error) { return a, nil })
}

func rawCommandOf(name string) session.Command {
	return session.OnRawCommand(name, func(*session.Session, world.Entity, []byte) error { return nil })
}

func TestGameFitsItsSchema(t *testing.T) {
	type other struct{ A uint8 }
	_, defined := typedSchema(t)
	onStick := session.OnInput(defined.stick, func(*session.Session, uint64, stick) {})
	const poke, onToss, onFind = 0, 1, 2 // in Commands
	for name, c := range map[string]struct {
		change func(*session.Hooks)
		want   string
	}{
		"fits":               {func(*session.Hooks) {}, ""},
		"undeclared raw one": {func(g *session.Hooks) { g.Commands = append(g.Commands, rawCommandOf("wave")) }, ""},
		"undeclared":         {func(g *session.Hooks) { g.Commands = append(g.Commands, commandOf[toss]("wave")) }, `command "wave" takes session_test.toss, and the schema does not declare it`},
		"twice":              {func(g *session.Hooks) { g.Commands = append(g.Commands, g.Commands[onToss]) }, `command "toss" has two functions`},
		"no function":        {func(g *session.Hooks) { g.Commands = g.Commands[:onFind] }, `declares command "find", and Hooks.Commands has no function`},
		"nil function": {func(g *session.Hooks) {
			g.Commands[onToss] = session.OnCommand(defined.toss, nil)
			g.Commands[onFind] = session.OnQuery(defined.find, nil)
			g.Commands = append(g.Commands, session.OnRawCommand("wave", nil))
		}, `function of command "toss" is nil`},
		"raw":             {func(g *session.Hooks) { g.Commands[onToss] = rawCommandOf("toss") }, `"toss" with arguments session_test.toss and no answer, and its function has raw arguments`},
		"typed":           {func(g *session.Hooks) { g.Commands[poke] = commandOf[toss]("poke") }, `"poke" with raw arguments, and its function has arguments session_test.toss`},
		"an answer":       {func(g *session.Hooks) { g.Commands[onToss] = queryOf[find, found]("toss") }, `its function has arguments session_test.find and answer session_test.found`},
		"other arguments": {func(g *session.Hooks) { g.Commands[onToss] = commandOf[other]("toss") }, "its function has arguments session_test.other"},
		"other answer":    {func(g *session.Hooks) { g.Commands[onFind] = queryOf[find, other]("find") }, "its function has arguments session_test.find and answer session_test.other"},
		"no input":        {func(g *session.Hooks) { g.Input = session.Input{} }, "Hooks.Input has no function"},
		"nil input":       {func(g *session.Hooks) { g.Input = session.OnInput(defined.stick, nil) }, "Hooks.Input has no function"},
		"raw input":       {func(g *session.Hooks) { g.Input = session.OnRawInput(func(*session.Session, uint64, []byte) {}) }, "takes raw ones"},
		"other input": {func(g *session.Hooks) {
			g.Input = session.OnInput(schema.DefineInput[other](schema.New()), func(*session.Session, uint64, other) {})
		}, "takes session_test.other"},
	} {
		s, _ := typedSchema(t)
		require.NoError(t, s.AddRawCommand("poke"))
		w := must.Get(world.New(world.Config{}))
		g := session.Hooks{Input: onStick, Commands: []session.Command{rawCommandOf("poke"), commandOf[toss]("toss"), queryOf[find, found]("find")}}
		c.change(&g)
		err := session.Config{WorldConfig: session.WorldConfig{World: w, Schema: s, Hooks: g}}.Validate()
		if c.want == "" {
			require.NoError(t, err, name)
		} else {
			require.ErrorContains(t, err, c.want, name)
		}
	}
	w := must.Get(world.New(world.Config{}))
	err := session.Config{WorldConfig: session.WorldConfig{World: w, Schema: schema.NewWithBody(), Hooks: session.Hooks{Input: onStick}}}.Validate()
	require.ErrorContains(t, err, "declares no input")

	s, _ := typedSchema(t)
	parsed := must.Get(schema.Parse(s.Text()))
	err = session.Config{WorldConfig: session.WorldConfig{World: w, Schema: parsed, Hooks: session.Hooks{Input: onStick, Commands: []session.Command{commandOf[toss]("toss"), queryOf[find, found]("find")}}}}.Validate()
	require.ErrorContains(t, err, `command "toss" without Go types`)
	require.ErrorContains(t, err, "type <nil>")
}
