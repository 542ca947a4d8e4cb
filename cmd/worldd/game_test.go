package main

import (
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/internal/scenes"
	"github.com/worldd/worldd/internal/scenes/steering"
	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/server"
)

func calm(t *testing.T) *game {
	file := must.Get(scenes.Named("calm"))
	g := must.Get(newGame(file, "calm"))
	require.Equal(t, 64, g.newInstance().MaxSessions)
	return g
}

func args(identity uint64) []byte {
	return binary.BigEndian.AppendUint64([]byte{0xcf}, identity)
}

// TestPokeComparesIdentities: the server's own check can fail, and the demo then fails.
func TestPokeComparesIdentities(t *testing.T) {
	g := calm(t)
	session := &server.Session{}
	crate := g.scene.World.Slots().Handle(0)
	require.Equal(t, bulk.Live, g.scene.World.Status(crate))

	require.NoError(t, g.Poke(session, crate, nil))
	require.NoError(t, g.Poke(session, crate, args(g.scene.Identity(crate))))
	n, _ := g.listConfusions()
	require.Zero(t, n)

	require.ErrorIs(t, g.Poke(session, crate, args(1234)), &wire.Error{Code: wire.IdentityFault})
	n, recorded := g.listConfusions()
	require.EqualValues(t, 1, n)
	require.Len(t, recorded, 1)
	require.Equal(t, crate, recorded[0].Handle)
	require.EqualValues(t, 1234, recorded[0].Remembered)
	require.Equal(t, g.scene.Identity(crate), recorded[0].Seen)

	for _, malformed := range [][]byte{{0xcf}, {0xc0}, make([]byte, 9), append(args(1), 0)} {
		require.ErrorIs(t, g.Poke(session, crate, malformed), &wire.Error{Code: wire.BadArguments})
	}
	avatar := must.Get(g.scene.Join())
	require.ErrorIs(t, g.Poke(session, avatar, nil), &wire.Error{Code: wire.CommandRefused})
}

// TestHooks: a session's life in the scene.
func TestHooks(t *testing.T) {
	g := calm(t)
	hooks := g.Hooks()
	session := &server.Session{}
	avatar := must.Get(hooks.Join(session))
	require.Equal(t, bulk.Live, g.scene.World.Status(avatar))
	require.True(t, g.scene.Rename(avatar, "ann"), "the scene knows it as an avatar")
	g.Steer(session, 1, steering.Stick{X: 127}) // from a session without an avatar
	hooks.Leave(session)
	require.Equal(t, "poke", hooks.Commands[0].Name())
}

func TestAreaOf(t *testing.T) {
	for name, want := range map[string]float64{"storm": 90, "calm": 40} {
		file := must.Get(scenes.Named(name))
		require.InDelta(t, want, areaOf(file), 0, name)
	}
}
