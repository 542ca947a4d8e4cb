package bulk_test

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/vmihailenco/msgpack/v5"
	"pgregory.net/rapid"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/internal/must"
)

func TestHandleParts(t *testing.T) {
	h := bulk.NewHandle(17, 3)
	require.Equal(t, bulk.Handle(3<<32|17), h)
	require.Equal(t, uint32(17), h.Index())
	require.Equal(t, uint32(3), h.Generation())
	require.True(t, h.Valid())
	require.False(t, bulk.NewHandle(17, 2).Valid())
	require.False(t, bulk.Handle(0).Valid())
	require.True(t, bulk.NewHandle(math.MaxUint32, bulk.MaxGeneration).Valid())
}

func TestHandleText(t *testing.T) {
	for text, h := range map[string]bulk.Handle{
		"none":                  0,
		"17v3":                  bulk.NewHandle(17, 3),
		"0v1":                   bulk.NewHandle(0, 1),
		"5v0":                   bulk.NewHandle(5, 0), // names nothing, but prints
		"4294967295v4294967295": bulk.NewHandle(math.MaxUint32, math.MaxUint32),
		"4294967295v2":          bulk.NewHandle(math.MaxUint32, 2),
		"1000000000v1000000000": bulk.NewHandle(1e9, 1e9),
		"16777215v1234567891":   bulk.NewHandle(1<<24-1, 1234567891),
	} {
		require.Equal(t, text, h.String())
		parsed, err := bulk.ParseHandle(text)
		require.NoError(t, err, text)
		require.Equal(t, h, parsed, text)
	}
}

func TestParseHandleRefuses(t *testing.T) {
	for _, text := range []string{
		"", "v", "17", "17v", "v3", "017v3", "17v03", "+17v3", "17v-3", " 17v3", "17v3 ", "17V3", "17v3v1",
		"0v0", "4294967296v1", "1v4294967296", "none ", "None", "1_7v3", "0x11v3", "17v3\x00",
		"00000000000000000000000000000000000017v3", "١v3",
	} {
		require.ErrorIs(t, must.Fail(bulk.ParseHandle(text)), bulk.ErrHandle, "%q", text)
		h := bulk.NewHandle(1, 1)
		require.ErrorIs(t, h.UnmarshalText([]byte(text)), bulk.ErrHandle)
		require.Equal(t, bulk.NewHandle(1, 1), h, "left alone")
	}
}

func TestHandleRoundTrips(t *testing.T) {
	type message struct {
		Target bulk.Handle   `json:"target"`
		Others []bulk.Handle `json:"others"`
	}
	rapid.Check(t, func(t *rapid.T) {
		draw := rapid.Map(rapid.Uint64(), func(v uint64) bulk.Handle { return bulk.Handle(v) })
		sent := message{Target: draw.Draw(t, "target"), Others: rapid.SliceOf(draw).Draw(t, "others")}

		text := must.Get(json.Marshal(sent))
		var fromJSON message
		require.NoError(t, json.Unmarshal(text, &fromJSON))
		require.Equal(t, sent, fromJSON)

		packed := must.Get(msgpack.Marshal(&sent))
		var fromMsgpack message
		require.NoError(t, msgpack.Unmarshal(packed, &fromMsgpack))
		require.Equal(t, sent.Target, fromMsgpack.Target)
		require.Len(t, fromMsgpack.Others, len(sent.Others))
		for i, h := range sent.Others {
			require.Equal(t, h, fromMsgpack.Others[i])
		}
	})
}

func TestHandleMsgpackIsNineBytes(t *testing.T) {
	for _, h := range []bulk.Handle{0, bulk.NewHandle(1, 1), math.MaxUint64} {
		own := must.Get(h.MarshalMsgpack())
		theirs := must.Get(msgpack.Marshal(uint64(h)))
		viaLibrary := must.Get(msgpack.Marshal(h))
		require.Equal(t, theirs, own, "what any msgpack writes for a uint64")
		require.Equal(t, own, viaLibrary)
		require.Len(t, own, 9)

		for cut := range own {
			left := bulk.NewHandle(1, 1)
			require.ErrorIs(t, left.UnmarshalMsgpack(own[:cut]), bulk.ErrHandle)
			require.Equal(t, bulk.NewHandle(1, 1), left, "left alone")
		}
		require.ErrorIs(t, new(bulk.Handle).UnmarshalMsgpack(append(own, 0)), bulk.ErrHandle)
	}
	for _, other := range []any{5, -5, int64(-1 << 40), "17v3", nil, 1.5, []byte{1, 2, 3}} {
		packed := must.Get(msgpack.Marshal(other))
		require.ErrorIs(t, new(bulk.Handle).UnmarshalMsgpack(packed), bulk.ErrHandle, "%v", other)
	}
}

func FuzzParseHandle(f *testing.F) {
	for _, seed := range []string{"none", "17v3", "0v0", "4294967295v4294967295", "v", "1v1v1"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		h, err := bulk.ParseHandle(text)
		if err != nil {
			require.ErrorIs(t, err, bulk.ErrHandle)
			require.Zero(t, h)
			return
		}
		require.Equal(t, text, h.String())
	})
}
