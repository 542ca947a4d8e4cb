package wire_test

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/vmihailenco/msgpack/v5"

	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/replication/wire"
)

func TestCheckMsgpackAccepts(t *testing.T) {
	deep := bytes.Repeat([]byte{0x91}, wire.MaxMsgpackDepth)
	for name, b := range map[string][]byte{
		"nil": {0xc0}, "false": {0xc2}, "fixint": {5}, "negative": {0xff}, "empty array": {0x90}, "empty map": {0x80},
		"float": {0xca, 0, 0, 0, 0}, "double": {0xcb, 0, 0, 0, 0, 0, 0, 0, 0}, "int 64": {0xd3, 0, 0, 0, 0, 0, 0, 0, 0},
		"str": {0xa2, 'h', 'i'}, "str 32": {0xdb, 0, 0, 0, 1, 'x'}, "bin 16": {0xc5, 0, 1, 9},
		"array 32": {0xdd, 0, 0, 0, 1, 1}, "map 16": {0xde, 0, 1, 1, 2},
		"deepest": append(bytes.Clone(deep), 1),
	} {
		require.NoError(t, wire.CheckMsgpack(b), name)
	}
	value := must.Get(msgpack.Marshal(map[string]any{"a": []any{1, -1, 2.5, nil, true, "x", []byte{1}, map[string]int64{"b": 1 << 40}}}))
	require.NoError(t, wire.CheckMsgpack(value))
	for n := range len(value) {
		require.ErrorIs(t, wire.CheckMsgpack(value[:n]), &wire.Error{Code: wire.BadMessage}, "cut at %d", n)
	}
}

// A value with a flipped bit is rejected, or else a decoder reads the whole value.
func TestCheckMsgpackEveryBitFlipped(t *testing.T) {
	accepted := 0
	for _, value := range msgpackValues() {
		for bit := range len(value) * 8 {
			flipped := bytes.Clone(value)
			flipped[bit/8] ^= 1 << (bit % 8)
			if err := wire.CheckMsgpack(flipped); err != nil {
				require.ErrorIs(t, err, &wire.Error{Code: wire.BadMessage}, "bit %d of %x", bit, value)
				continue
			}
			accepted++
			left := bytes.NewReader(flipped)
			d := msgpack.NewDecoder(left)
			require.NoError(t, d.Skip(), "bit %d of %x", bit, value)
			require.Zero(t, left.Len(), "bit %d of %x", bit, value)
		}
	}
	require.Greater(t, accepted, 1000)
}

func TestCheckMsgpackRejects(t *testing.T) {
	deep := bytes.Repeat([]byte{0x91}, wire.MaxMsgpackDepth+1)
	for name, b := range map[string][]byte{
		"nothing": {}, "two values": {1, 2}, "reserved": {0xc1}, "ext 8": {0xc7, 0, 1}, "fixext 1": {0xd4, 1, 1}, "fixext 16": append([]byte{0xd8}, make([]byte, 17)...),
		"array of 2^32-1": {0xdd, 0xff, 0xff, 0xff, 0xff}, "map of 2^32-1": {0xdf, 0xff, 0xff, 0xff, 0xff},
		"bin of 2^32-1": {0xc6, 0xff, 0xff, 0xff, 0xff}, "str of 2^32-1": {0xdb, 0xff, 0xff, 0xff, 0xff},
		"array of 2 with 1": {0x92, 1}, "map of 1 with a key": {0x81, 1}, "head cut": {0xcd, 1},
		"too deep": append(bytes.Clone(deep), 1), "8 Mi arrays": bytes.Repeat([]byte{0x91}, 8<<20),
		"wide and claimed": {0x92, 0x91, 1, 0xdc, 0xff, 0xff},
	} {
		require.ErrorIs(t, wire.CheckMsgpack(b), &wire.Error{Code: wire.BadMessage}, name)
	}
}

func BenchmarkCheckMsgpack(b *testing.B) {
	body := wire.Hello{Protocol: 1, Schema: 1 << 60, Epoch: 1 << 60, Token: make([]byte, 300), Name: "name"}.Append(nil)
	for b.Loop() {
		must.Do(wire.CheckMsgpack(body))
	}
}

func BenchmarkParseHello(b *testing.B) {
	body := wire.Hello{Protocol: 1, Schema: 1 << 60, Epoch: 1 << 60, Token: make([]byte, 300), Name: "name"}.Append(nil)
	for b.Loop() {
		must.Get(wire.Parse[wire.Hello](body))
	}
}
