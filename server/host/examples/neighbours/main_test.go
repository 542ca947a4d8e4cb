package main

import (
	"os"
	"os/exec"
	"regexp"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/client"
	"github.com/worldd/worldd/internal/programtest"
	"github.com/worldd/worldd/loadtest/rig"
	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/server"
	"github.com/worldd/worldd/server/host"
	"github.com/worldd/worldd/world"
)

const asMain = "NEIGHBOURS_TEST_AS_MAIN"

func TestMain(m *testing.M) {
	if os.Getenv(asMain) != "" {
		main()
	}
	os.Exit(m.Run())
}

// roomOf makes a room for a rig, with the k-th range of generations.
func roomOf(t *testing.T, name string, k uint32) (*Field, server.Config) {
	f, err := NewField(host.Options{Room: server.RoomRequest{Kind: name, Generations: server.Generations{First: k*world.RunGenerations + 1, Last: (k+1)*world.RunGenerations - 1}}})
	require.NoError(t, err)
	return f, server.Config{Room: name, WorldConfig: f.Config()}
}

// player is a client with its view of walkers and ghosts.
type player struct{ *rig.Client }

func (p player) ghost(name string) (e *client.Entity, at Ghost) {
	for e := range p.Replica().All() {
		if g, ok := client.Of(ghosts).Get(e); ok && g.Name == name {
			return e, g
		}
	}
	return nil, Ghost{}
}

func (p player) walker(name string) *client.Entity {
	for e := range p.Replica().All() {
		if w, ok := client.Of(walkers).Get(e); ok && w.Name == name {
			return e
		}
	}
	return nil
}

func (p player) x(e *client.Entity) float32 {
	body, _ := client.Body.Get(e)
	return body.Position[0]
}

// Ann walks from the west to the east. Bob, who stands there, sees her ghost before, and herself then, with her place and speed. No handle
// of the west is hers in the east, and without the east the ghosts of its walkers end.
func TestWalkerCrossesTheBorder(t *testing.T) {
	west, westConfig := roomOf(t, "west", 0)
	east, eastConfig := roomOf(t, "east", 1)
	r, err := rig.New(1, rig.Config{Server: westConfig, Rooms: []server.Config{eastConfig}, Link: rig.Link{Delay: 20 * time.Millisecond}})
	require.NoError(t, err)
	defer r.Close()
	west.host, east.host = r.Room("west"), r.Room("east")
	join := func(name, room string) player {
		c, err := r.Dial(client.Config{Name: name, Room: room, Schema: protocol})
		require.NoError(t, err)
		return player{c}
	}
	ann, bob := join("ann", "west"), join("bob", "east")
	place := func(f *Field, e world.Entity, x float32) { f.world.SetPosition(e, world.Vec3{X: x}) }
	place(west, ann.Controlled(), -30)
	place(east, bob.Controlled(), 5)
	require.NoError(t, r.RunUntil(time.Second, func() bool { e, _ := ann.ghost("bob"); return e != nil }))
	e, _ := bob.ghost("ann")
	require.Nil(t, e, "she is far from the border")

	west.world.SetVelocity(ann.Controlled(), world.Vec3{X: 3})
	require.NoError(t, r.RunUntil(10*time.Second, func() bool { e, _ := bob.ghost("ann"); return e != nil }))
	ghost, first := bob.ghost("ann")
	shown := ghost.Handle()
	require.Nil(t, bob.walker("ann"))
	require.NoError(t, r.RunFor(time.Second))
	_, later := bob.ghost("ann")
	require.InDelta(t, 3, later.X-first.X, 0.5)

	before := ann.Controlled()
	require.NoError(t, r.RunUntil(10*time.Second, func() bool { return ann.Welcome().Room == "east" && bob.walker("ann") != nil }))
	require.InDelta(t, margin, bob.x(bob.walker("ann")), 1)
	require.Equal(t, wire.Stale, ann.Resolve(before))
	require.NoError(t, r.RunFor(time.Second))
	e, _ = bob.ghost("ann")
	require.Nil(t, e)
	require.Equal(t, wire.Stale, bob.Resolve(shown))
	require.Greater(t, bob.x(bob.walker("ann")), float32(margin+2), "she walks on")

	cid := join("cid", "west")
	dee, err := east.world.Spawn(east.walker, world.Vec3{X: 4}, world.Vec3{})
	require.NoError(t, err)
	east.walkers.Set(dee, Walker{"dee"})
	seesDee := func() bool { e, _ := cid.ghost("dee"); return e != nil }
	require.NoError(t, r.RunUntil(time.Second, seesDee))
	require.NoError(t, ann.Close())
	require.NoError(t, bob.Close())
	r.EndRoom("east")
	require.NoError(t, r.RunUntil(3*time.Second, func() bool { return !seesDee() }))
}

func run(t *testing.T, args ...string) (string, error) {
	self, err := os.Executable()
	require.NoError(t, err)
	program := exec.CommandContext(t.Context(), self, args...)
	program.Env = append(os.Environ(), asMain+"=1")
	out, err := program.CombinedOutput()
	return string(out), err
}

// The bots play the demo without a mistake, and cross the border.
func TestDemo(t *testing.T) {
	crossed := regexp.MustCompile(`crossings\s+[1-9]`)
	var out string
	var err error
	programtest.PlayLonger(t, "10s", "1m", func(duration string) (string, bool) {
		out, err = run(t, "demo", "--bots=8", "--duration="+duration)
		return out, err == nil && crossed.MatchString(out)
	})
	require.NoError(t, err, "%s", out)
	require.Contains(t, out, "8 bots")
	require.Regexp(t, crossed, out)
}

// Journals, recordings and replays repeat the rooms.
func TestDeterminism(t *testing.T) {
	out, err := run(t, "check", "--determinism")
	require.NoError(t, err, "%s", out)
	require.Regexp(t, `room east: deterministic: .*\n.*room west: deterministic: `, out)
}
