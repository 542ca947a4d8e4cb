//go:build unix

package host

import (
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/client"
	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/replication/wire"
)

// traveller is a bot of the caravan. It remembers whose every camel is.
type traveller struct {
	own        *client.Client
	user       string
	remembered map[bulk.Handle]string
	confusions []string
	seen       []*client.Entity // since the last check
	took       []time.Duration
	refused    int
}

func (c *processes) newTraveller(node, user, room string) *traveller {
	return must.Get(dialTraveller(c.Context(), user, room, c.addrs[node]))
}

func dialTraveller(ctx context.Context, user, room string, addrs ...string) (t *traveller, err error) {
	t = &traveller{user: user, remembered: map[bulk.Handle]string{}}
	began := time.Now()
	t.own, err = client.Dial(ctx, client.Config{
		Addr: addrs[0], Addrs: addrs[1:], InsecureDev: true, Room: room, Schema: caravanSchema, Token: []byte(user),
		FreshToken: func(context.Context) ([]byte, error) { return []byte(user), nil },
		Observer:   client.Observer{Enter: func(e *client.Entity) { t.seen = append(t.seen, e) }},
	})
	t.took = append(t.took, time.Since(began))
	return t, err
}

// update updates the client, and compares the camels in view with those that it remembers.
func (t *traveller) update() error {
	err := t.own.Update()
	for _, e := range t.seen {
		if v, ok := client.Of(owners).Get(e); ok {
			was, known := t.remembered[e.Handle()]
			if known && was != v.User {
				t.confusions = append(t.confusions, fmt.Sprintf("%s: %v was %s's and is %s's", t.user, e.Handle(), was, v.User))
			}
			t.remembered[e.Handle()] = v.User
		}
	}
	t.seen = t.seen[:0]
	return err
}

// stay plays on for a time.
func (t *traveller) stay(lasts time.Duration) {
	for began := time.Now(); time.Since(began) < lasts; time.Sleep(10 * time.Millisecond) {
		if t.update() != nil {
			return // travel says why
		}
	}
}

// travel goes to a room, and returns when it is there, or when it stays.
func (t *traveller) travel(ctx context.Context, to string) error {
	began := time.Now()
	if _, err := client.Do(t.own, goCommand, 0, goTo{to}); err != nil {
		return err
	}
	for {
		if err := t.update(); err != nil {
			return err
		}
		if t.own.State() == client.Joined && t.own.Welcome().Room == to {
			t.took = append(t.took, time.Since(began))
			return t.checkHandles()
		}
		if time.Since(began) > 10*time.Second {
			t.refused++
			return nil
		}
		if err := t.own.Wait(ctx); err != nil {
			return err
		}
	}
}

// checkHandles checks that no camel of an earlier room is live.
func (t *traveller) checkHandles() error {
	for h, user := range t.remembered {
		if t.own.Resolve(h) == wire.Live && t.own.Entity(h) == nil {
			t.confusions = append(t.confusions, fmt.Sprintf("%s: %v of %s is live and not there", t.user, h, user))
		}
	}
	return nil
}

// journeys checks that each user was in one room at a time, and returns the numbers of joins and of departures.
func (c *processes) journeys(path string) (joins, departs int) {
	where := map[string]string{}
	for line := range strings.Lines(wholeLines(path)) {
		var what, user, room string
		must.Get(fmt.Sscan(line, &what, &user, &room))
		switch what {
		case "join":
			require.Empty(c, where[user], "%s joins %s", user, room)
			where[user] = room
			joins++
		case "leave":
			require.Equal(c, room, where[user], "%s leaves", user)
			where[user] = ""
		case "depart":
			require.Empty(c, where[user], "%s departs from %s", user, room)
			departs++
		}
	}
	return joins, departs
}

// killOnTheWay sends a player from a node to a room of the other, and kills a node once the player's client has the pass, which it has not shown
// yet. Its next process starts before the player follows the pass. The player arrives in the room.
func (c *processes) killOnTheWay(t *traveller, from, to string, kill func()) {
	joined := regexp.MustCompile(`"connection":([1-9]\d*),"user":"` + t.user + `"`)
	was := t.own.Welcome().Session
	must.Get(client.Do(t.own, goCommand, 0, goTo{to}))
	require.NoError(c, t.update()) // sends the command; the client follows a pass in the next call
	c.until("the pass is sent", func() bool {
		said := c.nodes[from].output()
		all := joined.FindAllStringSubmatch(said, -1)
		return all != nil && regexp.MustCompile(`"ended","connection":`+all[len(all)-1][1]+`,.*"by":"server","code":"moved"`).MatchString(said)
	})
	kill()
	c.until("the player is there", func() bool {
		require.NoError(c, t.update())
		return t.own.State() == client.Joined && t.own.Welcome().Session != was
	})
	require.Equal(c, to, t.own.Welcome().Room)
	require.NoError(c, t.checkHandles())
	require.Empty(c, t.confusions)
}

