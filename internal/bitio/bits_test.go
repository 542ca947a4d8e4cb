package bitio_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/worldd/worldd/internal/bitio"
)

func TestBitsRoundTrip(t *testing.T) {
	type item struct {
		v uint64
		n uint // 65: sized
	}
	rapid.Check(t, func(t *rapid.T) {
		items := rapid.SliceOf(rapid.Custom(func(t *rapid.T) item {
			n := rapid.UintRange(0, 65).Draw(t, "n")
			v := rapid.Uint64().Draw(t, "v")
			if n < 64 {
				v &= 1<<n - 1
			}
			if n == 65 {
				v >>= rapid.UintRange(32, 64).Draw(t, "shift")
			}
			return item{v, n}
		})).Draw(t, "items")
		prefix := []byte("prefix")
		var w bitio.Writer
		w.Reset(prefix)
		for _, i := range items {
			if i.n == 65 {
				w.WriteSized(uint32(i.v))
			} else {
				w.Write(i.v, i.n)
			}
		}
		whole := w.Bytes()
		require.Equal(t, "prefix", string(whole[:6]))
		require.Equal(t, (w.Bits()+7)/8, len(whole)-6)
		var r bitio.Reader
		r.Reset(whole[6:])
		for _, i := range items {
			if i.n == 65 {
				require.Equal(t, uint32(i.v), r.ReadSized())
			} else {
				require.Equal(t, i.v, r.Read(i.n))
			}
		}
		require.NoError(t, r.End())
	})
}

func TestReaderErrorSticks(t *testing.T) {
	var r bitio.Reader
	r.Reset([]byte{0xff})
	require.Equal(t, uint64(0x1f), r.Read(5))
	require.NoError(t, r.Err())
	require.Zero(t, r.Read(4))
	require.Error(t, r.Err())
	require.Zero(t, r.Read(1), "the error is sticky although a bit is left")
	require.Error(t, r.End())
	r.Reset([]byte{0})
	require.NoError(t, r.Err(), "Reset clears the error")
}

func TestReaderEnd(t *testing.T) {
	for name, b := range map[string][]byte{"padding not zero": {0x10}, "a byte too many": {0, 0}} {
		var r bitio.Reader
		r.Reset(b)
		r.Read(3)
		require.Error(t, r.End(), name)
	}
}

func TestSizedHasOneForm(t *testing.T) {
	for _, v := range []uint32{0, 1, 15, 16, 255, 256, 65535, 65536, 1<<32 - 1} {
		accepted := 0
		for class := range uint(4) {
			width := uint(4) << class
			if width < 32 && v>>width != 0 {
				continue
			}
			var w bitio.Writer
			w.Write(uint64(class), 2)
			w.Write(uint64(v), width)
			var r bitio.Reader
			r.Reset(w.Bytes())
			if got := r.ReadSized(); r.Err() == nil {
				require.Equal(t, v, got)
				accepted++
			}
		}
		require.Equal(t, 1, accepted, "%d", v)
	}
}
