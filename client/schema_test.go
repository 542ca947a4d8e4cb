package client_test

import (
	"encoding/binary"
	"fmt"
	"strings"
	"testing"

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
	armour struct {
		Plates uint8
		Worn   bool
	}
	oldArmour struct {
		Plates uint16
		Worn   bool
	}
	hit struct {
		Damage uint16 `net:"bits=10"`
	}
	stick struct{ X, Y int8 }
)

// declare returns a schema made by adding in order.
func declare(t testing.TB, add ...func(*schema.Schema) error) *schema.Schema {
	s := schema.New()
	for _, f := range add {
		require.NoError(t, f(s))
	}
	return s
}

func component[T any](name string) func(*schema.Schema) error {
	return func(s *schema.Schema) error { schema.Define[T](s, name); return s.Err() }
}

func kind(name string) func(*schema.Schema) error {
	return func(s *schema.Schema) error { return s.AddKind(schema.EntityKind{Name: name}) }
}

func addHit(s *schema.Schema) error      { schema.DefineEvent[hit](s, "hit"); return s.Err() }
func addEat(s *schema.Schema) error      { return s.AddRawCommand("eat") }
func addSwing(s *schema.Schema) error    { schema.DefineCommand[hit](s, "swing"); return s.Err() }
func setStick(s *schema.Schema) error    { schema.DefineInput[stick](s); return s.Err() }
func setOldStick(s *schema.Schema) error { schema.DefineInput[struct{ X int8 }](s); return s.Err() }

// servedSchema returns the schema that the server of this file declares.
func servedSchema(t testing.TB) *schema.Schema {
	return declare(t, component[armour]("armour"), component[health]("health"), component[friend]("friend"),
		kind("crate"), kind("knight"), setStick, addEat, addSwing, addHit)
}

// handServer plays the server to a session, by hand.
type handServer struct {
	t       testing.TB
	schema  *schema.Schema
	session *client.Session
	welcome wire.Welcome
}

func newHandServer(t testing.TB, served, declared *schema.Schema) *handServer {
	session := must.Get(client.NewSession(client.SessionConfig{Schema: declared}))
	welcome := stage.Welcome(served)
	welcome.Epoch, welcome.Session, welcome.SchemaText = 7, 5, ""
	return &handServer{t: t, schema: served, session: session, welcome: welcome}
}

// hello reads the Hello that the session sent.
func (s *handServer) hello() wire.Hello {
	return must.Get(wire.Parse[wire.Hello](stage.FirstMessage(s.session.TakeStream(), wire.TypeHello)))
}

// answer reads the Hello and sends the Welcome that the Hello asks for, as change modifies it.
func (s *handServer) answer(change func(*wire.Welcome)) error {
	w := s.welcome
	w.Schema, w.Structure = s.schema.Hash(), structureOf(s.session, w.Resumed)
	if s.hello().Schema == 0 {
		w.SchemaText = s.schema.Text()
	}
	change(&w)
	return s.session.ReceiveStream(wire.AppendMessage(nil, w))
}

func asIs(*wire.Welcome) {}

func (s *handServer) lose() {
	s.session.Lost(&wire.Error{Code: wire.Timeout})
	s.session.Reconnect()
}

// enter sends an Enter with all components of the server's schema as record number.
func (s *handServer) enter(number uint32, h bulk.Handle, values ...uint32) {
	r := stage.Enter(s.schema, h, rowschema.Row{Mask: 1<<len(s.schema.Components()) - 1, Values: values})
	r.Kind = 1
	s.send(number, r)
}

// send sends a message of tick 1, whose records begin with number.
func (s *handServer) send(number uint32, records ...wire.Record) {
	s.t.Helper()
	require.NoError(s.t, s.session.ReceiveStream(wire.AppendFrame(nil, wire.TypeStructure, stage.Structure(number, 1, records...))))
}

