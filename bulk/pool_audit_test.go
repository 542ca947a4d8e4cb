package bulk

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/must"
)

// TestAuditFindsDamage breaks one thing at a time, to prove that the audit can fail.
func TestAuditFindsDamage(t *testing.T) {
	for _, c := range []struct {
		name, want string
		damage     func(*Pool[int])
	}{
		{"summary bit of an empty word", "B1", func(p *Pool[int]) { p.live.summary[1] |= 1 << 63 }},
		{"summary bit missing", "B1", func(p *Pool[int]) { p.live.summary[0] &^= 1 }},
		{"top bit in the padding", "B1", func(p *Pool[int]) { p.live.top[0] |= 1 << 50 }},
		{"levels of different size", "B1", func(p *Pool[int]) { p.live.words = p.live.words[:64] }},
		{"live bit lost", "B2", func(p *Pool[int]) { p.live.Clear(10) }},
		{"live bit invented", "B2", func(p *Pool[int]) { p.live.Set(20) }},
		{"written through Live beyond the limit", "B2", func(p *Pool[int]) { p.live.Set(BlockLen + 7) }},
		{"written through Live beyond all memory", "B2", func(p *Pool[int]) { p.live.Set(3 * BlockLen); p.count++ }},
		{"generation of a free slot odd", "B2", func(p *Pool[int]) { *p.generation(20)++ }},
		{"live beyond the limit", "B3", func(p *Pool[int]) { i := uint32(BlockLen + 71); p.live.Set(i); *p.generation(i)++ }},
		{"retired at the wrong generation", "B3", func(p *Pool[int]) { p.dead.Set(20) }},
		{"open bit of a full word", "B4", func(p *Pool[int]) { p.open.Set(1) }},
		{"open bit missing", "B4", func(p *Pool[int]) { p.open.Clear(0) }},
		{"open bit beyond all memory", "B4", func(p *Pool[int]) { p.open.Set(128) }},
		{"hint too high", "B4", func(p *Pool[int]) { p.hint = 1 }},
		{"free bits", "B4", func(p *Pool[int]) { p.hint, p.free = 0, 3<<20 }},
		{"count", "B5", func(p *Pool[int]) { p.count++ }},
		{"retired count", "B5", func(p *Pool[int]) { p.retired++ }},
		{"high-water mark too low", "B5", func(p *Pool[int]) { p.slots -= 2 }},
		{"high-water mark too high", "B5", func(p *Pool[int]) { p.slots = p.limit + 1 }},
		{"room and limit", "B5", func(p *Pool[int]) { p.usable++ }},
		{"generation ahead of the newest", "B6", func(p *Pool[int]) { *p.generation(10) += 2 }},
		{"generation before the first", "B6", func(p *Pool[int]) { *p.generation(20) = 2 }},
		{"tag on a hole", "B10", func(p *Pool[int]) { p.Tag("x").Set(20) }},
		{"list in a pool without one", "B9", func(p *Pool[int]) { p.order = FIFO; p.open.Reset() }},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := must.Get(NewPool[int](Options{MaxSlots: BlockLen + 70, FirstGeneration: 5}))
			require.NoError(t, p.AddN(BlockLen+3, func(Handle, *int) {}))
			require.True(t, p.Remove(NewHandle(20, 5)))
			require.NoError(t, p.CheckInvariants())
			c.damage(p)
			require.ErrorContains(t, p.CheckInvariants(), c.want+":")
		})
	}
}

// TestAuditFindsDamagedLists breaks one thing at a time in FreeList and FIFO pools.
func TestAuditFindsDamagedLists(t *testing.T) {
	for _, c := range []struct {
		name   string
		order  Order
		damage func(*Pool[int64])
	}{
		{"link to a live slot", FreeList, func(p *Pool[int64]) { p.setNext(20, 10) }},
		{"link to nowhere", FreeList, func(p *Pool[int64]) { p.setNext(20, 1<<31) }},
		{"link back", FreeList, func(p *Pool[int64]) { p.setPrevious(20, 20) }},
		{"hole left out", FreeList, func(p *Pool[int64]) { p.unlink(30) }},
		{"hole left out", FIFO, func(p *Pool[int64]) { p.queue.head++ }},
		{"hole queued twice", FIFO, func(p *Pool[int64]) { p.enqueue(20) }},
	} {
		t.Run(c.order.String()+"/"+c.name, func(t *testing.T) {
			p := must.Get(NewPool[int64](Options{Order: c.order}))
			require.NoError(t, p.AddN(100, func(Handle, *int64) {}))
			require.True(t, p.Remove(NewHandle(20, 1)))
			require.True(t, p.Remove(NewHandle(30, 1)))
			require.NoError(t, p.CheckInvariants())
			c.damage(p)
			require.ErrorContains(t, p.CheckInvariants(), "B9:")
		})
	}
}
