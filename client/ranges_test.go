package client

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/replication/wire"
)

func TestPastRanges(t *testing.T) {
	const block = 100
	welcome := func(epoch uint64, k uint32) *wire.Welcome {
		return &wire.Welcome{Epoch: epoch, GenerationFloor: k*block + 1, GenerationCeiling: (k+1)*block - 1}
	}
	var p pastRanges
	require.Equal(t, sameWorld, p.enterWorld(welcome(1, 5)), "the first")
	require.Equal(t, sameWorld, p.enterWorld(welcome(1, 5)), "a new session of the same run")
	require.Equal(t, freshRange, p.enterWorld(welcome(2, 7)))
	require.Equal(t, freshRange, p.enterWorld(welcome(3, 2)), "below")
	require.Equal(t, reusedRange, p.enterWorld(welcome(1, 5)), "the first room again: Stale handles would be Live")
	require.Equal(t, freshRange, p.enterWorld(welcome(4, 7)), "the game has forgotten the second")
	whole := &wire.Welcome{Epoch: 5, GenerationFloor: 1, GenerationCeiling: bulk.MaxGeneration}
	require.Equal(t, reusedRange, p.enterWorld(whole))
	require.Equal(t, reusedRange, p.enterWorld(welcome(6, 4000)), "a server of one world has all generations")
	for k := range uint32(maxRanges - 1) {
		require.Equal(t, freshRange, p.enterWorld(welcome(7+uint64(k), k)))
	}
	require.Equal(t, reusedRange, p.enterWorld(welcome(999, 999)), "too many to remember: the game forgets all")
	require.Len(t, p.seen, 1)
}

// Whatever the worlds, a handle that a game still holds names an entity of its own world or nothing.
func TestPastRangesAtRandom(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for range 100 {
		var p pastRanges
		held := map[bulk.Handle]uint64{} // by epoch of the world that issued it
		for epoch := uint64(1); epoch < 300; epoch++ {
			floor := 1 + 2*r.Uint32N(4000)
			m := &wire.Welcome{Epoch: epoch, GenerationFloor: floor, GenerationCeiling: floor + 2*r.Uint32N(20), MaxSlots: 4}
			if p.enterWorld(m) == reusedRange {
				clear(held)
			}
			own := handleRange{m.GenerationFloor, m.GenerationCeiling, m.MaxSlots}
			for h, was := range held {
				require.False(t, own.canIssue(h), "%v of epoch %d, in epoch %d", h, was, epoch)
			}
			held[bulk.NewHandle(0, m.GenerationFloor)] = epoch
			held[bulk.NewHandle(0, m.GenerationCeiling)] = epoch
		}
	}
}
