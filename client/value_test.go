package client_test

import (
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/client"
	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/replication/schema"
)

// Programs without the game's types read what others read: computed bodies to the bit, and texts.
func TestValues(t *testing.T) {
	typed := must.Get(schema.ParseTyped(schema.NewWithBody().Text()))
	m := newExactServer(t, client.SessionConfig{Schema: typed})
	require.NoError(t, m.send(10, m.enter(h(1, 1), 0, floating(0), 0)))
	for tick := uint32(12); tick <= 60; tick += 3 {
		m.snapshot(tick)
	}
	e := m.session.Replica().Entity(h(1, 1))
	s, _ := m.exact(h(1, 1))
	v := reflect.New(typed.Components()[0].Type)
	require.True(t, e.ReadValue(0, v.Interface()))
	require.Equal(t, array(s.Position), v.Elem().FieldByName("Position").Interface())
	v.Elem().SetZero()
	require.True(t, e.ReadValueAt(0, client.Moment{Tick: 60}, v.Interface()))
	require.Equal(t, array(s.Velocity), v.Elem().FieldByName("Velocity").Interface())

	var absent *client.Entity
	require.False(t, absent.ReadValue(0, v.Interface()))
	require.False(t, absent.ReadValueAt(0, client.Moment{Tick: 60}, v.Interface()))
}

// Such programs receive events as pointers to values of their own.
func TestEventValues(t *testing.T) {
	p := &eventServer{t: t, schema: schema.New()}
	schema.DefineEvent[boom](p.schema, "boom")
	var events client.Events
	var received []*boom
	client.OnEventValue(&events, reflect.TypeFor[boom](), func(_ uint32, event any) { received = append(received, event.(*boom)) })
	p.session = must.Get(client.NewSession(client.SessionConfig{Schema: p.schema, Events: &events}))
	p.welcome(1, 7)
	require.NoError(t, p.structure(1, p.boom(0, 1), p.boom(0, 2)))
	require.Equal(t, []*boom{{Size: 1}, {Size: 2}}, received)

	client.OnEventValue(&events, reflect.TypeFor[silent](), func(uint32, any) {})
	_, err := client.NewSession(client.SessionConfig{Schema: p.schema, Events: &events})
	require.ErrorContains(t, err, "which is no event of the schema")
}

// Such programs predict what programs with the game's types predict, to the bit, also when they are corrected.
func TestPredictValue(t *testing.T) {
	f, g := newPredictionServer(t, client.PredictConfig{}), newPredictionServer(t, client.PredictConfig{})
	declared := must.Get(schema.ParseTyped(g.schema.Text()))
	g.serveTo(must.Get(client.NewSession(client.SessionConfig{Schema: declared})), g.schema)
	of := declared.Components()[1].Type
	state := reflect.StructOf([]reflect.StructField{{Name: "Runner", Type: of}, {Name: "Steps", Type: reflect.TypeFor[int]()}})
	play := must.Get(client.PredictValue(g.session, state, func(_ uint32, state, in any) {
		s := reflect.ValueOf(state).Elem()
		r := runnerOf(s.Field(0))
		held := reflect.ValueOf(in).Elem()
		r.step(lever{float32(held.FieldByName("X").Float()), float32(held.FieldByName("Z").Float()), held.FieldByName("Jump").Bool()})
		for name, v := range map[string]any{"Position": r.Position, "Heading": r.Heading, "Facing": r.Facing, "Stunned": uint32(r.Stunned), "Jumps": uint32(r.Jumps)} {
			s.Field(0).FieldByName(name).Set(reflect.ValueOf(v))
		}
		s.Field(1).SetInt(s.Field(1).Int() + 1)
	}, client.PredictConfig{}))
	require.ErrorContains(t, must.Fail(client.PredictValue(g.session, of, nil, client.PredictConfig{})), "already")
	steps := int64(0)
	for frame := range 300 {
		in := lever{X: float32(frame%17-8) / 8, Z: float32(frame%5-2) / 2, Jump: frame%31 == 0}
		for _, s := range []*predictionServer{f, g} {
			if frame%50 > 40 {
				s.serveWall()
			} else {
				s.serve()
			}
			if frame%7 != 0 {
				s.snapshot()
			}
		}
		tick := f.input(in)
		held := reflect.New(declared.Input().Type)
		held.Elem().FieldByName("X").SetFloat(float64(in.X))
		held.Elem().FieldByName("Z").SetFloat(float64(in.Z))
		held.Elem().FieldByName("Jump").SetBool(in.Jump)
		require.Equal(t, tick, must.Get(g.session.SetInputValue(held.Interface(), g.now)))
		g.inputs[tick] = in
		require.Equal(t, bare(f.predicted()), runnerOf(reflect.ValueOf(must.Have(play.State())).Elem().Field(0)), "frame %d", frame)
		drawn := reflect.ValueOf(must.Have(play.At(g.session.Render(g.now)))).Elem()
		require.Equal(t, bare(f.drawn()), runnerOf(drawn.Field(0)), "frame %d", frame)
		steps = max(steps, drawn.Field(1).Int())
	}
	require.NotZero(t, play.Stats().Corrected)
	require.Equal(t, f.play.Stats(), play.Stats())
	require.Greater(t, steps, int64(250), "what is not in the schema is predicted too")
}

// bare returns what of a runner the schema has.
func bare(r runner) runner {
	r.Ticks = 0
	return r
}

// runnerOf returns the runner that a value of a parsed schema holds.
func runnerOf(v reflect.Value) runner {
	return runner{
		Position: v.FieldByName("Position").Interface().([3]float32), Heading: float32(v.FieldByName("Heading").Float()),
		Facing: v.FieldByName("Facing").Interface().([4]float32), Stunned: uint8(v.FieldByName("Stunned").Uint()), Jumps: uint16(v.FieldByName("Jumps").Uint()),
	}
}
