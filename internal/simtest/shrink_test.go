package simtest

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// A failure caused by a few items shrinks to those items, in order.
func TestShrinkFindsTheCulprits(t *testing.T) {
	for seed := range uint64(200) {
		rng := rand.New(rand.NewPCG(seed, 0))
		items := rng.Perm(1 + rng.IntN(300))
		culprits := slices.Clone(items[:rng.IntN(min(len(items), 6)+1)])
		rng.Shuffle(len(items), func(i, j int) { items[i], items[j] = items[j], items[i] })
		slices.SortFunc(culprits, func(a, b int) int { return slices.Index(items, a) - slices.Index(items, b) })
		before := slices.Clone(items)
		tries := 0
		got := Shrink(items, func(part []int) bool {
			tries++
			for _, c := range culprits {
				if !slices.Contains(part, c) {
					return false
				}
			}
			return true
		})
		require.Equal(t, culprits, append([]int{}, got...), "seed %d", seed)
		require.Equal(t, before, items, "the caller's items are its own")
		require.LessOrEqual(t, tries, 2*len(items)+len(culprits)*20+20, "seed %d", seed)
	}
}

// A failure that needs any k of many items shrinks to exactly k.
func TestShrinkIsMinimal(t *testing.T) {
	items := make([]int, 100)
	for k := range 20 {
		got := Shrink(items, func(part []int) bool { return len(part) >= k })
		require.Len(t, got, k)
	}
}
