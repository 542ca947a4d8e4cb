package botrun

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/worldd/worldd/bulk"
)

// news holds the events of one snapshot.
type news struct {
	left, destroyed, entered, updated []bulk.Handle
}

// changingEntities is a set of entities that spawn, die and move.
type changingEntities struct {
	random *rand.Rand
	newest [4000]uint32 // generations by slot
	used   [4000]bool
	shown  []bulk.Handle
	hidden []bulk.Handle
}

func (c *changingEntities) enter(n int) (entered []bulk.Handle) {
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

// take removes and returns one element of from.
func (c *changingEntities) take(from *[]bulk.Handle) bulk.Handle {
	i := c.random.IntN(len(*from))
	h := (*from)[i]
	*from = slices.Delete(*from, i, i+1)
	return h
}

// next makes 15 entities enter, 7 leave, 8 die in view, 7 die out of view, and 200 move,
// ordered by slot.
func (c *changingEntities) next() (n news) {
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

// observe passes the news to o and chooses handles to probe.
func (o *oracle) observe(n *news, dice func(int) int) {
	for _, h := range n.left {
		o.checkLeft(h)
	}
	for _, h := range n.destroyed {
		o.noteDestroyed(h)
	}
	for _, h := range n.entered {
		o.checkEntered(h, uint64(h))
	}
	for _, h := range n.updated {
		o.checkUpdated(h, uint64(h))
	}
	for i := range usualProbes {
		o.drawHandle(status(i%4), dice)
	}
}

// BenchmarkOraclesInTurns measures an oracle's cost per snapshot in a process of many bots,
// where the other oracles have evicted its memory from the cache. It reports the minimum and
// the median over rounds.
func BenchmarkOraclesInTurns(b *testing.B) {
	const oracles = 250
	c := &changingEntities{random: rand.New(rand.NewPCG(1, 2))}
	all := make([]*oracle, oracles)
	begin := news{entered: c.enter(370)}
	for i := range all {
		all[i] = newOracle(i, rememberedHandles, 1, uint32(len(c.used)))
		all[i].observe(&begin, c.random.IntN)
	}
	for range rememberedHandles / 15 {
		n := c.next()
		for _, o := range all {
			o.observe(&n, c.random.IntN)
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
		all[at].observe(&n, c.random.IntN)
		at++
		if at == oracles {
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