// A client works with any server. Client.SchemaChanges lists what differs from its declarations.
// It leaves only if a field has values of another type, and with StrictSchema for any change.
func TestOlderAndNewerClients(t *testing.T) {
	type truth struct {
		Plates bool
		Worn   uint8
	}
	for name, c := range map[string]struct {
		add     []func(*schema.Schema) error
		changes []string
		misfits []schema.Misfit
	}{
		"the same":            {add: []func(*schema.Schema) error{component[armour]("armour"), component[health]("health"), component[friend]("friend"), setStick, addEat, addSwing, addHit}},
		"fewer":               {add: []func(*schema.Schema) error{component[health]("health")}},
		"in another order":    {add: []func(*schema.Schema) error{component[friend]("friend"), component[health]("health"), component[armour]("armour"), addHit, addSwing}},
		"nothing":             {},
		"a component more":    {add: []func(*schema.Schema) error{component[health]("health"), component[hit]("mana")}, changes: []string{`component "mana": the server lacks it`}},
		"a command more":      {add: []func(*schema.Schema) error{component[health]("health"), func(s *schema.Schema) error { return s.AddRawCommand("fly") }}, changes: []string{`command "fly": the server lacks it`}},
		"a changed field":     {add: []func(*schema.Schema) error{component[health]("health"), component[oldArmour]("armour")}, changes: []string{`component "armour": field changed: server "Plates uint 8", client "Plates uint 16"`}},
		"a changed input":     {add: []func(*schema.Schema) error{component[health]("health"), setOldStick}, changes: []string{"input: field dropped Y"}},
		"an event unreliable": {add: []func(*schema.Schema) error{func(s *schema.Schema) error { schema.DefineUnreliableEvent[hit](s, "hit"); return s.Err() }}, changes: []string{`event "hit": the server sends it reliably`}},
		"a command untyped":   {add: []func(*schema.Schema) error{func(s *schema.Schema) error { return s.AddRawCommand("swing") }}, misfits: []schema.Misfit{{Item: `command "swing"`, Declared: "command swing raw", Received: "command swing"}}},
		"another type": {add: []func(*schema.Schema) error{component[truth]("armour")}, misfits: []schema.Misfit{
			{Item: `component "armour"`, Declared: "Plates bool", Received: "Plates uint 8"},
			{Item: `component "armour"`, Declared: "Worn uint 8", Received: "Worn bool"},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			declared := declare(t, c.add...)
			before := declared.Text()
			s := newHandServer(t, servedSchema(t), declared)
			require.Empty(t, s.session.SchemaChanges())
			err := s.answer(asIs)
			require.Equal(t, before, declared.Text())
			strict := newHandServer(t, servedSchema(t), nil)
			strict.session = must.Get(client.NewSession(client.SessionConfig{Schema: declared, StrictSchema: true}))
			refused := strict.answer(asIs)
			if c.misfits != nil {
				require.Equal(t, wire.SchemaMismatch, wire.CodeOf(err), "%v", err)
				got := &schema.BindError{}
				require.ErrorAs(t, err, &got)
				require.Equal(t, c.misfits, got.Misfits)
				require.Nil(t, s.session.Replica())
				require.ErrorAs(t, refused, &got)
				return
			}
			require.NoError(t, err)
			require.Equal(t, c.changes, s.session.SchemaChanges())
			if c.changes == nil {
				require.NoError(t, refused)
			} else {
				require.Equal(t, wire.SchemaMismatch, wire.CodeOf(refused), "%v", refused)
				got := &schema.BindError{}
				require.ErrorAs(t, refused, &got)
				require.Equal(t, c.changes, got.Changes)
				require.ErrorContains(t, refused, c.changes[0])
			}
			s.enter(1, h(3, 1), 9, 1, 500, 0, 0)
			e := s.session.Replica().Entity(h(3, 1))
			require.Equal(t, "armour{Plates=9 Worn=true} health{Points=500} friend{Is=none}", e.Format())
			require.Equal(t, "knight", e.KindName())
			require.Equal(t, s.schema.Text(), s.session.Replica().Schema().Text())
			for name, read := range map[string]func() (any, bool){
				"armour": reader[armour](t, declared, "armour", e), "health": reader[health](t, declared, "health", e),
			} {
				_, has := declared.ByName(name)
				got, ok := read()
				if own, err := client.ComponentOf[oldArmour](declared, "armour"); err == nil && name == "armour" {
					got, ok = own.Get(e)
					require.Equal(t, oldArmour{9, true}, got)
				} else if want := map[string]any{"armour": armour{9, true}, "health": health{500}}[name]; has {
					require.Equal(t, want, got)
				}
				require.Equal(t, has, ok, name)
			}
			mana, err := client.ComponentOf[hit](declared, "mana")
			if err == nil {
				_, ok := mana.Get(e)
				require.False(t, ok, "no entity has it")
			}
		})
	}
}

