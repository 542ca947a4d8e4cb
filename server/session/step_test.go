package session_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/server/session"
	"github.com/worldd/worldd/world"
)

// S9: a hook that steps the world would hide a frame from every viewer.
func TestHookCannotStep(t *testing.T) {
	var d *testServer
	hooks := map[string]func(*session.Config){
		"join": func(c *session.Config) {
			c.Hooks.Join = func(*session.Session) (world.Entity, error) { d.world.Step(); return 0, nil }
		},
		"command": func(c *session.Config) {
			c.Hooks.Commands = append(c.Hooks.Commands, command("step", func(*session.Session, world.Entity) error { d.world.Step(); return nil }))
		},
		"leave": func(c *session.Config) { c.Hooks.Leave = func(*session.Session) { d.world.Step() } },
	}
	for name, change := range hooks {
		d = newTestServerWith(t, change)
		before := d.world.Tick()
		require.PanicsWithValue(t, "world: Step was called, but a server steps this world", func() {
			c := d.join()
			c.send(wire.Command{ID: 1, Name: "step"}, wire.Bye{})
			d.tick()
		}, name)
		require.LessOrEqual(t, d.world.Tick(), before+2, name)
	}
	d = newTestServer(t)
	require.Panics(t, d.world.Step)
	d.core.Close()
	d.world.Step()
}

// The text of a command's error does not reach the client, so the server must receive it.
func TestCommandErrorsAreReported(t *testing.T) {
	d := newTestServer(t)
	var got []string
	d.core.OnCommandError(func(s *session.Session, command string, err error) {
		require.NotZero(t, s.ID())
		got = append(got, command+": "+err.Error())
	})
	c := d.join()
	c.send(wire.Command{ID: 1, Name: "fail"}, wire.Command{ID: 2, Name: "typo"}, wire.Command{ID: 3, Name: "poke"}, wire.Command{ID: 4, Name: "none"})
	require.Equal(t, []string{"fail: no"}, got)
}
