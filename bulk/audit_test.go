package bulk

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestAuditFindsDamage breaks one thing at a time: an audit that finds nothing
// proves nothing unless it is known to find something.
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
		{"generation of a free slot odd", "B2", func(p *Pool[int]) { p.blocks[0].generations[20]++ }},
		{"live but not taken", "B3", func(p *Pool[int]) { p.blocks[0].taken[0] &^= 1 << 10 }},
		{"usable beyond the limit", "B3", func(p *Pool[int]) { p.blocks[1].taken[1] &^= 1 << 63 }},
		{"taken by nobody", "B3", func(p *Pool[int]) { p.blocks[0].taken[0] |= 1 << 20 }},
		{"full bit of an open word", "B4", func(p *Pool[int]) { p.blocks[0].full |= 1 }},
		{"full bit missing", "B4", func(p *Pool[int]) { p.blocks[0].full &^= 1 << 1 }},
		{"block's full bit", "B4", func(p *Pool[int]) { p.fullBlocks[0] |= 1 }},
		{"full bit in the padding", "B4", func(p *Pool[int]) { p.fullBlocks[0] |= 1 << 9 }},
		{"hint too high", "B4", func(p *Pool[int]) { p.openWord = 1 }},
		{"count", "B5", func(p *Pool[int]) { p.count++ }},
		{"retired count", "B5", func(p *Pool[int]) { p.retired++ }},
		{"high-water mark too low", "B5", func(p *Pool[int]) { p.slots -= 2 }},
		{"high-water mark too high", "B5", func(p *Pool[int]) { p.slots = p.limit + 1 }},
		{"generation ahead of the newest", "B6", func(p *Pool[int]) { p.blocks[0].generations[10] += 2 }},
		{"generation before the first", "B6", func(p *Pool[int]) { p.blocks[0].generations[20] = 2 }},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, err := NewPool[int](Options{MaxSlots: BlockLen + 70, FirstGeneration: 5})
			require.NoError(t, err)
			require.NoError(t, p.AddN(BlockLen+3, func(Handle, *int) {}))
			require.True(t, p.Remove(NewHandle(20, 5)))
			require.NoError(t, p.CheckInvariants())
			c.damage(p)
			require.ErrorContains(t, p.CheckInvariants(), c.want+":")
		})
	}
}
