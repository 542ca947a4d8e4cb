package replication_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/client"
	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/internal/racetest"
	"github.com/worldd/worldd/internal/shorttest"
	"github.com/worldd/worldd/replication"
	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/world"
)

var sdkTicks = flag.Int("sdk.ticks", 600, "ticks of TestSDKComputesTheStorm")

// sdkClient is package client's replica of a viewer.
type sdkClient struct {
	*appliedClient
	t        testing.TB
	w        *world.World
	late     [][]byte
	compared int
}

func newSDKClient(t testing.TB, r *replication.Replicator, w *world.World) *sdkClient {
	c := &sdkClient{t: t, w: w}
	c.appliedClient = newAppliedClient(t, r, w.TickHz(), client.SessionConfig{Simulate: true, Observer: client.Observer{
		Diverge: func(tick uint32, of []bulk.Handle) { require.Fail(t, "diverged", "tick %d: %v", tick, of) },
	}})
	return c
}

// Structure and Ack make it a mischiefClient.
func (c *sdkClient) Structure() uint32 { return c.Ack().Structure }

func (c *sdkClient) Ack() wire.Ack { return c.Stats().Ack }

// stream applies structure.
func (c *sdkClient) stream(b []byte) {
	require.NoError(c.t, c.session.ReceiveStream(b), "tick %d", c.w.Tick())
}

// datagrams applies datagrams. Some of them are lost, late or repeated.
func (c *sdkClient) datagrams(r *rand.Rand, all [][]byte) {
	late := c.late
	c.late = nil
	for _, d := range all {
		switch r.IntN(10) {
		case 0: // lost
		case 1:
			c.late = append(c.late, append([]byte{}, d...))
		case 2:
			late = append(late, d)
			fallthrough
		default:
			must.Get(c.ApplyState(d))
		}
	}
	for _, d := range late {
		must.Get(c.ApplyState(d))
	}
}

// compare compares the computed bodies with the world.
func (c *sdkClient) compare() {
	for e := range c.All() {
		got, tick, ok := e.Exact()
		slot := e.Handle().Index()
		if !ok || uint64(tick) != c.w.Tick() || c.w.Slots().Handle(slot) != e.Handle() {
			continue
		}
		want := must.Have(c.w.Slots().Exact(slot))
		require.Equal(c.t, want, got, "%v of kind %d in tick %d, disturbed in %d", e.Handle(), e.Kind(), tick, c.w.Slots().Disturbed(slot))
		c.compared++
	}
}

// P1 with both halves: package client computes the world's bodies, bit for bit.
func TestSDKComputesTheStorm(t *testing.T) {
	racetest.SkipSequential(t)
	m := newStormWorld(t, 6, 0, replication.Config{}, true)
	var clients []*sdkClient
	for range m.viewers {
		clients = append(clients, newSDKClient(t, m.rep, m.world))
	}
	for range *sdkTicks {
		m.step()
		for i, w := range dueViewers(m.rep, m.viewers) {
			if len(w.acks) > 1+i%3 {
				require.NoError(t, w.Acknowledge(w.acks[0]))
				w.acks = w.acks[1:]
			}
			u := w.Snapshot()
			clients[i].stream(u.Stream)
			clients[i].datagrams(m.rand, u.Datagrams)
			clients[i].compare()
			w.acks = append(w.acks, clients[i].Stats().Ack)
		}
	}
	for _, c := range clients {
		n := c.Stats()
		t.Logf("%d compared; %+v", c.compared, n)
		require.Greater(t, c.compared, *sdkTicks)
		require.Positive(t, n.Motion.Audited)
		require.Zero(t, n.Motion.Faults+n.Faults)
	}
}

// lossyClient is the client of a viewer of a disturbedWorld.
type lossyClient struct {
	*sdkClient
	rand *rand.Rand
}

func (c *lossyClient) receive(stream []byte, datagrams [][]byte) {
	c.stream(stream)
	if datagrams != nil {
		c.datagrams(c.rand, datagrams)
		c.compare()
	}
}

// P1 with both halves, in a disturbedWorld.
func TestSDKUnderMischief(t *testing.T) {
	for seed := range shorttest.Pick[uint64](16, 3) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			m := newDisturbedWorld(t, seed, 4, replication.Config{BudgetBytesPerSecond: []int{64_000, 4_000}[seed%2]})
			var clients []mischiefClient
			for range m.viewers {
				clients = append(clients, &lossyClient{newSDKClient(t, m.rep, m.world), m.rand})
			}
			m.play(600, clients)
			compared, audited := 0, uint64(0)
			for _, c := range clients {
				c := c.(*lossyClient)
				compared, audited = compared+c.compared, audited+c.Stats().Motion.Audited
			}
			t.Logf("%d compared, %d audits", compared, audited)
			require.Positive(t, compared)
		})
	}
}
