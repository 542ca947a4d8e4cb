package rules

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/internal/rowschema"
	"github.com/worldd/worldd/internal/scenes"
	"github.com/worldd/worldd/internal/scenes/messages"
	"github.com/worldd/worldd/internal/scenes/steering"
	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/server"
	"github.com/worldd/worldd/world"
)

func TestNames(t *testing.T) {
	for session, want := range map[string]string{
		"ada":                          "ada",
		"":                             "player",
		"  ":                           "player",
		" ada ":                        "ada",
		"a\x00b":                       "player",
		"\xff":                         "player",
		"tab\tbed":                     "player",
		strings.Repeat("x", 64):        strings.Repeat("x", 24),
		strings.Repeat("x", 23) + "ää": strings.Repeat("x", 23),
		strings.Repeat("x", 23) + " y": strings.Repeat("x", 23),
	} {
		require.Equal(t, want, firstName(session), "%q", session)
	}
	for name, want := range map[string]bool{
		"ada": true, "Ada Lovelace": true, "äöü": true, strings.Repeat("x", 24): true,
		"": false, " a": false, "a ": false, "a\nb": false, "\u202e": false, "\xff": false, strings.Repeat("x", 25): false,
	} {
		require.Equal(t, want, validName(name), "%q", name)
	}
}

// TestRename: players without an avatar, other targets and bad names are refused.
func TestRename(t *testing.T) {
	file := must.Get(scenes.Named("calm"))
	scene := must.Get(scenes.Build(file))
	g, s := New(scene), &server.Session{}
	require.ErrorContains(t, must.Fail(g.rename(s, 0, messages.Rename{Name: "ada"})), "no avatar")
	must.Get(g.join(s))
	require.ErrorContains(t, must.Fail(g.rename(s, scene.World.Slots().Handle(0), messages.Rename{Name: "ada"})), "themselves")
	_, err := g.rename(s, 0, messages.Rename{Name: " ada"})
	var refused *server.Rejection
	require.ErrorAs(t, err, &refused)
	require.Equal(t, wire.BadArguments, refused.Code)
}

// TestMissilesLeaveRoom: launches are refused before they take the room of players and
// emitters (S3), and succeed again when missiles have ended.
func TestMissilesLeaveRoom(t *testing.T) {
	file := must.Get(scenes.Named("calm"))
	scene := must.Get(scenes.Build(file))
	avatar := must.Get(scene.Join())
	launch := func() error {
		_, err := scene.Launch(world.Vec3{Y: 1}, world.Vec3{}, 2, MissileName(maxSerial*2+1, scene.Identity(avatar)))
		return err
	}
	made := 0
	for launch() == nil {
		made++
	}
	require.ErrorIs(t, launch(), scenes.ErrMissiles)
	require.Equal(t, 256-64-50, made)
	for range file.Limits.MaxPlayers - 1 {
		must.Get(scene.Join())
	}
	for range 3 {
		scene.World.Step()
	}
	require.NoError(t, launch())
}

// TestCombatRefusals: commands of sessions without an avatar, of bad serials, and too many.
func TestCombatRefusals(t *testing.T) {
	file := must.Get(scenes.Named("calm"))
	scene := must.Get(scenes.Build(file))
	g, s := New(scene), &server.Session{}
	require.ErrorIs(t, must.Fail(g.shoot(s, 0, messages.Shoot{})), errNoAvatar)
	require.ErrorIs(t, g.launch(s, 0, messages.Launch{}), errNoAvatar)
	about := must.Get(g.describe(s, 0, messages.Describe{}))
	require.Equal(t, messages.Rules{Speed: 6, HalfX: 64, HalfZ: 64, Radius: 0.9, Range: shotRange, ViewTicks: 24}, about)
	require.False(t, validName(MissileName(1, 2)), "no player has the name of a missile")
	require.LessOrEqual(t, len(MissileName(2*maxSerial+1, 1<<63)), messages.MaxNameText)

	since := uint64(0)
	require.True(t, ready(&since, 100, 6))
	require.False(t, ready(&since, 105, 6))
	require.True(t, ready(&since, 106, 6))
}

// TestInputSize: the typed input has the size of the raw one before it.
func TestInputSize(t *testing.T) {
	for _, stick := range []steering.Stick{{}, {X: -128, Z: 127}} {
		b := must.Get(rowschema.NewMessage(messages.Schema.Input()).AppendValue(nil, stick))
		require.Len(t, b, 2)
	}
}
