package world

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"testing"

	"github.com/cespare/xxhash/v2"
	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/must"
)

// recordingHead is a valid beginning of a recording, up to its first step record, and the checksum of
// the parts that the image does not protect.
type recordingHead struct {
	file []byte
	tick uint64
	sum  xxhash.Digest
}

func newRecordingHead(t testing.TB) *recordingHead {
	w := fuzzWorld(t, true)
	var img Image
	w.TakeImage(&img)
	var file bytes.Buffer
	recorder := must.Get(w.Record(&file, &img, 1))
	return &recordingHead{file.Bytes(), img.tick, recorder.sum}
}

// encode wraps untrusted step contents in step records with correct checksums, behind the
// head.
func (h *recordingHead) encode(steps [][]byte) []byte {
	file, sum := bytes.Clone(h.file), h.sum
	for i, step := range steps {
		step = append(binary.LittleEndian.AppendUint64(nil, h.tick+uint64(i)+1), step...)
		_, _ = sum.Write(step)
		file = binary.LittleEndian.AppendUint32(file, uint32(len(step)))
		file = binary.LittleEndian.AppendUint64(file, sum.Sum64())
		file = append(file, step...)
	}
	return file
}

// recordedSteps returns the contents of a recording's step records.
func recordedSteps(t testing.TB) (steps [][]byte) {
	w := fuzzWorld(t, true)
	var img Image
	w.TakeImage(&img)
	rec := must.Get(w.Record(io.Discard, &img, 2))
	keep := writerFunc(func(b []byte) { steps = append(steps, bytes.Clone(b[stepHeaderBytes+8:])) })
	rec.to = keep
	makeFuzzedSteps(w, w.Step)
	return steps
}

// makeFuzzedSteps makes two steps, with changes of each kind before them.
func makeFuzzedSteps(w *World, step func()) {
	_, _ = w.SpawnFor(0, Vec3{X: 1, Y: 2, Z: 3}, Vec3{}, 7)
	e := w.Slots().Handle(1)
	w.SetPosition(e, Vec3{X: 3, Y: 2, Z: 1})
	w.Sleep(e)
	w.components[0].(*Component[fuzzed]).Set(e, fuzzed{Label: "barrel", Bag: []byte{3}})
	step()
	id := must.Get(w.AddEffect(EffectDef{Program: w.effects.programs[0], Mode: Wind}))
	w.MoveEffect(id, Vec3{X: 1, Y: 1, Z: 1})
	w.Rand().Uint64()
	w.Destroy(e)
	step()
}

type writerFunc func([]byte)

func (f writerFunc) Write(b []byte) (int, error) {
	f(b)
	return len(b), nil
}

// FuzzReplay replays two steps with correct checksums. The world stays valid for any
// contents.
func FuzzReplay(f *testing.F) {
	steps, head := recordedSteps(f), newRecordingHead(f)
	f.Add(steps[0], steps[1])
	f.Fuzz(func(t *testing.T, first, second []byte) {
		w := fuzzWorld(t, false)
		replay := must.Get(w.Replay(bytes.NewReader(head.encode([][]byte{first, second}))))
		var err error
		for err == nil {
			err = replay.Next()
			require.NoError(t, w.CheckInvariants())
		}
		var d *DivergenceError
		require.True(t, errors.Is(err, ErrRecording) || errors.As(err, &d), "%v", err)
	})
}
