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
