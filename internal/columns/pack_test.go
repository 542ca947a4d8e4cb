package columns

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestPack checks the kept and dropped values at every length and offset, and that
// nothing outside the range changes, on every code path.
func TestPack(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for _, length := range []int{0, 1, 5, 63, 64, 65, 130, 700, 3 * 64 * 64, 9000} {
		for _, oneIn := range []int{1, 2, 10, 300, 100_000} {
			first := r.IntN(200)
			end := first + length
			testPack(t, r, oneIn, first, end, func(i int) uint16 { return uint16(i) })
			testPack(t, r, oneIn, first, end, func(i int) float32 { return float32(i) })
			testPack(t, r, oneIn, first, end, func(i int) [16]byte { return [16]byte{byte(i), byte(i >> 8), 15: byte(i)} })
		}
	}
}

func testPack[T Packable](t *testing.T, r *rand.Rand, oneIn, first, end int, number func(int) T) {
	t.Helper()
	values := make([]T, end+r.IntN(100))
	drop := make([]uint64, len(values)/64+1)
	for i := range values {
		values[i] = number(i)
		if r.IntN(oneIn) == 0 {
			drop[i>>6] |= 1 << (i & 63)
		}
	}
	var stay, leave []T
	for i := first; i < end; i++ {
		if drop[i>>6]>>(i&63)&1 == 0 {
			stay = append(stay, values[i])
		} else {
			leave = append(leave, values[i])
		}
	}
	beside := func(packed []T, from, to int) {
		require.True(t, slices.Equal(stay, packed[from:to]), "%T from %d to %d", values, first, end)
		require.True(t, slices.Equal(values[:first], packed[:first]) && slices.Equal(values[end:], packed[end:]))
	}
	for _, pack := range []func(values, dropped []T, drop []uint64, first, end int) int{PackDown[T], packDownGo[T]} {
		down, dropped := slices.Clone(values), make([]T, len(leave)+40)
		require.Equal(t, first+len(stay), pack(down, dropped[:len(leave)], drop, first, end))
		beside(down, first, first+len(stay))
		require.True(t, slices.Equal(leave, dropped[:len(leave)]))
		require.True(t, slices.Equal(make([]T, 40), dropped[len(leave):]))
	}
	for _, pack := range []func(values, dropped []T, drop []uint64, first, end int) int{PackUp[T], packUpGo[T]} {
		up, dropped := slices.Clone(values), make([]T, len(leave)+40)
		require.Equal(t, end-len(stay), pack(up, dropped[40:], drop, first, end))
		beside(up, end-len(stay), end)
		require.True(t, slices.Equal(leave, dropped[40:]))
		require.True(t, slices.Equal(make([]T, 40), dropped[:40]))
	}
}

func packDownGo[T Packable](values, dropped []T, drop []uint64, first, end int) int {
	p := packing[T]{values: values[:end], dropped: dropped, drop: drop, to: first}
	p.down(first, end)
	return p.to
}

func packUpGo[T Packable](values, dropped []T, drop []uint64, first, end int) int {
	p := packing[T]{values: values[:end], dropped: dropped, drop: drop, to: end, droppedTo: len(dropped)}
	p.up(first, end)
	return p.to
}

// TestPackPanics: invalid arguments panic instead of writing out of range.
func TestPackPanics(t *testing.T) {
	values, drop := make([]uint32, 640), slices.Repeat([]uint64{3}, 10)
	require.Panics(t, func() { PackDown(values, make([]uint32, 19), drop, 0, 640) })
	require.Panics(t, func() { PackUp(values, make([]uint32, 19), drop, 0, 640) })
	require.Panics(t, func() { PackDown(values, make([]uint32, 20), drop, 0, 641) })
	require.Panics(t, func() { PackUp(values, make([]uint32, 20), drop[:9:9], 0, 640) })
	require.Panics(t, func() { PackDown(values, make([]uint32, 20), drop[:9:9], 0, 640) })
	require.Equal(t, 620, PackDown(values, make([]uint32, 20), drop, 0, 640))
}
