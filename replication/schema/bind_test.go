package schema_test

import (
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/internal/rowschema"
	"github.com/worldd/worldd/replication/schema"
)

// A client declares a part of the server's items, in another order.
func TestBindByName(t *testing.T) {
	server := everything(t)
	s := must.Get(schema.Parse(server.Text()))

	own := schema.New()
	schema.DefineUnreliableEvent[struct{ Volume float32 }](own, "sound")
	require.NoError(t, own.Err())
	require.NoError(t, own.AddRawCommand("eval"))
	schema.DefineCommand[buy](own, "buy") // its answer is not declared
	schema.DefineInput[stick](own)
	schema.Define[quantities](own, "c4")
	schema.Define[profile](own, "c3")
	require.NoError(t, own.Err())
	before := own.Text()
	require.NoError(t, s.Bind(own))
	require.Equal(t, before, own.Text())
	require.Equal(t, server.Text(), s.Text())

	for _, name := range []string{"c3", "c4"} {
		i, _ := s.ByName(name)
		require.Equal(t, server.Component(i), s.Component(i))
	}
	require.Nil(t, s.Component(0).Type)
	require.Equal(t, reflect.TypeFor[stick](), s.Input().Type)
	i, ok := s.EventOf(reflect.TypeFor[struct{ Volume float32 }]())
	require.True(t, ok)
	require.Equal(t, 1, i)
	require.Nil(t, s.Event(0).Message.Type)
	at, _ := s.CommandByName("buy")
	require.Equal(t, reflect.TypeFor[buy](), s.Command(at).Args.Type)
	require.Nil(t, s.Command(at).Answer.Type)

	in := profile{Level: 5, Name: "Ada", Secret: []byte{1}}
	in.Slots[1].Label, in.Slots[1].Count = "x", 3
	component, _ := s.ByName("c3")
	c := s.Component(component)
	values, texts := make([]uint32, c.Values), make([]string, len(s.TextFields()))
	rowschema.New(server).Component(component).Quantise(&in, values)
	rowschema.New(server).Component(component).UpdateTexts(&in, texts)
	var out profile
	rowschema.New(s).Component(component).Restore(values, &out)
	rowschema.New(s).Component(component).SetTexts(true, texts, &out)
	require.Equal(t, in, out)

	b := must.Get(rowschema.NewMessage(server.Event(0).Message).AppendValue(nil, hits[1]))
	var got hit
	require.ErrorContains(t, rowschema.NewMessage(s.Event(0).Message).ReadValue(b, &got), "no Go type is bound")
	var payload rowschema.Payload
	require.NoError(t, rowschema.NewMessage(s.Event(0).Message).Parse(b, &payload))
	require.Equal(t, `Damage=31 At[0]=-64 At[1]=0.5 At[2]=64 By=17v3 To=16777215v4294967295 Frozen=true Verb="verbrannt" Raw=01ff`, rowschema.NewMessage(s.Event(0).Message).Format(&payload))
	all := schema.New()
	schema.DefineEvent[hit](all, "hit")
	require.NoError(t, all.Err())
	require.NoError(t, s.Bind(all))
	require.NoError(t, rowschema.NewMessage(s.Event(0).Message).ReadValue(b, &got))
	require.Equal(t, hits[1], got)
	require.NoError(t, s.Bind(schema.New()), "declares nothing")
	untyped := must.Get(schema.Parse(own.Text()))
	require.NoError(t, s.Bind(untyped))
	require.Equal(t, reflect.TypeFor[stick](), s.Input().Type)
	require.Equal(t, server.Component(component), s.Component(component))
	out = profile{}
	rowschema.New(s).Component(component).Restore(values, &out)
	require.Equal(t, int16(5), out.Level)
	require.Equal(t, reflect.TypeFor[hit](), s.Event(0).Message.Type)
}

