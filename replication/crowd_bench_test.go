package replication_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/internal/scenes"
	"github.com/worldd/worldd/internal/scenes/messages"
	"github.com/worldd/worldd/replication"
	"github.com/worldd/worldd/replication/schema"
	"github.com/worldd/worldd/replication/wire"
)

// BenchmarkCrowd measures a server of the storm world with 500 moving clients. More
// entities move than the budget allows, so every datagram is filled by priority, and each
// client sees another part of the world. Every client gets a snapshot per period of 2 ticks
// (30 a second), or of 16 ticks as on an overloaded server. It acknowledges 2 to 12 ticks
// later, or when the next snapshot is due. The benchmark reports the median and the minimum
// time of a tick's snapshots, including the frame.
func BenchmarkCrowd(b *testing.B) {
	for _, period := range []int{2, 16} {
		b.Run(fmt.Sprintf("period=%d", period), func(b *testing.B) { benchmarkCrowd(b, period) })
	}
}

func benchmarkCrowd(b *testing.B, period int) {
	c := newCrowd(b, 500, period)
	for range 600 {
		c.step()
		c.send()
	}
	before, sent := c.rep.Stats(), 0
	c.reportLeast(b, c.step, c.send, func() { sent += len(c.due) })
	after := c.rep.Stats()
	rows := float64(after.Rows - before.Rows)
	b.ReportMetric(rows/float64(sent), "rows/snapshot")
	b.ReportMetric(float64(after.StateBytes-before.StateBytes)/float64(sent), "bytes/snapshot")
	b.ReportMetric(float64(after.RowsCopied-before.RowsCopied)/rows, "shared")
}

// crowdedWorld is the storm world with moving clients.
type crowdedWorld struct {
	*manyViewers
	scene   *scenes.Scene
	period  int // ticks
	heading []float64
	due     []int // viewers with a snapshot in this tick
}

func newCrowd(b *testing.B, clients, period int) *crowdedWorld {
	file := must.Get(scenes.Named("storm"))
	file.Limits.MaxPlayers = clients
	scene := must.Get(scenes.Build(file))
	s := schema.New()
	schema.Define[schema.Body](s, schema.BodyComponent)
	schema.Define[messages.Identity](s, messages.Identities.Name())
	require.NoError(b, s.Err())
	rep := must.Get(replication.New(scene.World, s, replication.Config{
		SnapshotHz: scene.World.TickHz() / 2, BudgetBytesPerSecond: file.BudgetBytesPerSecond,
		EnterRadius: file.Interest.EnterRadius, LeaveRadius: file.Interest.LeaveRadius,
	}))
	c := &crowdedWorld{
		manyViewers: &manyViewers{t: b, world: scene.World, rep: rep, written: make([]uint32, clients), rand: rand.New(rand.NewPCG(1, 4))},
		scene:       scene, period: period, heading: make([]float64, clients),
	}
	for range clients {
		h := must.Get(scene.Join())
		c.crowd = append(c.crowd, h)
		c.viewers = append(c.viewers, rep.AddViewer(h))
	}
	return c
}

// step moves every client, and makes those with a due acknowledgement send it.
func (c *crowdedWorld) step() {
	for i, h := range c.crowd {
		c.heading[i] += 0.1 * c.rand.NormFloat64()
		c.scene.Steer(h, [2]float32{float32(math.Cos(c.heading[i])), float32(math.Sin(c.heading[i]))})
	}
	c.world.Step()
	c.rep.AfterStep()
	c.due = c.due[:0]
	for i, v := range c.viewers {
		if i%c.period != int(c.rep.Tick())%c.period {
			continue
		}
		c.due = append(c.due, i)
		if late := uint32(2 * (1 + i%5) / c.period); v.Numbers().Seq > late {
			require.NoError(c.t, v.Acknowledge(wire.Ack{Seen: true, Newest: v.Numbers().Seq - late, Mask: 1<<64 - 1, Structure: c.written[i]}))
		}
	}
}

func (c *crowdedWorld) send() {
	c.rep.Capture()
	list := make([]*replication.Viewer, len(c.due))
	for n, i := range c.due {
		list[n] = c.viewers[i]
	}
	for n, u := range c.rep.Snapshots(list) {
		if len(u.Stream) > 0 {
			c.written[c.due[n]] += c.records(u.Stream)
		}
	}
}
