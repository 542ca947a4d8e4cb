package replication_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/replication"
	"github.com/worldd/worldd/replication/wire"
)

// BenchmarkClean compares the server's cost of 200 ordinary viewers of the storm with the
// cost of 200 that simulate, in turns. An iteration is three ticks with one snapshot for
// each viewer. It reports the time of a step, a frame, a snapshot and an acknowledgement.
func BenchmarkClean(b *testing.B) {
	const viewers = 200
	crowds := []*cleanCrowd{
		{stormWorld: newStormWorld(b, viewers, 0, replication.Config{BudgetBytesPerSecond: 1 << 16}, false)},
		{stormWorld: newStormWorld(b, viewers, 0, replication.Config{BudgetBytesPerSecond: 1 << 16}, true)},
	}
	for range 600 {
		for _, c := range crowds {
			c.tick(b)
		}
	}
	for _, c := range crowds {
		c.steps, c.frames, c.snapshots, c.acks = nil, nil, nil, nil
	}
	for b.Loop() {
		for range 3 {
			for _, c := range crowds {
				c.tick(b)
			}
		}
	}
	for i, name := range []string{"ordinary", "clean"} {
		c := crowds[i]
		whole := 0.0
		for _, part := range []struct {
			name  string
			times []float64
			share float64 // share of a snapshot
		}{{"step", c.steps, 3.0 / viewers}, {"frame", c.frames, 3.0 / viewers}, {"snapshot", c.snapshots, 1}, {"ack", c.acks, 1}} {
			t := trimmedMean(part.times)
			whole += t * part.share
			b.ReportMetric(t, fmt.Sprintf("%s-%s-ns", name, part.name))
		}
		b.ReportMetric(whole, name+"-ns/snapshot")
	}
}

// trimmedMean returns the mean without the greatest tenth, which includes the waits of
// preempted threads.
func trimmedMean(times []float64) (mean float64) {
	slices.Sort(times)
	kept := times[:len(times)-len(times)/10]
	for _, t := range kept {
		mean += t / float64(len(kept))
	}
	return mean
}

// cleanCrowd is a stormWorld whose parts are timed.
type cleanCrowd struct {
	*stormWorld
	steps, frames, snapshots, acks []float64 // ns
}

func (c *cleanCrowd) tick(b *testing.B) {
	c.steer()
	c.world.Step()
	now := time.Now()
	since := func() float64 {
		d := time.Since(now)
		now = time.Now()
		return float64(d.Nanoseconds())
	}
	c.rep.AfterStep()
	c.steps = append(c.steps, since())
	c.rep.Capture()
	c.frames = append(c.frames, since())
	due := 0
	for i, w := range c.viewers {
		if !c.rep.Due(uint64(i)) {
			continue
		}
		due++
		if delay := 1 + i%3; len(w.acks) > delay {
			require.NoError(b, w.Acknowledge(w.acks[0]))
			w.acks = slices.Delete(w.acks, 0, 1)
		}
	}
	c.acks = append(c.acks, since()/float64(due))
	for i, w := range c.viewers {
		if !c.rep.Due(uint64(i)) {
			continue
		}
		now = time.Now()
		u := w.Snapshot()
		c.snapshots = append(c.snapshots, since())
		w.written += uint32(len(records(b, u)))
		w.acks = append(w.acks, wire.Ack{Seen: true, Newest: w.Numbers().Seq, Mask: 1<<64 - 1, Structure: w.written})
	}
}