// reader returns a function that reads e's component as declared, both newest and at a
// moment.
func reader[T any](t testing.TB, declared *schema.Schema, name string, e *client.Entity) func() (any, bool) {
	c, err := client.ComponentOf[T](declared, name)
	if err != nil {
		return func() (any, bool) { return nil, false }
	}
	return func() (any, bool) {
		newest, ok := c.Get(e)
		at, found := c.At(e, client.Moment{Tick: 1})
		require.Equal(t, newest, at)
		require.Equal(t, ok, found)
		return newest, ok
	}
}

// An entity of a server without text fields has no memory for texts: tests with checks of pointers see
// reads behind it.
func TestTextsThatTheServerLacks(t *testing.T) {
	type badgeV1 struct{ Level uint8 }
	type badge struct {
		Level uint8
		Name  string `net:"max=8"`
	}
	served, declared := schema.New(), schema.New()
	schema.Define[badgeV1](served, "badge")
	badges := schema.Define[badge](declared, "badge").WithDefault(badge{Name: "none"})
	s := newHandServer(t, served, declared)
	require.NoError(t, s.answer(asIs))
	s.enter(1, h(3, 1), 9)
	e := s.session.Replica().Entity(h(3, 1))
	got := must.Have(client.Of(badges).Get(e))
	require.Equal(t, badge{9, "none"}, got)
	got = must.Have(client.Of(badges).At(e, client.Moment{Tick: 1}))
	require.Equal(t, badge{9, "none"}, got)
	require.Equal(t, "badge{Level=9}", e.Format())
}

// A component of a schema other than the session's is found by name and type.
func TestComponentOfAnotherSchema(t *testing.T) {
	s := newHandServer(t, servedSchema(t), declare(t, component[health]("health")))
	require.NoError(t, s.answer(asIs))
	s.enter(1, h(3, 1), 9, 1, 500, 0, 0)
	e := s.session.Replica().Entity(h(3, 1))
	other := declare(t, component[friend]("friend"), component[health]("health"), component[hit]("armour"))
	got := must.Have(reader[health](t, other, "health", e)())
	require.Equal(t, health{500}, got)
	for _, unbound := range []func() (any, bool){reader[friend](t, other, "friend", e), reader[hit](t, other, "armour", e)} {
		_, ok := unbound()
		require.False(t, ok, "the session did not declare it")
	}
}

// A client reads the body even without declarations, unless the server's body has no position.
// Is compares kinds, of which the server may lack some.
func TestBodyAndKinds(t *testing.T) {
	s := newHandServer(t, declare(t, component[schema.Body](schema.BodyComponent), kind("crate"), kind("lift")), nil)
	require.NoError(t, s.answer(asIs))
	s.enter(1, h(3, 1), 262144+256, 0, 0, 4096, 4096, 4096)
	e := s.session.Replica().Entity(h(3, 1))
	body := must.Have(client.Body.Get(e))
	require.Equal(t, float32(1), body.Position[0])
	defined := schema.New()
	crate, lift := schema.DefineKind(defined, "crate"), schema.DefineKind(defined, "lift")
	require.False(t, e.Is(crate))
	require.True(t, e.Is(lift))
	require.False(t, (*client.Entity)(nil).Is(lift))
	must.Lack(client.Body.Get(nil))

	type still struct {
		Position [3]float32 `net:"range=-1024..1024,step=1/256"`
	}
	s = newHandServer(t, declare(t, component[still](schema.BodyComponent), kind("crate")), nil)
	require.NoError(t, s.answer(asIs))
	s.enter(1, h(3, 1), 262144+256, 0, 0)
	body, ok := client.Body.Get(s.session.Replica().Entity(h(3, 1)))
	require.True(t, ok, "what the server lacks is zero")
	require.Equal(t, schema.Body{Position: [3]float32{1, -1024, -1024}}, body)

	s = newHandServer(t, declare(t, component[health](schema.BodyComponent), kind("crate")), defined)
	require.NoError(t, s.answer(asIs))
	require.Equal(t, []string{`kind "lift": the server lacks it`}, s.session.SchemaChanges())
	s.enter(1, h(3, 1), 500)
	require.False(t, s.session.Replica().Entity(h(3, 1)).Is(lift))
	s = newHandServer(t, declare(t, component[health](schema.BodyComponent), kind("crate"), kind("lift")), defined)
	require.NoError(t, s.answer(asIs))
	s.enter(1, h(3, 1), 500)
	_, ok = client.Body.Get(s.session.Replica().Entity(h(3, 1)))
	require.False(t, ok, "it has other fields")
}

