package schema

import (
	"encoding/json"
	"fmt"
)

// MarshalJSON returns the content of Text as one JSON object:
//
//	hash        Hash, 16 hexadecimal digits
//	components  in order: name, fields, and parent if there is one: the paths of its
//	            position and handle
//	kinds       in order: name, and body unless entities of the kind have none
//	motion      absent if the world moves no bodies
//	input       fields; absent if inputs are raw
//	commands    in order: name, args with fields unless arguments are raw, and answer
//	            with fields if there is one
//	events      in order: name, unreliable, fields
//
// A field has a path and a type:
//
//	uint, int, float, angle, quat   bits: the width of a number
//	range                           bits, low, step, and the largest number max
//	enum                            bits, and the number of values
//	string, bytes                   max: the most bytes
//	bool, ref                       no more
//
// always, linear and owner are true or absent.
func (s *Schema) MarshalJSON() ([]byte, error) {
	o := jsonSchema{Hash: fmt.Sprintf("%016x", s.Hash()), Components: []jsonComponent{}, Kinds: []jsonKind{}, Commands: []jsonCommand{}, Events: []jsonEvent{}}
	for i := range s.components {
		o.Components = append(o.Components, s.components[i].json())
	}
	for i := range s.kinds {
		o.Kinds = append(o.Kinds, jsonKind{s.kinds[i].Name, (*jsonBody)(s.kinds[i].Body)})
	}
	if m := s.motion; m != nil {
		o.Motion = &jsonMotion{m.TickHz, m.Gravity, m.MaxSpeed, m.HalfX, m.Height, m.HalfZ, m.RestSpeed, m.RestTicks, m.Bounds.String()}
	}
	o.Input = jsonOf(s.input)
	for i := range s.commands {
		c := &s.commands[i]
		o.Commands = append(o.Commands, jsonCommand{c.Name, jsonOf(c.Args), jsonOf(c.Answer)})
	}
	for i := range s.events {
		e := &s.events[i]
		o.Events = append(o.Events, jsonEvent{e.Name, e.Unreliable, jsonFields(e.Message.Fields, e.Message.TextFields)})
	}
	return json.Marshal(o)
}

type jsonSchema struct {
	Hash       string          `json:"hash"`
	Components []jsonComponent `json:"components"`
	Kinds      []jsonKind      `json:"kinds"`
	Motion     *jsonMotion     `json:"motion,omitempty"`
	Input      *jsonMessage    `json:"input,omitempty"`
	Commands   []jsonCommand   `json:"commands"`
	Events     []jsonEvent     `json:"events"`
}

type jsonComponent struct {
	Name   string      `json:"name"`
	Fields []jsonField `json:"fields"`
	Parent *jsonParent `json:"parent,omitempty"`
}

type jsonParent struct {
	Position string `json:"position"`
	Handle   string `json:"handle"`
}

type jsonKind struct {
	Name string    `json:"name"`
	Body *jsonBody `json:"body,omitempty"`
}

// jsonBody is a KindBody.
type jsonBody struct {
	InvMass     float32 `json:"inv_mass"`
	Coupling    float32 `json:"coupling"`
	Radius      float32 `json:"radius"`
	Friction    float32 `json:"friction"`
	Restitution float32 `json:"restitution"`
	Layers      uint32  `json:"layers"`
}

type jsonMotion struct {
	TickHz    uint16  `json:"tick_hz"`
	Gravity   float32 `json:"gravity"`
	MaxSpeed  float32 `json:"max_speed"`
	HalfX     float32 `json:"half_x"`
	Height    float32 `json:"height"`
	HalfZ     float32 `json:"half_z"`
	RestSpeed float32 `json:"rest_speed"`
	RestTicks uint32  `json:"rest_ticks"`
	Bounds    string  `json:"bounds"`
}

type jsonMessage struct {
	Fields []jsonField `json:"fields"`
}

type jsonCommand struct {
	Name   string       `json:"name"`
	Args   *jsonMessage `json:"args,omitempty"`
	Answer *jsonMessage `json:"answer,omitempty"`
}

type jsonEvent struct {
	Name       string      `json:"name"`
	Unreliable bool        `json:"unreliable"`
	Fields     []jsonField `json:"fields"`
}

type jsonField struct {
	Path   string   `json:"path"`
	Type   string   `json:"type"`
	Bits   uint     `json:"bits,omitempty"`
	Low    *float64 `json:"low,omitempty"`
	Step   *float64 `json:"step,omitempty"`
	Values uint64   `json:"values,omitempty"`
	Max    uint32   `json:"max,omitempty"`
	Always bool     `json:"always,omitempty"`
	Linear bool     `json:"linear,omitempty"`
	Owner  bool     `json:"owner,omitempty"`
}

func (c *Component) json() jsonComponent {
	o := jsonComponent{Name: c.Name, Fields: jsonFields(c.Fields, c.TextFields)}
	if c.Parent >= 0 {
		o.Parent = &jsonParent{c.Fields[c.Anchored].Path, c.Fields[c.Parent].Path}
	}
	return o
}

// jsonOf returns nil for nil.
func jsonOf(m *Message) *jsonMessage {
	if m == nil {
		return nil
	}
	return &jsonMessage{jsonFields(m.Fields, m.TextFields)}
}

func jsonFields(fields []Field, texts []TextField) []jsonField {
	all := make([]jsonField, 0, len(fields)+len(texts))
	for i := range fields {
		all = append(all, fields[i].json())
	}
	for _, f := range texts {
		kind := "string"
		if f.Bytes {
			kind = "bytes"
		}
		all = append(all, jsonField{Path: f.Path, Type: kind, Max: uint32(f.Max), Owner: f.Owner})
	}
	return all
}

func (f *Field) json() jsonField {
	o := jsonField{Path: f.Path, Type: f.Type.String(), Bits: f.Bits, Always: f.Always, Linear: f.Linear, Owner: f.Owner}
	switch f.Type {
	case TypeRotation:
		o.Bits = (f.Bits - 2) / 3
	case TypeEnum:
		o.Values = uint64(f.Max) + 1
	case TypeRange:
		low, step := f.Low, f.Step
		o.Low, o.Step, o.Max = &low, &step, f.Max
	}
	return o
}
