package world

import (
	"bytes"
	"encoding/binary"
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/internal/racetest"
)

// newLargeWorld returns a world of more slots than a recording hashes at once.
func newLargeWorld(t *testing.T) *World {
	const entities = 3*recordedSlots - 100
	w := must.Get(New(Config{MaxEntities: entities, HalfExtent: Vec3{X: 1000, Y: 10, Z: 1000}}))
	kind := must.Get(w.AddKind(Kind{Name: "crate", Body: &BodyDef{Radius: 0.5}}))
	for i := range entities {
		e := must.Get(w.SpawnFor(kind, Vec3{X: float32(i%1000) - 500, Y: 0.5, Z: float32(i/1000) - 500}, Vec3{}, 0))
		w.Sleep(e)
	}
	w.Step()
	return w
}

// A recording hashes a bounded part of a large world after each tick. Its replay still finds each
// difference, after as many hashes as the world has parts, and reads recordings with whole hashes.
func TestRecordingOfALargeWorld(t *testing.T) {
	racetest.SkipSequential(t)
	w := newLargeWorld(t)
	var img Image
	w.TakeImage(&img)
	var file bytes.Buffer
	rec := must.Get(w.Record(&file, &img, 1))
	for range 6 {
		in := w.recordedRange(1)
		require.LessOrEqual(t, in.end-in.first, uint32(recordedSlots))
		w.Step()
	}
	require.NoError(t, rec.Close())
	replayEnd := func(file []byte, differs uint32) (uint64, error) {
		again := newLargeWorld(t)
		require.NoError(t, again.AddSystem(After, "differ", func(w *World) {
			if w.Tick() == 2 && differs > 0 {
				w.SetPosition(w.Slots().Handle(differs), Vec3{X: 999})
			}
		}))
		replay := must.Get(again.Replay(bytes.NewReader(file)))
		var err error
		for err == nil {
			err = replay.Next()
		}
		return again.Tick(), err
	}
	require.ErrorIs(t, must.Fail(replayEnd(file.Bytes(), 0)), io.EOF)
	found := map[uint64]bool{}
	for _, slot := range []uint32{1, recordedSlots, 2*recordedSlots - 1, 3*recordedSlots - 200} {
		var d *DivergenceError
		at, err := replayEnd(file.Bytes(), slot)
		require.ErrorAs(t, err, &d)
		require.Equal(t, []string{partBodies}, d.Parts)
		require.LessOrEqual(t, at, uint64(2+3))
		found[at] = true
	}
	require.Len(t, found, 3, "each part is hashed at its own tick")

	at, err := replayEnd(wholeRecording(t), 3*recordedSlots-200)
	require.EqualValues(t, 2, at)
	require.ErrorAs(t, err, new(*DivergenceError))
	require.ErrorIs(t, must.Fail(replayEnd(wholeRecording(t), 0)), io.ErrUnexpectedEOF, "not closed")
}

// wholeRecording returns a recording of version 4 of one step.
func wholeRecording(t *testing.T) []byte {
	w := newLargeWorld(t)
	var img Image
	w.TakeImage(&img)
	var head, image bytes.Buffer
	must.Get(img.WriteTo(&image))
	h := recordingHead{tick: img.tick}
	must.Get(w.Record(&head, &img, 1))
	h.file = head.Bytes()
	h.file[len(recordMagic)] = recordWhole
	h.sum.Reset()
	_, _ = h.sum.Write(h.file[:12])
	_, _ = h.sum.Write(h.file[12+image.Len():])
	w.Step()
	step := []byte{opHashes}
	for _, hash := range w.appendHashes(nil, w.allSlots()) {
		step = binary.LittleEndian.AppendUint64(step, hash)
	}
	return h.encode([][]byte{step})
}
