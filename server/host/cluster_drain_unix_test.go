//go:build unix

package host

import (
	"context"
	"encoding/json"
	goflag "flag"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/client"
	"github.com/worldd/worldd/internal/loopback"
	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/replication/wire"
)

var (
	drainedRooms   = goflag.Int("drained-rooms", 4, "rooms of the node that TestNodeIsDrained drains, at least 2")
	drainedPlayers = goflag.Int("drained-players", 3, "players in each of these rooms")
)

// guest is a player whose room moves to another node.
type guest struct {
	*traveller
	session uint64
	camel   bulk.Handle
	changes []client.StateChange
	stall   time.Duration // longest time without a snapshot
	changed time.Time
	applied uint64
}

// newGuest joins a room by way of a node, whose address is the only one that the guest knows.
func (c *processes) newGuest(node, user, room string) *guest {
	g := &guest{traveller: &traveller{user: user, remembered: map[bulk.Handle]string{}}}
	g.own = must.Get(client.Dial(c.Context(), client.Config{
		Addr: c.addrs[node], InsecureDev: true, Room: room, Schema: caravanSchema, Token: []byte(user),
		FreshToken: func(context.Context) ([]byte, error) { return []byte(user), nil },
		State:      func(s client.StateChange) { g.changes = append(g.changes, s) },
		Observer:   client.Observer{Enter: func(e *client.Entity) { g.seen = append(g.seen, e) }},
	}))
	return g
}

// follow plays on until the context ends.
func (g *guest) follow(ctx context.Context) error {
	for ctx.Err() == nil {
		if err := g.update(); err != nil {
			return err
		}
		if n := g.own.Stats().Replica.Snapshots; n != g.applied {
			if !g.changed.IsZero() {
				g.stall = max(g.stall, time.Since(g.changed))
			}
			g.applied, g.changed = n, time.Now()
		}
		_ = g.own.Wait(ctx)
	}
	return nil
}

// playersIn returns the number of players with connections in a room, as the admin port of its node says.
func (c *processes) playersIn(admin, room string) int {
	var list []struct {
		Name    string
		Players int
	}
	require.NoError(c, json.Unmarshal([]byte(c.ask(admin, "/rooms")), &list))
	for _, r := range list {
		if r.Name == room {
			return r.Players
		}
	}
	return 0
}

// TestNodeIsDrained: the rooms of a node move to the other one while clients play in them: no session ends, no handle is stale, and no client
// is lost although it knows the drained node's address alone. Then the node ends, and another process takes its place. It is killed once a room was
// released for it, before it knows: the room's run continues where it was. The third process of the node gets the room.
func TestNodeIsDrained(t *testing.T) {
	if testing.Short() {
		t.Skip("starts servers")
	}
	c := startEngine(t)
	path := filepath.Join(c.dir, "journeys")
	t.Setenv(journeyFile, path)
	c.settle()
	reserved := loopback.Reserve(t, 2)
	admins := map[string]string{"a": reserved[0], "b": reserved[1]}
	start := func(node string) {
		c.startProgram("caravan", node, "own-"+node, 5*testLease, "--admin="+admins[node], "--drain-for=30s",
			fmt.Sprint("--max-sessions=", max(1024, 2**drainedRooms**drainedPlayers)))
	}
	start("a")
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var guests []*guest
	var rooms []string
	var playing sync.WaitGroup
	errs := make([]error, *drainedRooms**drainedPlayers)
	ready := make(chan struct{}, len(errs))
	for i := range *drainedRooms {
		rooms = append(rooms, fmt.Sprint("inn/", i))
		for k := range *drainedPlayers {
			g, err := c.newGuest("a", fmt.Sprintf("guest%d.%d", i, k), rooms[i]), &errs[len(guests)]
			guests = append(guests, g)
			playing.Go(func() {
				for g.own.Controlled() == 0 && *err == nil {
					*err = g.update()
					time.Sleep(5 * time.Millisecond)
				}
				g.camel, g.session, g.changes = g.own.Controlled(), g.own.Welcome().Session, nil
				ready <- struct{}{}
				*err = g.follow(ctx)
			})
		}
	}
	start("b")
	for range guests {
		<-ready
	}
	c.introduce("a", "b")
	allIn := func(node string, rooms ...string) {
		for _, room := range rooms {
			c.until("the players are in "+room, func() bool { return c.playersIn(admins[node], room) == *drainedPlayers })
		}
	}
	left := func() (lines int) {
		for line := range strings.Lines(wholeLines(path)) {
			if strings.HasPrefix(line, "leave") {
				lines++
			}
		}
		return lines
	}
	began := time.Now()
	status, out := runInn(t.Context(), inn(), "cluster", "drain", "a", "--admin="+admins["a"])
	took := time.Since(began)
	require.Equal(t, exitOK, status, out)
	for _, room := range rooms {
		require.Equal(t, "b", c.home(room), room)
	}
	allIn("b", rooms...)
	require.Equal(t, exitOK, c.nodes["a"].end(syscall.SIGTERM))
	way := c.leadThrough("a")
	start("a")
	c.introduce("a", "b")
	way.held.Lock()
	stays := make(chan int)
	go func() {
		status, _ := runInn(t.Context(), inn(), "cluster", "move", rooms[0], "a", "--admin="+admins["b"])
		stays <- status
	}()
	c.until("the room is released", func() bool { return c.home(rooms[0]) == "" })
	require.NoError(t, c.nodes["a"].process.Process.Kill())
	<-c.nodes["a"].ended
	way.held.Unlock()
	start("a")
	require.NotEqual(t, exitOK, <-stays)
	c.until("the node says why the room stays", func() bool {
		return strings.Contains(c.nodes["b"].output(), "the other node has ended before it had the room")
	})
	c.until("the room is where it was", func() bool { return c.home(rooms[0]) == "b" })
	allIn("b", rooms[0])
	status, out = runInn(t.Context(), inn(), "cluster", "move", rooms[0], "a", "--admin="+admins["b"])
	require.Equal(t, exitOK, status, out)
	c.until("the room is back", func() bool { return c.home(rooms[0]) == "a" })
	allIn("a", rooms[0])
	stop()
	playing.Wait()
	require.Zero(t, left(), "no session has ended")
	var stalls []time.Duration
	for i, g := range guests {
		require.NoError(t, errs[i])
		c.until(g.user+" has joined", func() bool { return g.update() != nil || g.own.State() == client.Joined })
		require.Empty(t, g.confusions)
		require.Equal(t, client.Joined, g.own.State(), "%+v", g.changes)
		require.Equal(t, g.session, g.own.Welcome().Session, "%+v", g.changes)
		require.Equal(t, g.camel, g.own.Controlled())
		require.Equal(t, wire.Live, g.own.Resolve(g.camel))
		for _, s := range g.changes {
			require.True(t, s.State == client.Reconnecting || s.Resumed || s.Restored, "%+v", s)
		}
		if i >= *drainedPlayers { // the first room has moved more often
			stalls = append(stalls, g.stall)
		}
	}
	slices.Sort(stalls)
	t.Logf("%d rooms with %d players each: moved in %v; time without a snapshot: median %v, p99 %v, most %v",
		*drainedRooms, *drainedPlayers, took, stalls[len(stalls)/2], stalls[len(stalls)*99/100], stalls[len(stalls)-1])
	for _, g := range guests {
		require.NoError(t, g.own.Close())
	}
	for _, node := range []string{"a", "b"} {
		require.Equal(t, exitOK, c.nodes[node].end(syscall.SIGTERM))
	}
}
