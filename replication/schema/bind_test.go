package schema_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/internal/rowschema"
	"github.com/worldd/worldd/replication/schema"
)

// bind binds declared to s, which has all of it exactly.
func bind(t testing.TB, s, declared *schema.Schema) {
	require.Empty(t, must.Get(s.Bind(declared)))
}

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
	bind(t, s, own)
	require.Equal(t, before, own.Text())
	require.Equal(t, server.Text(), s.Text())

	for _, name := range []string{"c3", "c4"} {
		i, _ := s.ByName(name)
		require.Equal(t, server.Components()[i], s.Components()[i])
	}
	require.Nil(t, s.Components()[0].Type)
	require.Equal(t, reflect.TypeFor[stick](), s.Input().Type)
	i := must.Have(s.EventOf(reflect.TypeFor[struct{ Volume float32 }]()))
	require.Equal(t, 1, i)
	require.Nil(t, s.Events()[0].Message.Type)
	at, _ := s.CommandByName("buy")
	require.Equal(t, reflect.TypeFor[buy](), s.Commands()[at].Args.Type)
	require.Nil(t, s.Commands()[at].Answer.Type)

	in := profile{Level: 5, Name: "Ada", Secret: []byte{1}}
	in.Slots[1].Label, in.Slots[1].Count = "x", 3
	component, _ := s.ByName("c3")
	c := s.Components()[component]
	values, texts := make([]uint32, c.Values), make([]string, len(rowschema.New(s).TextFields()))
	rowschema.New(server).Component(component).Quantise(&in, values)
	rowschema.New(server).Component(component).UpdateTexts(&in, texts)
	var out profile
	rowschema.New(s).Component(component).Restore(values, &out)
	rowschema.New(s).Component(component).SetTexts(true, texts, &out)
	require.Equal(t, in, out)

	b := must.Get(rowschema.NewMessage(server.Events()[0].Message).AppendValue(nil, hits[1]))
	var got hit
	require.ErrorContains(t, rowschema.NewMessage(s.Events()[0].Message).ReadValue(b, &got), "no Go type is bound")
	var payload rowschema.Payload
	require.NoError(t, rowschema.NewMessage(s.Events()[0].Message).Parse(b, &payload))
	require.Equal(t, `Damage=31 At[0]=-64 At[1]=0.5 At[2]=64 By=17v3 To=16777215v4294967295 Frozen=true Verb="verbrannt" Raw=01ff`, rowschema.NewMessage(s.Events()[0].Message).Format(&payload))
	all := schema.New()
	schema.DefineEvent[hit](all, "hit")
	require.NoError(t, all.Err())
	bind(t, s, all)
	require.NoError(t, rowschema.NewMessage(s.Events()[0].Message).ReadValue(b, &got))
	require.Equal(t, hits[1], got)
	bind(t, s, schema.New())
	untyped := must.Get(schema.Parse(own.Text()))
	bind(t, s, untyped)
	require.Equal(t, reflect.TypeFor[stick](), s.Input().Type)
	require.Equal(t, server.Components()[component], s.Components()[component])
	out = profile{}
	rowschema.New(s).Component(component).Restore(values, &out)
	require.Equal(t, int16(5), out.Level)
	require.Equal(t, reflect.TypeFor[hit](), s.Events()[0].Message.Type)
}

