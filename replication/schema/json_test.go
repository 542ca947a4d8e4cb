package schema_test

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/replication/schema"
)

// JSON has the content of Text: a parsed schema has the same JSON.
func TestJSON(t *testing.T) {
	s := everything(t)
	declared := must.Get(json.Marshal(s))
	read := must.Get(schema.Parse(s.Text()))
	require.JSONEq(t, string(declared), string(must.Get(json.Marshal(read))))

	small := schema.New()
	schema.Define[struct {
		Position [3]float32  `net:"range=-8..8,step=1/4,predict=linear,parent=On"`
		On       bulk.Handle `net:"ref"`
	}](small, "seat")
	schema.Define[struct {
		State uint8   `net:"enum=5,always"`
		Yaw   float32 `net:"angle,bits=12"`
		Gold  int32   `net:"owner"`
		Name  string  `net:"max=24"`
	}](small, "player")
	require.NoError(t, small.Err())
	require.NoError(t, small.AddKind(schema.EntityKind{Name: "mark"}))
	require.NoError(t, small.AddKind(schema.EntityKind{Name: "crate", Body: &schema.KindBody{InvMass: 0.5, Layers: 3}}))
	require.NoError(t, small.SetMotion(schema.Motion{TickHz: 60, Gravity: 0.25, Bounds: schema.BoundsBounce}))
	require.NoError(t, small.AddRawCommand("poke"))
	schema.DefineQuery[struct{ Item uint16 }, struct{ Price float64 }](small, "buy")
	schema.DefineUnreliableEvent[struct{ Loud bool }](small, "bang")
	require.NoError(t, small.Err())
	got := must.Get(json.Marshal(small))
	var hash struct{ Hash string }
	require.NoError(t, json.Unmarshal(got, &hash))
	require.Regexp(t, "^[0-9a-f]{16}$", hash.Hash)
	require.JSONEq(t, `{
		"hash": "`+hash.Hash+`",
		"components": [
			{"name": "seat", "fields": [
				{"path": "Position[0]", "type": "range", "bits": 7, "low": -8, "step": 0.25, "max": 64, "linear": true},
				{"path": "Position[1]", "type": "range", "bits": 7, "low": -8, "step": 0.25, "max": 64, "linear": true},
				{"path": "Position[2]", "type": "range", "bits": 7, "low": -8, "step": 0.25, "max": 64, "linear": true},
				{"path": "On", "type": "ref"}
			], "parent": {"position": "Position[0]", "handle": "On"}},
			{"name": "player", "fields": [
				{"path": "State", "type": "enum", "bits": 3, "values": 5, "always": true},
				{"path": "Yaw", "type": "angle", "bits": 12},
				{"path": "Gold", "type": "int", "bits": 32, "owner": true},
				{"path": "Name", "type": "string", "max": 24}
			]}
		],
		"kinds": [
			{"name": "mark"},
			{"name": "crate", "body": {"inv_mass": 0.5, "coupling": 0, "radius": 0, "friction": 0, "restitution": 0, "layers": 3}}
		],
		"motion": {"tick_hz": 60, "gravity": 0.25, "max_speed": 0, "half_x": 0, "height": 0, "half_z": 0, "rest_speed": 0, "rest_ticks": 0, "bounds": "bounce"},
		"commands": [
			{"name": "poke"},
			{"name": "buy", "args": {"fields": [{"path": "Item", "type": "uint", "bits": 16}]}, "answer": {"fields": [{"path": "Price", "type": "float", "bits": 64}]}}
		],
		"events": [{"name": "bang", "unreliable": true, "fields": [{"path": "Loud", "type": "bool", "bits": 1}]}]
	}`, string(got))
}

// A clone and its original change independently.
func TestClone(t *testing.T) {
	s := everything(t)
	text := s.Text()
	c := s.Clone()
	require.Equal(t, text, c.Text())
	type fresh struct{ X uint8 }
	schema.Define[fresh](c, "fresh")
	schema.DefineEvent[fresh](c, "fresh")
	schema.DefineCommand[fresh](c, "fresh")
	require.NoError(t, c.Err())
	require.NoError(t, c.AddKind(schema.EntityKind{Name: "fresh"}))
	require.Equal(t, text, s.Text())
	must.Lack(s.ByName("fresh"))
	must.Lack(s.EventOf(reflect.TypeFor[fresh]()))
	schema.Define[fresh](s, "fresh")
	require.NoError(t, s.Err())
	require.NoError(t, s.AddKind(schema.EntityKind{Name: "fresh"}))

	parsed := must.Get(schema.Parse(text))
	bound := parsed.Clone()
	bind(t, bound, everything(t))
	require.NotNil(t, bound.Components()[0].Type)
	require.NotNil(t, bound.Events()[0].Message.Type)
	require.Nil(t, parsed.Components()[0].Type)
	require.Nil(t, parsed.Events()[0].Message.Type)
	require.Nil(t, parsed.Input().Type)
}
