package rules

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/scenes"
	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/server"
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
	file, err := scenes.Named("calm")
	require.NoError(t, err)
	scene, err := scenes.Build(file)
	require.NoError(t, err)
	g, s := New(scene), &server.Session{}
	_, err = g.rename(s, 0, Rename{"ada"})
	require.ErrorContains(t, err, "no avatar")
	_, err = g.join(s)
	require.NoError(t, err)
	_, err = g.rename(s, scene.World.HandleAt(0), Rename{"ada"})
	require.ErrorContains(t, err, "themselves")
	_, err = g.rename(s, 0, Rename{" ada"})
	var refused *server.Rejection
	require.ErrorAs(t, err, &refused)
	require.Equal(t, wire.BadArguments, refused.Code)
}
