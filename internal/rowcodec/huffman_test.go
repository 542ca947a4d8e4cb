package rowcodec

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/worldd/worldd/internal/bitio"
)

func TestCodesRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		counts := rapid.SliceOfN(rapid.Uint64Range(1, 1<<40), 2, maxSymbols).Draw(t, "counts")
		lengths := CodeLengths(counts)
		require.True(t, checkLengths(lengths))
		for i := range counts {
			for j := range counts {
				if counts[i] > 8*counts[j] && counts[j] > 1<<30 {
					require.LessOrEqual(t, lengths[i], lengths[j], "frequent symbols have short codes")
				}
			}
		}
		c := newCode(lengths, symbolEntry)
		symbols := rapid.SliceOf(rapid.IntRange(0, len(counts)-1)).Draw(t, "symbols")
		var w bitio.Writer
		for _, s := range symbols {
			c.write(&w, s, 5, 3)
		}
		var r bitio.Reader
		r.Reset(w.Bytes())
		for _, s := range symbols {
			require.Equal(t, s, c.read(&r))
			require.Equal(t, uint64(5), r.Read(3))
		}
		require.NoError(t, r.End())
		r.Skip(1 + uint(r.Left()))
		require.Error(t, r.Err())
	})
}

// Fibonacci numbers as counts give the longest codes.
func TestCodeLengthsAreBounded(t *testing.T) {
	counts := []uint64{1, 1}
	for len(counts) < 40 {
		counts = append(counts, counts[len(counts)-1]+counts[len(counts)-2])
	}
	lengths := CodeLengths(counts)
	require.True(t, checkLengths(lengths))
	require.LessOrEqual(t, lengths[39], uint8(2))
}

func TestDefaultHeadsAreComplete(t *testing.T) {
	for symbols := 2; symbols <= maxSymbols; symbols++ {
		require.True(t, checkLengths(defaultHeadLengths(symbols)), "%d: %v", symbols, defaultHeadLengths(symbols))
		require.Equal(t, uint8(1), defaultHeadLengths(symbols)[0])
	}
}

func TestIncompleteCodesAreRejected(t *testing.T) {
	for _, lengths := range [][]uint8{{1}, {0, 1}, {1, 2}, {1, 1, 1}, {13, 13}, {}} {
		require.False(t, checkLengths(lengths), "%v", lengths)
	}
	require.True(t, checkLengths([]uint8{1, 2, 2}))
}

func TestBucketsCoverAllMagnitudes(t *testing.T) {
	previous := 0
	for m := uint64(0); m < 1<<20; m++ {
		symbol, low := bucket(m)
		least, width := magnitudeOf(symbol)
		if low != width || m != least|m&(1<<low-1) || symbol != previous && symbol != previous+1 {
			t.Fatalf("magnitude %d has symbol %d with %d low bits, which decodes from %d with %d", m, symbol, low, least, width)
		}
		previous = symbol
	}
	require.Equal(t, symbolEscape-1, previous)
	symbol, _ := bucket(1 << 20)
	require.Equal(t, symbolEscape, symbol)
}

func TestRingDifference(t *testing.T) {
	for most := range uint32(12) {
		for was := range most + 1 {
			for now := range most + 1 {
				d := ringDifference(now, was, most)
				require.LessOrEqual(t, 2*absolute(d), int64(most)+1)
				require.Equal(t, now, ringSum(was, d, most), "%d to %d of %d", was, now, most)
			}
		}
	}
	require.Equal(t, int64(1), ringDifference(0, 1<<32-1, 1<<32-1))
}
