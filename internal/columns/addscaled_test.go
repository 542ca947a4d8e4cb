package columns

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestAddScaledBits compares with addScaledGo bit by bit at every length and offset,
// and checks that nothing outside the slice changes.
func TestAddScaledBits(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	number := func() float32 {
		switch r.IntN(8) {
		case 0:
			return math.Float32frombits(r.Uint32N(1 << 23)) // denormal
		case 1:
			return []float32{0, float32(math.Copysign(0, -1)), float32(math.Inf(1)), math.MaxFloat32}[r.IntN(4)]
		default:
			return math.Float32frombits(r.Uint32N(0x7f800000)) * float32(1-2*r.IntN(2))
		}
	}
	lengths := []int{0, 1, 7, 8, 9, 31, 32, 33, 63, 64, 65, 100, 4096, 2*16384 + 13}
	for _, n := range lengths {
		for _, offset := range []int{0, 1, 5} {
			to, from := make([]float32, n+offset+8), make([]float32, n+offset)
			for i := range to {
				to[i] = number()
			}
			for i := range from {
				from[i] = number()
			}
			want := append([]float32(nil), to...)
			k := number()
			addScaledGo(want[offset:offset+n], from[offset:], k)
			AddScaled(to[offset:offset+n], from[offset:], k)
			for i := range to {
				if math.IsNaN(float64(want[i])) {
					require.True(t, math.IsNaN(float64(to[i]))) // NaN payloads depend on operand order
					continue
				}
				require.Equal(t, math.Float32bits(want[i]), math.Float32bits(to[i]), "%d of %d", i, n)
			}
		}
	}
	require.Panics(t, func() { AddScaled(make([]float32, 2), make([]float32, 3), 1) })
	x := []float32{1, 2, 3, 4, 5, 6, 7, 8, 9}
	AddScaled(x, x, 2)
	require.Equal(t, []float32{3, 6, 9, 12, 15, 18, 21, 24, 27}, x)
	require.Zero(t, testing.AllocsPerRun(10, func() { AddScaled(x, x, 0) }))
}