// Every difference of a declared item is listed, in the order of declaration. Items that only the
// server has are not.
func TestBindChanges(t *testing.T) {
	text := everything(t).Text()
	for want, declare := range map[string]func(s *schema.Schema) error{
		"":                                      func(s *schema.Schema) error { schema.Define[profile](s, "c3"); return nil },
		`component "sign": the server lacks it`: func(s *schema.Schema) error { schema.Define[sign](s, "sign"); return nil },
		`command "shoot": the server lacks it`:  func(s *schema.Schema) error { return s.AddRawCommand("shoot") },
		`event "miss": the server lacks it`:     func(s *schema.Schema) error { schema.DefineEvent[stick](s, "miss"); return nil },
		`kind "lift": the server lacks it`:      func(s *schema.Schema) error { schema.DefineKind(s, "lift"); return nil },
		`answer of command "wave": the server lacks it`: func(s *schema.Schema) error {
			schema.DefineQuery[struct{}, buy](s, "wave")
			return nil
		},
		`event "hit": the server sends it reliably`: func(s *schema.Schema) error {
			schema.DefineUnreliableEvent[hit](s, "hit")
			return nil
		},
		`component "body": field dropped Velocity[0]
component "body": field dropped Velocity[1]
component "body": field dropped Velocity[2]`: func(s *schema.Schema) error {
			schema.Define[struct {
				Position [3]float32 `net:"range=-1024..1024,step=1/256,predict=linear"`
			}](s, "body")
			return nil
		},
		`input: field added Lean
input: field changed: server "Y int 8", client "Y int 16"
input: field dropped Jump
input: fields reordered`: func(s *schema.Schema) error {
			schema.DefineInput[struct {
				Lean  int8
				Y     int16
				X     int8
				Aimed bulk.Handle `net:"ref"`
			}](s)
			return nil
		},
		`input: field renamed X to East
input: field renamed Y to North
input: field changed: server "Y int 8", client "North uint 5"`: func(s *schema.Schema) error {
			schema.DefineInput[struct {
				East  int8  `was:"Right,X"`
				North uint8 `net:"bits=5" was:"Y"`
				Jump  bool
				Aimed bulk.Handle `net:"ref"`
			}](s)
			return nil
		},
	} {
		s, own := must.Get(schema.Parse(text)), schema.New()
		require.NoError(t, declare(own))
		require.NoError(t, own.Err())
		changes := must.Get(s.Compare(own))
		require.Equal(t, want, strings.Join(changes, "\n"))
		bound := must.Get(s.Bind(own))
		require.Equal(t, changes, bound)
		require.Equal(t, text, s.Text())
	}
}

// The fields of a position are bound even if the declaration has another parent handle, or none; the
// difference is listed.
func TestBindParent(t *testing.T) {
	type seat struct {
		At      [3]float32  `net:"range=-8..8,step=1/16,predict=linear,parent=On"`
		On, Off bulk.Handle `net:"ref"`
	}
	type other struct {
		At      [3]float32  `net:"range=-8..8,step=1/16,predict=linear,parent=Off"`
		On, Off bulk.Handle `net:"ref"`
	}
	type loose struct {
		At      [3]float32  `net:"range=-8..8,step=1/16,predict=linear"`
		On, Off bulk.Handle `net:"ref"`
	}
	s, moved, free := schema.New(), schema.New(), schema.New()
	schema.Define[seat](s, "seat")
	schema.Define[other](moved, "seat")
	schema.Define[loose](free, "seat")
	changes := must.Get(s.Bind(moved))
	require.Equal(t, []string{`component "seat": parent changed: server "parent At[0] On", client "parent At[0] Off"`}, changes)
	changes = must.Get(s.Bind(free))
	require.Equal(t, []string{`component "seat": parent changed: server "parent At[0] On", client none`}, changes)
}

// One error pairs the lines of all fields that do not fit, and nothing is bound.
func TestBindMisfits(t *testing.T) {
	s, own := must.Get(schema.Parse(everything(t).Text())), schema.New()
	schema.Define[profile](own, "c3")
	schema.Define[struct {
		Position [3]bool
		Velocity string `net:"max=6"`
	}](own, "body")
	schema.DefineInput[struct {
		X     bool
		Y     float32
		Aimed int32
		Jump  [4]float32 `net:"quat,bits=9"`
	}](own)
	schema.DefineQuery[buy, buy](own, "buy")
	schema.DefineEvent[struct {
		Damage string      `net:"max=6"`
		Verb   bulk.Handle `net:"ref"`
	}](own, "hit")
	require.NoError(t, own.Err())
	require.NoError(t, own.AddRawCommand("wave"))
	changes, err := s.Bind(own)
	require.Contains(t, changes, `component "body": field added Velocity`)
	fault := &schema.BindError{}
	require.ErrorAs(t, err, &fault)
	position := "range c090000000000000 3f70000000000000 524288 linear"
	require.Equal(t, []schema.Misfit{
		{Item: `component "body"`, Declared: "Position[0] bool", Received: "Position[0] " + position},
		{Item: `component "body"`, Declared: "Position[1] bool", Received: "Position[1] " + position},
		{Item: `component "body"`, Declared: "Position[2] bool", Received: "Position[2] " + position},
		{Item: "input", Declared: "X bool", Received: "X int 8"},
		{Item: "input", Declared: "Y float 32", Received: "Y int 8"},
		{Item: "input", Declared: "Aimed int 32", Received: "Aimed ref"},
		{Item: "input", Declared: "Jump quat 9", Received: "Jump bool"},
		{Item: `answer of command "buy"`, Declared: "Item uint 9", Received: "Item ref"},
		{Item: `command "wave"`, Declared: "command wave raw", Received: "command wave"},
		{Item: `event "hit"`, Declared: "Verb ref", Received: "Verb string 12"},
		{Item: `event "hit"`, Declared: "Damage string 6", Received: "Damage uint 5"},
	}, fault.Misfits)
	for _, m := range fault.Misfits {
		require.ErrorContains(t, err, m.Item)
		require.ErrorContains(t, err, m.Declared)
		require.ErrorContains(t, err, m.Received)
	}
	for i := range s.Components() {
		require.Nil(t, s.Components()[i].Type, "nothing is bound after an error")
	}
	require.Nil(t, s.Input().Type)
}

