package session_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/server/session"
	"github.com/worldd/worldd/world"
)

// addExact adds a kind whose bodies clients may compute.
func addExact(config *session.Config) {
	must.Get(config.World.AddKind(world.Kind{Name: "clean", Exact: true, Body: &world.BodyDef{Mass: 1, Radius: 0.5}}))
}

// A session simulates if its client can simulate and the world has an exact kind. A client
// with other abilities cannot resume the session and begins another.
func TestWelcomeSimulate(t *testing.T) {
	for _, c := range []struct {
		name      string
		world     func(*session.Config)
		abilities wire.Abilities
		want      uint8
	}{
		{"both", addExact, wire.Simulates, 1},
		{"no exact kind", func(*session.Config) {}, wire.Simulates, 0},
		{"not able", addExact, 0, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := newTestServerWith(t, c.world)
			client := d.dial(withAbilities(c.abilities))
			w := client.wantWelcome("joins")
			require.Equal(t, c.want, w.Simulate)
			client.input(wire.Ack{})
			d.ticks(6)
			client.peer.Gone()
			d.ticks(3)

			_, next := d.resume(w, func(h *wire.Hello) { h.Abilities = c.abilities })
			require.EqualValues(t, 1, next.Resumed)
			require.Equal(t, c.want, next.Simulate, "a resumed session goes on as it was")
		})
	}
	d := newTestServerWith(t, addExact)
	client := d.dial(withAbilities(wire.Simulates))
	w := client.wantWelcome("joins")
	client.input(wire.Ack{})
	client.peer.Gone()
	d.ticks(3)
	_, next := d.resume(w)
	require.EqualValues(t, 0, next.Resumed, "a client that does not simulate cannot read the session")
	require.EqualValues(t, 0, next.Simulate)
}