// Of reads components that Define has added. A faulty definition reads nothing, and Dial
// reports it.
func TestOf(t *testing.T) {
	own := schema.New()
	healths := schema.Define[health](own, "health")
	s := newHandServer(t, servedSchema(t), own)
	require.NoError(t, s.answer(asIs))
	s.enter(1, h(3, 1), 9, 1, 500, 0, 0)
	e := s.session.Replica().Entity(h(3, 1))
	got := must.Have(client.Of(healths).Get(e))
	require.Equal(t, health{500}, got)
	require.Zero(t, testing.AllocsPerRun(100, func() { _, _ = client.Of(healths).Get(e); _, _ = client.Body.Get(e) }))

	wrong := schema.Define[func()](own, "wrong")
	must.Lack(client.Of(wrong).Get(e))
	require.ErrorContains(t, must.Fail(client.NewSession(client.SessionConfig{Schema: own})), `component "wrong"`)
}

// A kind that the game added after the server's start has no name.
func TestKindWithoutName(t *testing.T) {
	s := newHandServer(t, declare(t, kind("crate")), nil)
	require.NoError(t, s.answer(asIs))
	s.enter(1, h(3, 1))
	require.Equal(t, "kind 1", s.session.Replica().Entity(h(3, 1)).KindName())
}

// A text is one byte longer than the limit. This package's Welcome does not write it.
func TestSchemaTextTooLong(t *testing.T) {
	s := newHandServer(t, servedSchema(t), nil)
	w := s.welcome
	w.SchemaText = strings.Repeat("x", wire.MaxSchemaText)
	body := append(w.Append(nil), 'x')
	binary.BigEndian.PutUint16(body[len(body)-wire.MaxSchemaText-3:], wire.MaxSchemaText+1)
	err := s.session.ReceiveStream(wire.AppendFrame(nil, wire.TypeWelcome, body))
	require.Equal(t, wire.BadMessage, wire.CodeOf(err), "%v", err)
	require.ErrorContains(t, err, "schema text is 49153, at most 49152")
	require.Nil(t, s.session.Replica())
}

// A server's text is refused whole if it violates PROTOCOL.md, was not requested, or has
// another hash than the Welcome says.
func TestHostileSchemaTexts(t *testing.T) {
	text := func(text string) func(*wire.Welcome) {
		return func(w *wire.Welcome) { w.SchemaText, w.Schema = text, hashOf(text) }
	}
	many := strings.Builder{}
	for i := range wire.MaxComponents + 1 {
		fmt.Fprintf(&many, "component c%d\n", i)
	}
	wide := strings.Builder{}
	for i := range wire.MaxFieldsPerComponent + 1 {
		fmt.Fprintf(&wide, "F%d bool\n", i)
	}
	const begin = "worldd schema 2\n"
	for name, c := range map[string]struct {
		change func(*wire.Welcome)
		want   string
	}{
		"none although asked": {func(w *wire.Welcome) { w.SchemaText = "" }, "with a text of 0 bytes"},
		"another hash":        {func(w *wire.Welcome) { w.Schema++ }, "has hash"},
		"hash 0":              {func(w *wire.Welcome) { w.Schema = 0 }, "has hash"},
		"no schema":           {text("hello\n"), "another version"},
		"version 1":           {text("worldd schema 1\ninput raw\n"), "another version"},
		"cut off":             {text(begin + "input ra"), "cut off"},
		"not canonical":       {text(begin + "kind  a\ninput raw\n"), "kind"},
		"too many components": {text(begin + many.String() + "input raw\n"), "32"},
		"too many fields":     {text(begin + "component c\n" + wide.String() + "input raw\n"), "64"},
		"a bad name":          {text(begin + "kind a\x1b[2J\ninput raw\n"), "printable"},
		"a name twice":        {text(begin + "kind a\nkind a\ninput raw\n"), "twice"},
		"rows too long":       {text(longRows(t).Text()), "rows could take"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newHandServer(t, servedSchema(t), nil)
			err := s.answer(c.change)
			require.Equal(t, wire.BadMessage, wire.CodeOf(err), "%v", err)
			require.ErrorContains(t, err, c.want)
			require.Nil(t, s.session.Replica())
			require.False(t, s.session.Joined())
		})
	}
}