// A long list is cut in the error's text, not in the error. Names of the peer are printable in it.
func TestBindErrorIsShort(t *testing.T) {
	type wide struct{ A, B, C, D, E, F, G, H, I, J [2]bool }
	type deep struct{ A, B, C, D, E, F, G, H, I, J [2]int8 }
	s, own := schema.New(), schema.New()
	schema.Define[wide](s, "wide")
	schema.Define[deep](own, "wide")
	_, err := s.Bind(own)
	fault := &schema.BindError{}
	require.ErrorAs(t, err, &fault)
	require.Len(t, fault.Misfits, 20)
	require.Equal(t, 16, strings.Count(err.Error(), "is declared here"))
	require.ErrorContains(t, err, `"H[1] bool"; and 4 more`)

	fault = &schema.BindError{Changes: slices.Repeat([]string{"input: fields reordered"}, 17)}
	require.True(t, strings.HasSuffix(fault.Error(), "reordered; and 1 more"), fault)
	require.Len(t, fault.Changes, 17)
	require.False(t, strings.Contains((&schema.BindError{Changes: fault.Changes[:16]}).Error(), "more"))
}

// A peer's names may hold marks that change the direction of text. Changes and errors escape them.
func TestBindIsPrintable(t *testing.T) {
	s, own := schema.New(), schema.New()
	schema.Define[struct{ Gold, Silver, Iron int8 }](s, "purse")
	schema.Define[struct {
		Copper int8 `was:"G\u202eld"`
	}](own, "purse")
	require.NoError(t, own.Err())
	peer := must.Get(schema.Parse(strings.NewReplacer("Gold", "G\u202eld", "Iron", "\u2066Iron").Replace(s.Text())))
	changes := must.Get(peer.Bind(own))
	require.Equal(t, []string{
		`component "purse": field renamed G\u202eld to Copper`,
		`component "purse": field dropped Silver`,
		`component "purse": field dropped \u2066Iron`,
	}, changes)
}

// A field binds to a former path only if the peer has it, no declared field has this path, and no
// earlier field was bound to it.
func TestBindFormerPaths(t *testing.T) {
	type v1 struct {
		Shields, Gold int16
		Aim           struct{ Up, Side [2]int8 }
	}
	type aim struct {
		Pitch [2]int8 `was:"Up"`
		Yaw   [2]int8 `was:"Left,Side"`
	}
	type v2 struct {
		Plates int16 `was:"Armour,Shields"`
		Copper int16 `was:"Gold"`
		Coins  int16 `was:"Gold"`
		Gold   int16
		Look   aim `was:"Aim"`
	}
	s, own := schema.New(), schema.New()
	schema.Define[v1](s, "knight")
	schema.Define[v2](own, "knight")
	require.NoError(t, own.Err())
	changes := must.Get(s.Bind(own))
	require.Equal(t, []string{
		`component "knight": field renamed Shields to Plates`,
		`component "knight": field added Copper`,
		`component "knight": field added Coins`,
		`component "knight": field renamed Aim.Up[0] to Look.Pitch[0]`,
		`component "knight": field renamed Aim.Up[1] to Look.Pitch[1]`,
		`component "knight": field renamed Aim.Side[0] to Look.Yaw[0]`,
		`component "knight": field renamed Aim.Side[1] to Look.Yaw[1]`,
	}, changes)

	for _, bad := range []any{
		struct {
			X int8 `was:""`
		}{},
		struct {
			X int8 `was:"A,"`
		}{},
		struct {
			X int8 `was:"A.B"`
		}{},
		struct {
			X struct {
				Y int8 `was:"A,B,C,D,E"`
			} `was:"F,G,H,I,J"`
		}{},
	} {
		wrong := schema.New()
		schema.DefineType(wrong, "wrong", reflect.TypeOf(bad))
		require.ErrorContains(t, wrong.Err(), "former")
	}
}
