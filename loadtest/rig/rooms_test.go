package rig_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/client"
	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/loadtest/rig"
	"github.com/worldd/worldd/replication/schema"
	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/server"
	"github.com/worldd/worldd/world"
)

// roomConfig returns a room with the k-th range of generations. Its players are crates.
func roomConfig(t *testing.T, name string, k uint32) server.Config {
	const block = world.RunGenerations
	w := must.Get(world.New(world.Config{FirstGeneration: k*block + 1, LastGeneration: (k+1)*block - 1}))
	crate := must.Get(w.AddKind(world.Kind{Name: "crate", Body: &world.BodyDef{Mass: 1, Radius: 0.5, Friction: 1}}))
	s := schema.New()
	schema.Define[schema.Body](s, schema.BodyComponent)
	require.NoError(t, s.Err())
	return server.Config{Room: name, WorldConfig: server.WorldConfig{World: w, Schema: s, Hooks: server.Hooks{
		Join:  func(*server.Session) (world.Entity, error) { return w.Spawn(crate, world.Vec3{Y: 0.5}, world.Vec3{}) },
		Leave: func(s *server.Session) { w.Destroy(s.Entity()) },
	}}}
}

// A client follows its session to another room over one connection. After an outage it returns
// to that room, and to its first room once the other has ended.
func TestClientFollowsToRooms(t *testing.T) {
	r := must.Get(rig.New(3, rig.Config{
		Server: roomConfig(t, "lobby", 0), Rooms: []server.Config{roomConfig(t, "match/1", 1)},
		Link: rig.Link{Delay: 40 * time.Millisecond, Loss: 0.05},
	}))
	defer r.Close()
	own := schema.New()
	schema.Define[schema.Body](own, schema.BodyComponent)
	require.NoError(t, own.Err())
	var changes []client.StateChange
	var destroyed int
	c := must.Get(r.Dial(client.Config{
		Schema: own, Room: "lobby", State: func(s client.StateChange) { changes = append(changes, s) },
		Observer: client.Observer{Destroy: func(world.Entity, uint8) { destroyed++ }},
	}))
	shown := func() bool { return c.Resolve(c.Controlled()) == wire.Live }
	require.NoError(t, r.RunUntil(time.Second, shown))
	before, first := c.Controlled(), c.Welcome()
	require.Equal(t, "lobby", first.Room)
	require.NoError(t, r.Room("lobby").Session(first.Session).Move("match/1"))
	require.NoError(t, r.RunUntil(time.Second, func() bool { return c.Welcome().Room == "match/1" && shown() }))
	require.Equal(t, client.StateChange{State: client.Joined, Moved: true}, changes[len(changes)-1])
	require.Equal(t, first.Session, c.Welcome().Session)
	require.Equal(t, wire.Stale, c.Resolve(before))
	require.Equal(t, 1, destroyed)

	c.SetLink(rig.Link{Delay: 40 * time.Millisecond, Loss: 1})
	require.NoError(t, r.RunFor(5*time.Second))
	c.SetLink(rig.Link{Delay: 40 * time.Millisecond})
	require.NoError(t, r.RunUntil(10*time.Second, func() bool { return c.State() == client.Joined }))
	require.Equal(t, client.StateChange{State: client.Joined, Resumed: true}, changes[len(changes)-1])
	require.Equal(t, "match/1", c.Welcome().Room)

	r.EndRoom("match/1")
	require.NoError(t, r.RunUntil(20*time.Second, func() bool { return c.Welcome().Room == "lobby" && shown() }))
	require.Equal(t, client.StateChange{State: client.Joined, NewWorld: true}, changes[len(changes)-1])
	require.NotEqual(t, first.Session, c.Welcome().Session)
}

func TestRoomsAreChecked(t *testing.T) {
	_, err := rig.New(1, rig.Config{Server: roomConfig(t, "lobby", 0), Rooms: []server.Config{roomConfig(t, "match", 0)}})
	require.ErrorContains(t, err, "share generations")
	_, err = rig.New(1, rig.Config{Server: roomConfig(t, "lobby", 0), Rooms: []server.Config{roomConfig(t, "lobby", 1)}})
	require.ErrorContains(t, err, "two rooms are named")
}

// A lobby and its matches run in the rig, which makes rooms when a client or a session asks for them.
func TestRoomsOnDemand(t *testing.T) {
	var asked []server.RoomRequest
	var lobby server.Config
	r := must.Get(rig.New(4, rig.Config{
		Server: func() server.Config {
			lobby = roomConfig(t, "lobby", 0)
			return lobby
		}(),
		MakeRoom: func(q server.RoomRequest) (server.WorldConfig, error) {
			if q.Kind != "match" {
				return server.WorldConfig{}, &wire.Error{Code: wire.NoRoom}
			}
			asked = append(asked, q)
			c := roomConfig(t, q.Name, q.Generations.First/world.RunGenerations).WorldConfig
			c.MaxSessions = 2
			return c, nil
		},
		Link: rig.Link{Delay: 20 * time.Millisecond},
	}))
	defer r.Close()
	dial := func(room string) *rig.Client {
		return must.Get(r.Dial(client.Config{Schema: lobby.Schema, Room: room}))
	}
	var players []*rig.Client
	for range 3 {
		c := dial("lobby")
		players = append(players, c)
		require.NoError(t, r.Room("lobby").Session(c.Welcome().Session).Move("match?mode=duel"))
	}
	require.NoError(t, r.RunFor(time.Second))
	var rooms []string
	for _, c := range players {
		rooms = append(rooms, c.Welcome().Room)
	}
	require.Equal(t, []string{"match/1", "match/1", "match/2"}, rooms)
	require.Equal(t, map[string]string{"mode": "duel"}, asked[0].Attributes)
	require.Equal(t, "match/2", dial("match?mode=duel").Welcome().Room, "the free place")
	require.Equal(t, "match/3", dial("match?mode=other").Welcome().Room)
	require.Equal(t, "match/final", dial("match/final").Welcome().Room)
	for _, bad := range []string{"nothing/1", "nothing?", "match?Mode=duel", "match/../x"} {
		_, err := r.Dial(client.Config{Schema: lobby.Schema, Room: bad})
		require.Equal(t, wire.NoRoom, wire.CodeOf(err), bad)
	}
	r.EndRoom("match/3")
	require.Equal(t, "match/3", dial("match?mode=other").Welcome().Room, "its name is free")
	require.Len(t, asked, 5)
}
