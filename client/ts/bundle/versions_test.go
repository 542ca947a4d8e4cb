//go:build unix

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/browsertest"
	"github.com/worldd/worldd/replication/schema"
	"github.com/worldd/worldd/server"
	"github.com/worldd/worldd/world"
)

// oldGame is the server's game, in an older version than the page's. The purse shows the received
// input; the answer and the event show the command.
func oldGame(t *testing.T) server.WorldConfig {
	type purse struct {
		Debt bool
		Gold int32 `net:"bits=20"`
	}
	type stick struct {
		X, Z int8
	}
	type buy struct {
		Count uint8 `net:"bits=5"`
	}
	type bought struct{ Left int32 }
	type chime struct{ Serial uint8 }
	protocol := schema.NewWithBody()
	purses := schema.Define[purse](protocol, "purse")
	sticks := schema.DefineInput[stick](protocol)
	buying := schema.DefineQuery[buy, bought](protocol, "buy")
	schema.DefineEvent[chime](protocol, "chime")

	w, err := world.New(world.Config{Seed: 1})
	require.NoError(t, err)
	player, err := w.AddKind(world.Kind{Name: "player", Exact: true, Body: &world.BodyDef{Radius: 1}})
	require.NoError(t, err)
	purseOf, err := server.Register(w, purses, player)
	require.NoError(t, err)
	return server.WorldConfig{World: w, Schema: protocol, Hooks: server.Hooks{
		Join:  func(*server.Session) (world.Entity, error) { return w.Spawn(player, world.Vec3{}, world.Vec3{}) },
		Leave: func(s *server.Session) { w.Destroy(s.Entity()) },
		Input: server.OnInput(sticks, func(s *server.Session, _ uint64, in stick) {
			purseOf.Mut(s.Entity()).Gold = int32(in.X)
		}),
		Commands: []server.Command{server.OnQuery(buying, func(s *server.Session, _ world.Entity, args buy) (bought, error) {
			return bought{int32(args.Count)}, s.Send(chime{args.Count})
		})},
	}}
}

// serveOldGame serves oldGame to pages until the test ends.
func serveOldGame(t *testing.T) *server.Server {
	s, err := server.Listen(server.Config{Listen: "127.0.0.1:0", Web: &server.WebConfig{}, WorldConfig: oldGame(t)})
	require.NoError(t, err)
	ctx, stop := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- s.Serve(ctx) }()
	t.Cleanup(func() {
		stop()
		require.NoError(t, <-served)
	})
	return s
}

// newerThanOldGame is the schema of a page that was built with a newer version.
const newerThanOldGame = `worldd schema 2
component mana
Points uint 8
component purse
Fee uint 8
Copper int 32
input
X int 16
Jump bool
command buy
Count uint 8
Note string 5
answer
Left int 64
Tax int 8
command sell
event chime
Loud bool
Serial uint 16
`

// unlikeOldGame is a schema whose field types do not convert to oldGame's.
const unlikeOldGame = `worldd schema 2
component purse
Gold string 8
input raw
command buy raw
`

// TestVersions plays pages that were built with another version of the game than their server.
func TestVersions(t *testing.T) {
	t.Parallel()
	s := serveOldGame(t)
	hashes, err := s.WebCertificates()
	require.NoError(t, err)
	options, err := json.Marshal(map[string]any{
		"url": fmt.Sprintf("https://127.0.0.1:%d/worldd", s.Addr().Port), "hashes": hashes,
		"declared": newerThanOldGame, "misfit": unlikeOldGame,
	})
	require.NoError(t, err)
	files := fstest.MapFS{
		"index.html": {Data: page("versions.js")}, "versions.js": {Data: testPage(t, "versions")}, "versions.json": {Data: options},
	}
	browsertest.Each(t, func(t *testing.T, b browsertest.Browser) {
		report := b.Open(t, browsertest.NewSite(t, http.FileServerFS(files)), "/index.html").Next()
		require.JSONEq(t, `{
			"changes": [
				"component \"mana\": the server lacks it",
				"component \"purse\": field added Fee",
				"component \"purse\": field renamed Gold to Copper",
				"component \"purse\": field changed: server \"Gold int 20\", client \"Copper int 32\"",
				"component \"purse\": field dropped Debt",
				"input: field changed: server \"X int 8\", client \"X int 16\"",
				"input: field added Jump",
				"input: field dropped Z",
				"command \"buy\": field changed: server \"Count uint 5\", client \"Count uint 8\"",
				"command \"buy\": field added Note",
				"answer of command \"buy\": field changed: server \"Left int 32\", client \"Left int 64\"",
				"answer of command \"buy\": field added Tax",
				"command \"sell\": the server lacks it",
				"event \"chime\": field added Loud",
				"event \"chime\": field changed: server \"Serial uint 8\", client \"Serial uint 16\""
			],
			"seen": {"Copper": 5, "Fee": 3},
			"answer": {"Left": "31", "Tax": 0},
			"heard": [{"Serial": 31, "Loud": true}],
			"lacking": "unknown-command",
			"simulate": true,
			"misfit": {"changes": 0, "misfits": [
				{"item": "component \"purse\"", "declared": "Gold string 8", "received": "Gold int 20"},
				{"item": "command \"buy\"", "declared": "command buy raw", "received": "command buy"}
			]},
			"strict": {"changes": 15, "misfits": []}
		}`, string(report))
	})
}