func TestBindRefuses(t *testing.T) {
	type otherStick struct {
		X, Y int8
		Jump bool
	}
	text := everything(t).Text()
	for _, c := range []struct {
		declare func(s *schema.Schema) error
		want    schema.BindError
	}{
		{
			func(s *schema.Schema) error { schema.Define[sign](s, "sign"); return s.Err() },
			schema.BindError{Item: `component "sign"`, Missing: true},
		},
		{
			func(s *schema.Schema) error { schema.Define[sign](s, "hit"); return s.Err() },
			schema.BindError{Item: `component "hit"`, Missing: true},
		},
		{
			func(s *schema.Schema) error { schema.Define[sign](s, "body"); return s.Err() },
			schema.BindError{Item: `component "body"`, Declared: "Text string 6"},
		},
		{
			func(s *schema.Schema) error {
				schema.Define[struct {
					Position [3]float32 `net:"range=-1024..1024,step=1/256,predict=linear"`
				}](s, "body")
				return s.Err()
			},
			schema.BindError{Item: `component "body"`, Received: "Velocity[0] range c060000000000000 3fa0000000000000 8192 linear"},
		},
		{
			func(s *schema.Schema) error { schema.DefineInput[otherStick](s); return s.Err() },
			schema.BindError{Item: "input", Received: "Aimed ref"},
		},
		{
			func(s *schema.Schema) error { return s.AddRawCommand("shoot") },
			schema.BindError{Item: `command "shoot"`, Missing: true},
		},
		{
			func(s *schema.Schema) error { return s.AddRawCommand("buy") },
			schema.BindError{Item: `command "buy"`, Declared: "command buy raw", Received: "command buy"},
		},
		{
			func(s *schema.Schema) error { schema.DefineQuery[buy, buy](s, "buy"); return s.Err() },
			schema.BindError{Item: `answer of command "buy"`, Declared: "Item uint 9", Received: "Item ref"},
		},
		{
			func(s *schema.Schema) error { schema.DefineQuery[struct{}, buy](s, "wave"); return s.Err() },
			schema.BindError{Item: `answer of command "wave"`, Declared: "answer"},
		},
		{
			func(s *schema.Schema) error { schema.DefineEvent[stick](s, "miss"); return s.Err() },
			schema.BindError{Item: `event "miss"`, Missing: true},
		},
		{
			func(s *schema.Schema) error { schema.DefineUnreliableEvent[hit](s, "hit"); return s.Err() },
			schema.BindError{Item: `event "hit"`, Declared: "event hit unreliable", Received: "event hit"},
		},
		{ // a field in the middle, which the server lacks
			func(s *schema.Schema) error {
				schema.DefineInput[struct {
					X, Lean, Y int8
					Jump       bool
					Aimed      bulk.Handle `net:"ref"`
				}](s)
				return s.Err()
			},
			schema.BindError{Item: "input", Declared: "Lean int 8"},
		},
		{ // a field in the middle with another type
			func(s *schema.Schema) error {
				schema.DefineInput[struct {
					X     int8
					Y     int16
					Jump  bool
					Aimed bulk.Handle `net:"ref"`
				}](s)
				return s.Err()
			},
			schema.BindError{Item: "input", Declared: "Y int 16", Received: "Y int 8"},
		},
		{ // no field before the last of the server's
			func(s *schema.Schema) error {
				schema.DefineInput[struct {
					X, Y  int8
					Aimed bulk.Handle `net:"ref"`
				}](s)
				return s.Err()
			},
			schema.BindError{Item: "input", Received: "Jump bool"},
		},
		{ // another order
			func(s *schema.Schema) error {
				schema.DefineInput[struct {
					Y, X  int8
					Jump  bool
					Aimed bulk.Handle `net:"ref"`
				}](s)
				return s.Err()
			},
			schema.BindError{Item: "input", Declared: "Y int 8", Received: "X int 8"},
		},
	} {
		s := must.Get(schema.Parse(text))
		own := schema.New()
		schema.Define[profile](own, "c3")
		require.NoError(t, own.Err())
		require.NoError(t, c.declare(own))
		err := s.Bind(own)
		fault := &schema.BindError{}
		require.ErrorAs(t, err, &fault)
		require.Equal(t, c.want, *fault)
		require.ErrorContains(t, err, c.want.Item)
		if !c.want.Missing {
			require.ErrorContains(t, err, c.want.Received)
			require.ErrorContains(t, err, c.want.Declared)
		}
		i, _ := s.ByName("c3")
		require.Nil(t, s.Component(i).Type, "nothing is bound after an error")
	}
}
