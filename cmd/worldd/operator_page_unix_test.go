//go:build unix

package main

import (
	"context"
	_ "embed"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/client"
	"github.com/worldd/worldd/internal/browsertest"
	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/internal/stage"
	"github.com/worldd/worldd/replication/schema"
	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/server"
	"github.com/worldd/worldd/world"
)

// operatorProbe operates the operator's page and reports what it shows.
//
//go:embed testdata/operator_probe.js
var operatorProbe string

// crates is a server of crates with clients far from each other.
type crates struct {
	*server.Server
	ended map[string]chan error // how each client ended, by name
}

// serveCrates serves a world and its clients until the end of t.
func serveCrates(t *testing.T, names ...string) crates {
	w, joined := stage.NewCrates(world.Config{Seed: 1}), 0
	c := crates{ended: map[string]chan error{}}
	c.Server = must.Get(server.Listen(server.Config{
		Listen: "127.0.0.1:0", AdminListen: "127.0.0.1:0", Web: &server.WebConfig{},
		WorldConfig: server.WorldConfig{World: w.World, Schema: schema.NewWithBody(), Hooks: server.Hooks{
			Join: func(*server.Session) (world.Entity, error) {
				joined++
				return w.Put(float32(100*joined-200), 0), nil
			},
			Leave: func(s *server.Session) { w.Destroy(s.Entity()) },
		}},
	}))
	served := make(chan error, 1)
	ctx, stop := context.WithCancel(t.Context())
	go func() { served <- c.Serve(ctx) }()
	t.Cleanup(func() {
		stop()
		require.NoError(t, <-served)
	})
	for _, name := range names {
		player := must.Get(client.Dial(ctx, client.Config{Addr: c.Addr().String(), Fingerprint: c.Fingerprint(), Schema: schema.NewWithBody(), Name: name}))
		ended := make(chan error, 1)
		c.ended[name] = ended
		go func() {
			for player.Wait(ctx) == nil {
				if err := player.Update(); err != nil {
					ended <- err
					return
				}
			}
			ended <- player.Close()
		}()
	}
	return c
}

// liveWatch watches another session on the live page.
//
//go:embed testdata/live_watch.js
var liveWatch string

// TestLivePageWatches: the live page shows the world as another session sees it, and as its own again.
func TestLivePageWatches(t *testing.T) {
	t.Parallel()
	browsertest.Each(t, func(t *testing.T, b browsertest.Browser) {
		c := serveCrates(t, "ada")
		report := b.Open(t, liveSite(t, "http://"+c.AdminAddr().String(), liveWatch), "/live?watch=1").Next()
		t.Logf("%s", report)
		var p struct {
			Watching, Query string
			Live, Hidden    string
			Axe             []string
		}
		require.NoError(t, json.Unmarshal(report, &p))
		require.Equal(t, "Watching ada, session 1", p.Watching)
		require.Contains(t, p.Live, "crate · in view")
		require.NotContains(t, p.Live, "yours")
		require.Contains(t, p.Hidden, "hidden")
		require.Empty(t, p.Query, "a reload does not watch again")
		requireAccessible(t, p.Axe)
	})
}

// TestOperatorPage opens the page on a server with three sessions. It finds them, keeps the focus while figures change, and kicks
// one only once that is confirmed.
func TestOperatorPage(t *testing.T) {
	t.Parallel()
	browsertest.Each(t, func(t *testing.T, b browsertest.Browser) {
		c := serveCrates(t, "ada", "ben", "eve")
		report := b.Open(t, liveSite(t, "http://"+c.AdminAddr().String(), operatorProbe), "/operator").Next()
		t.Logf("%s", report)
		var p struct {
			All, Found, Left []string
			Coded, Tick99    string
			Kept             bool
			None             struct {
				Rows int
				Said bool
			}
			Watch, Question string
			Asked           struct {
				Open bool
				Rows int
			}
			Profile int
			Trouble string
			Axe     []string
		}
		require.NoError(t, json.Unmarshal(report, &p))
		require.Regexp(t, `^\d+ ada \d+v\d+ \d+ quic \d+ ms [\d.]+ % WatchKick$`, p.All[0])
		require.Contains(t, p.Coded, "state headers")
		require.Regexp(t, `^\d+\.\d\d ms$`, p.Tick99)
		require.True(t, p.Kept, "the focus")
		require.Len(t, p.Found, 1)
		require.Contains(t, p.Found[0], "ben")
		require.Zero(t, p.None.Rows)
		require.True(t, p.None.Said)
		require.Regexp(t, `^live\?watch=\d+$`, p.Watch)
		require.Regexp(t, `^End the session of ada, session \d+\?$`, p.Question)
		require.False(t, p.Asked.Open)
		require.Equal(t, 3, p.Asked.Rows)
		require.Len(t, p.Left, 2)
		require.NotContains(t, p.Left[0]+p.Left[1], "ada")
		require.Greater(t, p.Profile, 100)
		require.Empty(t, p.Trouble)
		requireAccessible(t, p.Axe)
		err := <-c.ended["ada"]
		require.Equal(t, wire.Kicked, wire.CodeOf(err))
		require.ErrorContains(t, err, "be kind")
	})
}
