package world

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"runtime"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/must"
)

// forge overwrites the zeros in place of text headers in every value of b that begins with
// prefix. It returns the number of these values.
func forge(b, prefix []byte) (n int) {
	for at := 0; ; n++ {
		i := bytes.Index(b[at:], prefix)
		if i < 0 {
			return n
		}
		at += i
		for j := unsafe.Offsetof(fuzzed{}.Label); j < unsafe.Sizeof(fuzzed{}); j++ {
			b[at+int(j)] = 0xc5
		}
		at += len(prefix)
	}
}

// Bytes of a file never become pointers: a value of a recording may hold any bytes.
func TestReplayIgnoresForgedHeaders(t *testing.T) {
	steps, head := recordedSteps(t), newRecordingHead(t)
	prefix := binary.LittleEndian.AppendUint32([]byte{1, 0, 0, 0}, 77)
	w := fuzzWorld(t, true)
	value := append(bytes.Clone(prefix), make([]byte, unsafe.Sizeof(fuzzed{})-8)...)
	require.Equal(t, 1, forge(value, prefix))
	set := binary.LittleEndian.AppendUint16([]byte{opSet}, 0)
	set = append(binary.LittleEndian.AppendUint64(set, uint64(w.Slots().Handle(1))), value...)
	set = append(set, 2, 0, 0, 0, 'h', 'i', 1, 0, 0, 0, 'b')
	replayed := fuzzWorld(t, false)
	replay := must.Get(replayed.Replay(bytes.NewReader(head.encode([][]byte{append(set, steps[1][:0]...)}))))
	require.NoError(t, replay.Next())
	runtime.GC()
	got := replayed.components[0].value(1).(*fuzzed)
	require.Equal(t, fuzzed{true, 77, "hi", []byte("b")}, *got)
}

// The same holds for an image.
func TestImageIgnoresForgedHeaders(t *testing.T) {
	b := unpacked(t, fuzzWorld(t, true))
	require.Positive(t, forge(b, []byte{1, 0, 0, 0, 8, 0, 0, 0}))
	from := bytes.NewReader(b)
	w := fuzzWorld(t, false)
	img, _, err := w.decodeImage(imageVersion, func(b []byte) error {
		_, err := io.ReadFull(from, b)
		return errors.Join(err)
	})
	require.NoError(t, err)
	for _, value := range img.components[0].words {
		require.NotContains(t, string(value), "\xc5", "the garbage collector must never see it")
	}
	require.NoError(t, w.Restore(img))
	runtime.GC()
	require.Equal(t, fuzzed{true, 8, "crate", []byte{1, 2}}, *w.components[0].value(8).(*fuzzed))
}

// A text of a file has at most the maximum length, and must be complete.
func TestImageTextLengths(t *testing.T) {
	whole := unpacked(t, fuzzWorld(t, true))
	at := bytes.Index(whole, []byte("\x05\x00\x00\x00crate"))
	require.Positive(t, at)
	for claim, want := range map[uint32]string{MaxTextBytes + 1: "bytes of a text in fuzzed; at most", MaxTextBytes: "ends early", 1<<32 - 1: "bytes of a text in fuzzed"} {
		b := bytes.Clone(whole)
		binary.LittleEndian.PutUint32(b[at:], claim)
		from := bytes.NewReader(b)
		_, _, err := fuzzWorld(t, false).decodeImage(imageVersion, func(b []byte) error {
			if _, err := io.ReadFull(from, b); err != nil {
				return errors.Join(ErrImageWorld, errors.New("ends early"))
			}
			return nil
		})
		require.ErrorIs(t, err, ErrImageWorld)
		require.ErrorContains(t, err, want)
	}
}