// hashOf is FNV-1a.
func hashOf(text string) uint64 {
	h := uint64(0xcbf29ce484222325)
	for _, c := range []byte(text) {
		h = (h ^ uint64(c)) * 0x100000001b3
	}
	return h
}

// Only the first Hello asks for the text. A session that resumes keeps its schema.
func TestResumeKeepsTheSchema(t *testing.T) {
	declared := declare(t, component[health]("health"))
	join := func() *handServer {
		s := newHandServer(t, servedSchema(t), declared)
		require.NoError(t, s.answer(asIs))
		s.enter(1, h(3, 1), 9, 1, 500, 0, 0)
		s.lose()
		s.welcome.Resumed = 1
		return s
	}
	s := join()
	require.NoError(t, s.answer(func(w *wire.Welcome) { require.Empty(t, w.SchemaText) }))
	e := s.session.Replica().Entity(h(3, 1))
	got := must.Have(reader[health](t, declared, "health", e)())
	require.Equal(t, health{500}, got)
	s.enter(2, h(4, 1), 9, 1, 7, 0, 0)
	require.Equal(t, "armour{Plates=9 Worn=true} health{Points=7} friend{Is=none}", s.session.Replica().Entity(h(4, 1)).Format())
	s.lose()
	require.Equal(t, s.schema.Hash(), s.hello().Schema, "nor does the third")

	for name, change := range map[string]func(*wire.Welcome){
		"text unasked":   func(w *wire.Welcome) { w.SchemaText = servedSchema(t).Text() },
		"no text":        func(w *wire.Welcome) { w.Schema, w.Resumed, w.Structure = w.Schema+1, 0, 0 },
		"another schema": func(w *wire.Welcome) { w.Schema++ },
	} {
		s := join()
		err := s.answer(change)
		require.Equal(t, wire.BadMessage, wire.CodeOf(err), "%s: %v", name, err)
	}
}

// A server that was restarted with another schema sends its text, although Hello named the hash of
// the one before. A session that resumes keeps its schema.
func TestRestartWithAnotherSchema(t *testing.T) {
	declared := declare(t, component[health]("health"), component[hit]("mana"))
	s := newHandServer(t, servedSchema(t), declared)
	require.NoError(t, s.answer(asIs))
	require.Equal(t, []string{`component "mana": the server lacks it`}, s.session.SchemaChanges())
	s.enter(1, h(3, 1), 9, 1, 500, 0, 0)
	s.lose()
	require.Equal(t, wire.Live, s.session.Resolve(h(3, 1)), "as while away")
	s.schema = declare(t, component[hit]("mana"), component[friend]("friend"), component[health]("health"))
	s.welcome.Epoch++
	require.NoError(t, s.answer(func(w *wire.Welcome) { w.SchemaText = s.schema.Text() }))
	require.Empty(t, s.session.SchemaChanges())
	require.Equal(t, 0, s.session.Replica().Len())
	s.enter(1, h(3, 3), 4, 0, 0, 77)
	got := must.Have(reader[health](t, declared, "health", s.session.Replica().Entity(h(3, 3)))())
	require.Equal(t, health{77}, got)
	s.lose()
	require.Equal(t, s.schema.Hash(), s.hello().Schema)

	s = newHandServer(t, servedSchema(t), declared)
	require.NoError(t, s.answer(asIs))
	s.lose()
	s.schema, s.welcome.Resumed = declare(t, component[health]("health")), 1
	require.Equal(t, wire.BadMessage, wire.CodeOf(s.answer(func(w *wire.Welcome) { w.SchemaText = s.schema.Text() })))
}

