//go:build unix

package main

import (
	"context"
	_ "embed"
	"encoding/json"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/browsertest"
	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/replication/schema"
	"github.com/worldd/worldd/server"
	"github.com/worldd/worldd/world"
)

// liveRooms watches the live page while its session moves.
//
//go:embed testdata/live_rooms.js
var liveRooms string

// crossing is a game whose lobby moves its sessions to the room "match" while opened.
type crossing struct{ opened atomic.Bool }

// newRoom makes a room.
func (c *crossing) newRoom(q server.RoomRequest) (*server.RoomGame, error) {
	w, err := world.New(world.Config{FirstGeneration: q.Generations.First, LastGeneration: q.Generations.Last})
	if err != nil {
		return nil, err
	}
	player, err := w.AddKind(world.Kind{Name: "player", Body: &world.BodyDef{Kinematic: true}})
	if err != nil {
		return nil, err
	}
	var room *server.Room
	err = w.AddSystem(world.Before, "cross", func(w *world.World) {
		for s := range room.Sessions() {
			if q.Kind == "lobby" && c.opened.Load() {
				_ = s.Move("match") // repeated while the session moves
			}
		}
	})
	game := server.Hooks{
		Join:  func(*server.Session) (world.Entity, error) { return w.Spawn(player, world.Vec3{}, world.Vec3{}) },
		Leave: func(s *server.Session) { w.Destroy(s.Entity()) },
	}
	return &server.RoomGame{WorldConfig: server.WorldConfig{World: w, Schema: schema.NewWithBody(), Hooks: game}, Attach: func(r *server.Room) { room = r }}, err
}

// TestLivePageMoves: the page follows its session to another room. Each handle that it held
// before is stale there.
func TestLivePageMoves(t *testing.T) {
	t.Parallel()
	var c crossing
	s := must.Get(server.Listen(server.Config{
		Listen: "127.0.0.1:0", AdminListen: "127.0.0.1:0", Web: &server.WebConfig{}, Rooms: &server.RoomsConfig{
			Kinds:   map[string]server.RoomKind{"lobby": {New: c.newRoom, Pinned: true}, "match": {New: c.newRoom, Pinned: true}},
			Default: "lobby",
		},
	}))
	ctx, stop := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- s.Serve(ctx) }()
	t.Cleanup(func() {
		stop()
		require.NoError(t, <-served)
	})
	browsertest.Each(t, func(t *testing.T, b browsertest.Browser) {
		c.opened.Store(false)
		page := b.Open(t, liveSite(t, "http://"+s.AdminAddr().String(), liveRooms), "/live")
		require.JSONEq(t, `"holds"`, string(page.Next()))
		c.opened.Store(true)
		report := page.Next()
		t.Logf("%s", report)
		var p struct {
			Held   []string
			Joined bool
		}
		require.NoError(t, json.Unmarshal(report, &p))
		require.True(t, p.Joined)
		require.Contains(t, strings.Join(p.Held, "\n"), "of another room")
	})
}

// shownCluster is a cluster with two other nodes, in which this one has no room.
type shownCluster struct{ server.Cluster }

func (shownCluster) Answer(func(context.Context, []byte) ([]byte, error)) {}
func (shownCluster) Receive(func([]byte) error)                           {}
func (shownCluster) AnswerMoves(func(context.Context, []byte) error)      {}

func (shownCluster) FindRoom(string) string { return "" }

func (shownCluster) Status() server.ClusterStatus {
	return server.ClusterStatus{Node: "a", Margin: 4 * time.Second, Stored: []string{"match/7"}, Nodes: []server.ClusterNode{
		{Name: "a"}, {Name: "b", Rooms: []string{"lobby", "match/1"}}, {Name: "c", Dead: true},
	}}
}

// clusterProbe reports what the operator's page shows of a cluster.
const clusterProbe = `
while (document.getElementById("cluster").hidden) await new Promise(resolve => setTimeout(resolve, 50))
browsertest.report([...document.querySelectorAll("#nodes tr"), document.getElementById("lease")].map(e => e.innerText.replaceAll(/\s+/g, " ").trim()))
`

// TestOperatorPageShowsCluster: the operator sees the nodes of the cluster and their rooms.
func TestOperatorPageShowsCluster(t *testing.T) {
	t.Parallel()
	s := must.Get(server.Listen(server.Config{
		Listen: "127.0.0.1:0", AdminListen: "127.0.0.1:0", Web: &server.WebConfig{}, Cluster: shownCluster{},
		Rooms: &server.RoomsConfig{Kinds: map[string]server.RoomKind{"lobby": {New: new(crossing).newRoom}}},
	}))
	ctx, stop := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- s.Serve(ctx) }()
	t.Cleanup(func() {
		stop()
		require.NoError(t, <-served)
	})
	browsertest.Each(t, func(t *testing.T, b browsertest.Browser) {
		report := b.Open(t, liveSite(t, "http://"+s.AdminAddr().String(), clusterProbe), "/operator").Next()
		require.JSONEq(t, `["a (this one) alive 0", "b alive 2: lobby, match/1", "c dead 0", "stored, on no node 1: match/7", "The rooms of this node may run for 4.0 s more."]`, string(report))
	})
}
