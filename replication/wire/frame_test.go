package wire_test

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/wiretest"
	"github.com/worldd/worldd/replication/wire"
)

// stream returns the frames of all samples in one byte string, with their types and bodies.
func stream() (b []byte, kinds []byte, bodies [][]byte) {
	for _, m := range wiretest.Samples() {
		if m.Kind != 0 {
			b = wire.AppendFrame(b, m.Kind, m.Bytes)
			kinds = append(kinds, m.Kind)
			bodies = append(bodies, m.Bytes)
		}
	}
	return b, kinds, bodies
}

func TestFrameReaderAnyChunks(t *testing.T) {
	b, kinds, bodies := stream()
	for size := 1; size <= len(b); size++ {
		var f wire.FrameReader
		n := 0
		for rest := b; len(rest) > 0; {
			chunk := rest[:min(size, len(rest))]
			rest = rest[len(chunk):]
			f.Feed(chunk)
			for {
				kind, body, ok, err := f.Next()
				require.NoError(t, err)
				if !ok {
					break
				}
				require.Equal(t, kinds[n], kind)
				require.True(t, bytes.Equal(bodies[n], body))
				n++
			}
		}
		require.Equal(t, len(kinds), n)
		require.Zero(t, f.Buffered())
	}
}

func TestFrameReaderRejects(t *testing.T) {
	for name, c := range map[string]struct {
		max   int
		bytes []byte
	}{
		"no type":         {0, []byte{0}},
		"long form":       {0, []byte{0x81, 0}},
		"never ends":      {0, []byte{0x80, 0x80, 0x80, 0x80, 0x80}},
		"64 bits":         {0, []byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01}},
		"too long":        {0, []byte{0x81, 0x80, 0x04}},
		"from a client":   {wire.MaxClientMessage, []byte{0x81, 0x20}},
		"33 bits":         {0, []byte{0xff, 0xff, 0xff, 0xff, 0x1f}},
		"type and length": {10, []byte{11, 1}},
	} {
		f := wire.FrameReader{Max: c.max}
		f.Feed(c.bytes)
		_, _, ok, err := f.Next()
		require.False(t, ok, name)
		require.ErrorIs(t, err, &wire.Error{Code: wire.BadMessage}, name)
		f.Feed([]byte{1, 2, 3})
		_, _, _, again := f.Next()
		require.Equal(t, err, again, "an error is final")
		require.LessOrEqual(t, f.Buffered(), len(c.bytes), "nothing is buffered after an error")
	}
}

func TestFrameReaderAcceptsTheLongest(t *testing.T) {
	var f wire.FrameReader
	f.Feed(wire.AppendFrame(nil, wire.TypeStructure, make([]byte, wire.MaxStreamMessage-1)))
	_, body, ok, err := f.Next()
	require.NoError(t, err)
	require.True(t, ok)
	require.Len(t, body, wire.MaxStreamMessage-1)
}

func TestFrameBodyHasNoSpareCapacity(t *testing.T) {
	var f wire.FrameReader
	f.Feed([]byte{2, wire.TypeBye, 7, 2, wire.TypeBye, 9})
	_, first, _, _ := f.Next()
	_ = append(first, 0xcc, 0xcc, 0xcc)
	_, second, ok, err := f.Next()
	require.NoError(t, err)
	require.True(t, ok)
	require.Equal(t, []byte{9}, second)
}

func TestAppendMessage(t *testing.T) {
	m := wire.Control{Entity: 5<<32 | 17}
	require.Equal(t, wire.AppendFrame(nil, wire.TypeControl, m.Append(nil)), wire.AppendMessage(nil, m))
}
