package rig_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/client"
	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/internal/scenes"
	"github.com/worldd/worldd/internal/scenes/messages"
	"github.com/worldd/worldd/internal/scenes/rules"
	"github.com/worldd/worldd/internal/shorttest"
	"github.com/worldd/worldd/loadtest/rig"
	"github.com/worldd/worldd/replication"
	"github.com/worldd/worldd/server"
	"github.com/worldd/worldd/world/motion"
)

// linkedStorm is the storm with clients over a bad link, and the exact states of its bodies by tick
// and handle.
type linkedStorm struct {
	*rig.Rig
	t       *testing.T
	scene   *scenes.Scene
	clients []*rig.Client
	random  *rand.Rand
	history map[uint32]map[bulk.Handle]motion.State
	equal   int // states of clients compared with the server's
}

// historyTicks is the number of ticks for which states are kept: longer than a snapshot may be
// under way.
const historyTicks = 100

func newLinkedStorm(t *testing.T) *linkedStorm {
	file := must.Get(scenes.Named("storm"))
	scene := must.Get(scenes.Build(file))
	game := rules.New(scene)
	q := &linkedStorm{t: t, scene: scene, random: rand.New(rand.NewPCG(3, 3)), history: map[uint32]map[bulk.Handle]motion.State{}}
	q.Rig = must.Get(rig.New(1, rig.Config{Server: server.Config{
		WorldConfig: server.WorldConfig{
			World: scene.World, Schema: messages.Schema, Hooks: game.Hooks(),
			Replication: replication.Config{
				EnterRadius: file.Interest.EnterRadius, LeaveRadius: file.Interest.LeaveRadius, SnapshotHz: file.SnapshotHz,
			},
		},
	}, Link: rig.Link{Delay: 40 * time.Millisecond, Jitter: 20 * time.Millisecond, Loss: 0.03, Reorder: 0.02, Duplicate: 0.01}}))
	t.Cleanup(q.Close)
	game.Attach(q.Core())
	for i := range 4 { // the last receives ordinary rows
		c := must.Get(q.Dial(client.Config{Name: fmt.Sprint("player", i), Schema: messages.Schema, Simulate: i < 3}))
		q.clients = append(q.clients, c)
	}
	return q
}

// step makes a tick in which a client may steer or poke, and compares what clients computed.
func (q *linkedStorm) step() {
	require.NoError(q.t, q.Step())
	w := q.scene.World
	now, states := uint32(w.Tick()), map[bulk.Handle]motion.State{}
	for slot := range w.Slots().Len() {
		if state, ok := w.Slots().Exact(slot); ok {
			states[w.Slots().Handle(slot)] = state
		}
	}
	q.history[now] = states
	delete(q.history, now-historyTicks)
	for i, c := range q.clients {
		q.compare(i)
		if c.State() == client.Joined && q.random.IntN(100) == 0 {
			q.scene.Steer(c.Controlled(), [2]float32{q.random.Float32()*2 - 1, q.random.Float32()*2 - 1})
		}
	}
	if q.random.IntN(20) == 0 {
		q.scene.Poke(w.Slots().Handle(q.random.Uint32N(w.Slots().Len())))
	}
}

// compare requires that each state that a client computed equals the server's of that tick.
func (q *linkedStorm) compare(number int) {
	for e := range q.clients[number].Replica().All() {
		state, tick, ok := e.Exact()
		if !ok {
			continue
		}
		if want, lived := q.history[tick][e.Handle()]; lived {
			require.Equal(q.t, want, state, "%v of player %d, tick %d", e.Handle(), number, tick)
			q.equal++
		}
	}
}

// P1, P4: over a link with loss, and through a broken connection, clients compute the storm to
// the bit, and the server's audits agree.
func TestClientsComputeTheStorm(t *testing.T) {
	q := newLinkedStorm(t)
	seconds := shorttest.Pick(20, 4)
	for tick := range 60 * seconds {
		q.step()
		if tick == 30*seconds {
			q.clients[0].Break()
		}
	}
	require.Greater(t, q.equal, 10_000*seconds)
	for _, c := range q.clients[:3] {
		require.Equal(t, client.Joined, c.State())
		n := c.Stats().Replica
		require.Greater(t, n.Motion.Clean, 50)
		require.Greater(t, n.Motion.Audited, uint64(3*seconds))
		require.Zero(t, n.Motion.Faults)
		require.Zero(t, n.Faults)
	}
	require.Zero(t, q.clients[3].Stats().Replica.Motion)
	require.EqualValues(t, 1, q.Core().Stats().Resumed)
	require.Zero(t, q.Core().Stats().PredictionFaults)
}