// The newer side decides whether it accepts the older one. Versions say in errors which side is older.
func TestVersions(t *testing.T) {
	s := newHandServer(t, servedSchema(t), nil)
	declared := schema.New()
	flying := schema.DefineCommand[hit](declared, "fly")
	require.NoError(t, declared.AddRawCommand("dive"))
	s.session = must.Get(client.NewSession(client.SessionConfig{Schema: declared, Version: "1.10", MinServer: "1.2"}))
	require.NoError(t, s.answer(func(w *wire.Welcome) { w.Version = "1.9" }))
	lacks := &client.LackError{}
	require.ErrorAs(t, must.Fail(client.Do(s.session, flying, 0, hit{})), &lacks)
	require.Equal(t, &client.LackError{Command: "fly", Older: "the server's game is 1.9, this client's 1.10: update the server"}, lacks)
	require.ErrorAs(t, must.Fail(s.session.DoRaw("dive", 0, nil)), &lacks)
	require.Equal(t, "dive", lacks.Command)
	_ = must.Get(s.session.DoRaw("eat", 0, nil))
	_ = must.Get(s.session.DoRaw("undeclared", 0, nil))
	s.lose()
	hello := s.hello()
	require.Equal(t, []string{"1.10", "1.2"}, []string{hello.Version, hello.MinServer})

	for version, code := range map[string]wire.Code{"1.1.9": wire.ClientTooNew, "": wire.ClientTooNew, "1..2": wire.BadMessage, "1.2": wire.OK} {
		s = newHandServer(t, servedSchema(t), nil)
		s.session = must.Get(client.NewSession(client.SessionConfig{MinServer: "1.2"}))
		require.Equal(t, code, wire.CodeOf(s.answer(func(w *wire.Welcome) { w.Version = version })), version)
	}
	truth := declare(t, component[struct{ Plates bool }]("armour"))
	s.session = must.Get(client.NewSession(client.SessionConfig{Schema: truth, Version: "1.1"}))
	err := s.answer(func(w *wire.Welcome) { w.Version = "1.2" })
	require.Equal(t, wire.SchemaMismatch, wire.CodeOf(err))
	require.ErrorContains(t, err, "update the client")
	require.ErrorContains(t, must.Fail(client.NewSession(client.SessionConfig{Version: "latest"})), "version")
}

// Reading any schema of a server allocates at most 16 MiB.
func TestSchemaMemoryIsBounded(t *testing.T) {
	kinds, fields, secret := schema.New(), schema.New(), schema.New()
	for i := 0; kinds.AddKind(schema.EntityKind{Name: fmt.Sprintf("%x", i)}) == nil; i++ {
	}
	require.Greater(t, len(kinds.Text()), wire.MaxSchemaText-20)
	for i := 0; i < wire.MaxComponents; i++ {
		schema.Define[struct{ A [64]bool }](fields, fmt.Sprint(i))
		require.NoError(t, fields.Err())
		schema.Define[struct {
			A [64]bool `net:"owner"`
		}](secret, fmt.Sprint(i))
		require.NoError(t, secret.Err())
	}
	for name, served := range map[string]*schema.Schema{"kinds": kinds, "fields": fields, "fields of owners": secret} {
		var s *handServer
		least := ^uint64(0)
		for range 3 { // other goroutines may allocate too
			s = newHandServer(t, served, nil)
			text := served.Text()
			hash := served.Hash()
			w := s.welcome
			w.Schema, w.SchemaText = hash, text
			message := wire.AppendMessage(nil, w)
			var err error
			least = min(least, allocatedBy(func() { err = s.session.ReceiveStream(message) }))
			require.NoError(t, err)
		}
		t.Logf("%s: %d bytes for a text of %d", name, least, len(served.Text()))
		require.Less(t, least, uint64(16<<20), name)
	}
}