// TestTravellersOfACluster: players go from room to room on two nodes, by passes. No player is in two rooms, none is lost with its number of
// ways, and no handle names another entity. That holds also if the node that has issued a pass, or the one that the player leaves, is killed
// before the player arrives.
func TestTravellersOfACluster(t *testing.T) {
	if testing.Short() {
		t.Skip("starts servers")
	}
	c := startEngine(t)
	path := filepath.Join(c.dir, "journeys")
	t.Setenv(journeyFile, path)
	c.settle()
	start := func(node string) { c.startProgram("caravan", node, "own-"+node, 2*soon) } // rooms move when players are sent, not because a node was silent
	start("a")
	start("b")
	rooms := []string{"inn/1", "inn/2", "inn/3", "inn/4"}
	var guides []*traveller // they make the rooms, half of them on each node
	for i, room := range rooms {
		guides = append(guides, c.newTraveller([]string{"a", "b"}[i%2], fmt.Sprint("guide", i), room))
	}
	const bots, hops = 6, 8
	all := make([]*traveller, bots)
	var work sync.WaitGroup
	errs := make([]error, bots)
	for i := range bots {
		work.Go(func() {
			random := rand.New(rand.NewPCG(uint64(i), 1))
			at := random.IntN(len(rooms))
			b := c.newTraveller([]string{"a", "b"}[i%2], fmt.Sprint("bot", i), rooms[at])
			all[i] = b
			for range hops {
				b.stay(time.Second + 100*time.Millisecond) // a client follows four redirections in a row
				at = (at + 1 + random.IntN(len(rooms)-1)) % len(rooms)
				errs[i] = b.travel(t.Context(), rooms[at])
				if errs[i] != nil {
					return
				}
			}
		})
	}
	stop := make(chan struct{})
	var idle sync.WaitGroup
	for _, g := range guides {
		idle.Go(func() {
			for {
				select {
				case <-stop:
					return
				case <-time.After(20 * time.Millisecond):
					_ = g.update()
				}
			}
		})
	}
	work.Wait()
	close(stop)
	idle.Wait()
	var took []time.Duration
	for i, b := range all {
		require.NoError(t, errs[i])
		require.Empty(t, b.confusions)
		require.Zero(t, b.refused)
		answer, err := must.Get(client.Ask(b.own, waysQuery, 0, askWays{})).Wait(t.Context())
		require.NoError(t, err)
		require.Equal(t, ways{b.user, hops}, answer, "no way is lost, and none counts twice")
		took = append(took, b.took...)
		require.NoError(t, b.own.Close())
	}
	slices.Sort(took)
	joins, departs := c.journeys(path)
	t.Logf("%d joins, %d moves to another node; join or move: median %v, p99 %v, most %v", joins, departs, took[len(took)/2], took[len(took)*99/100], took[len(took)-1])
	require.Equal(t, bots*(hops+1)+len(guides), joins)
	require.Greater(t, departs, bots, "many ways lead to the other node")

	player := guides[0]
	restart := func() {
		require.NoError(t, c.nodes["a"].process.Process.Kill())
		<-c.nodes["a"].ended
		start("a")
	}
	c.killOnTheWay(player, "a", "inn/2", restart)
	guides = append(guides, c.newTraveller("a", "guide4", "inn/5"))
	c.killOnTheWay(player, "b", "inn/5", restart) // no other process honours the pass: the client asks for the room that it was for
	answer, err := must.Get(client.Ask(player.own, waysQuery, 0, askWays{})).Wait(t.Context())
	require.NoError(t, err)
	require.Equal(t, ways{player.user, 2}, answer)
	for _, g := range guides {
		require.Empty(t, g.confusions)
		require.NoError(t, g.own.Close())
	}
	for _, node := range []string{"a", "b"} {
		require.Equal(t, exitOK, c.nodes[node].end(syscall.SIGTERM))
	}
}
