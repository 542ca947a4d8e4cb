package bot

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/worldd/worldd/bulk"
)

// news is what a bot is told in a snapshot.
type news struct {
	left, destroyed, entered, updated []bulk.Handle
}

// troupe is entities that come, go and move.
type troupe struct {
	random *rand.Rand
	newest [4000]uint32 // generations, by slots
	used   [4000]bool
	shown  []bulk.Handle
	hidden []bulk.Handle
}

func (c *troupe) enter(n int) (entered []bulk.Handle) {
	for range n {
		slot := c.random.IntN(len(c.used))
		for c.used[slot] {
			slot = c.random.IntN(len(c.used))
		}
		c.used[slot] = true
		c.newest[slot] += 2
		entered = append(entered, bulk.NewHandle(uint32(slot), c.newest[slot]-1))
	}
	c.shown = append(c.shown, entered...)
	return entered
}

// take takes one out of from.
func (c *troupe) take(from *[]bulk.Handle) bulk.Handle {
	i := c.random.IntN(len(*from))
	h := (*from)[i]
	*from = slices.Delete(*from, i, i+1)
	return h
}

// next is 15 who come, 7 who leave, 8 who die in view and 7 who do out of it, and 200
// who move, by slots.
func (c *troupe) next() (n news) {
	for i := range 15 {
		h := c.take(&c.shown)
		if i < 8 {
			n.destroyed = append(n.destroyed, h)
			continue
		}
		n.left = append(n.left, h)
		c.hidden = append(c.hidden, h)
	}
	for len(c.hidden) > 100 {
		n.destroyed = append(n.destroyed, c.take(&c.hidden))
	}
	for _, h := range n.destroyed {
		c.used[h.Index()] = false
	}
	n.entered = c.enter(15)
	moved := slices.Clone(c.shown)
	c.random.Shuffle(len(moved), func(i, j int) { moved[i], moved[j] = moved[j], moved[i] })
	n.updated = moved[:200]
	slices.SortFunc(n.updated, func(a, b bulk.Handle) int { return cmp.Compare(a.Index(), b.Index()) })
	return n
}

// hear tells o the news, and has it choose whom to ask about.
func (o *oracle) hear(n *news, dice func(int) int) {
	for _, h := range n.left {
		o.left(h)
	}
	for _, h := range n.destroyed {
		o.destroyed(h)
	}
	for _, h := range n.entered {
		o.entered(h, uint64(h))
	}
	for _, h := range n.updated {
		o.updated(h, uint64(h))
	}
	for i := range probesPerUpdate {
		o.draw(told(i%4), dice)
	}
}

// BenchmarkOraclesInTurns is what the oracles of a process of bots pay for a snapshot,
// each of which finds its memory cold: all others had their turn in between, and
// remember as much as they may. Reported are the least and the median of rounds, by
// snapshots.
func BenchmarkOraclesInTurns(b *testing.B) {
	const oracles = 250
	c := &troupe{random: rand.New(rand.NewPCG(1, 2))}
	all := make([]*oracle, oracles)
	begin := news{entered: c.enter(370)}
	for i := range all {
		all[i] = newOracle(i, rememberedHandles, 1, uint32(len(c.used)))
		all[i].hear(&begin, c.random.IntN)
	}
	for range rememberedHandles / 15 {
		n := c.next()
		for _, o := range all {
			o.hear(&n, c.random.IntN)
		}
	}
	var rounds []time.Duration
	var n news
	began, at := time.Now(), oracles
	for b.Loop() {
		if at == oracles {
			b.StopTimer()
			n = c.next()
			began, at = time.Now(), 0
			b.StartTimer()
		}
		all[at].hear(&n, c.random.IntN)
		if at++; at == oracles {
			rounds = append(rounds, time.Since(began))
		}
	}
	for _, o := range all {
		if o.confusions != 0 {
			b.Fatal(o.recorded)
		}
	}
	if len(rounds) == 0 {
		return
	}
	slices.Sort(rounds)
	b.ReportMetric(rounds[0].Seconds()*1e6/oracles, "us/least")
	b.ReportMetric(rounds[len(rounds)/2].Seconds()*1e6/oracles, "us/median")
	b.ReportAllocs()
}
