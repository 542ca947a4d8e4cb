package world

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/must"
)

// fuzzedJournal encodes segments with correct sums and untrusted calls, behind an image.
type fuzzedJournal struct {
	image []byte
	head  JournalHead
}

// newFuzzedJournal returns a journal and the calls of its frames.
func newFuzzedJournal(t testing.TB) (f *fuzzedJournal, calls [][]byte) {
	w := fuzzWorld(t, true)
	var file bytes.Buffer
	var img Image
	w.TakeImage(&img)
	_, err := img.WriteTo(&file)
	require.NoError(t, err)
	j := must.Get(w.StartJournal(JournalConfig{Run: 3}))
	head := bytes.Clone(must.Get(j.BeginSegment([]byte("notes"))))
	f = &fuzzedJournal{file.Bytes(), must.Get(NewJournalReader(bytes.NewReader(head))).head}
	makeFuzzedSteps(w, func() {
		w.Step()
		calls = append(calls, bytes.Clone(must.Get(j.Commit(nil))[callsAt:]))
	})
	return f, calls
}

// encode returns a segment of frames with these calls, and its sum.
func (f *fuzzedJournal) encode(head JournalHead, calls ...[]byte) (file []byte, sum uint64) {
	file, sum = head.append(nil)
	for i, c := range calls {
		body := binary.LittleEndian.AppendUint64(nil, head.Tick+uint64(i)+1)
		body = append(append(body, make([]byte, bodyHeaderBytes-8)...), c...)
		length := uint32(len(body))
		file = binary.LittleEndian.AppendUint32(file, length)
		file = binary.LittleEndian.AppendUint32(file, lengthCheck(sum, length))
		sum = chainSum(sum, body)
		file = append(binary.LittleEndian.AppendUint64(file, sum), body...)
	}
	return file, sum
}

// segment returns a segment of two frames.
func (f *fuzzedJournal) segment(first, second []byte) []byte {
	file, _ := f.encode(f.head, first, second)
	return file
}

// repeat repeats two frames, and then the calls in the head of the next segment.
func (f *fuzzedJournal) repeat(w *World, first, second, head []byte) error {
	file, sum := f.encode(f.head, first, second)
	next := f.head
	next.Tick, next.chain, next.calls = next.Tick+2, sum, head
	last, _ := f.encode(next)
	return f.repeatFiles(w, file, last)
}

// repeatFiles repeats segments as far as possible, without a comparison of hashes.
func (f *fuzzedJournal) repeatFiles(w *World, files ...[]byte) error {
	img, err := w.ReadImage(bytes.NewReader(f.image))
	if err != nil {
		return err
	}
	if err := w.Restore(img); err != nil {
		return err
	}
	replay, err := w.ReplayJournal(img)
	for i := 0; i < len(files) && err == nil; i++ {
		err = repeatSegment(replay, files[i])
	}
	return err
}

func repeatSegment(replay *JournalReplay, file []byte) error {
	r, err := NewJournalReader(bytes.NewReader(file))
	if err != nil {
		return err
	}
	replay.changes = append(replay.changes, ImageChange{}) // hashes are not compared
	err = replay.Follow(r)
	for err == nil {
		var frame JournalFrame
		if frame, err = r.Next(); err == nil {
			err = replay.Apply(frame)
		}
	}
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// FuzzJournal repeats a segment of two frames, and the head of a second one, with correct sums. The world stays valid for any
// calls.
func FuzzJournal(f *testing.F) {
	journal, calls := newFuzzedJournal(f)
	f.Add(calls[0], calls[1], []byte{})
	f.Add([]byte{}, []byte{opForgetPrograms}, calls[0])
	f.Fuzz(func(t *testing.T, first, second, head []byte) {
		w := emptyFuzzWorld(t)
		err := journal.repeat(w, first, second, head)
		require.NoError(t, w.CheckInvariants())
		var d *DivergenceError
		require.True(t, err == nil || errors.As(err, &d), "%v", err)
	})
}

// FuzzSegment reads untrusted bytes: frames are read up to the first byte that is not valid, which the error names.
func FuzzSegment(f *testing.F) {
	journal, calls := newFuzzedJournal(f)
	f.Add(journal.segment(calls[0], calls[1]))
	f.Fuzz(func(t *testing.T, file []byte) {
		r, err := NewJournalReader(bytes.NewReader(file))
		if err != nil {
			require.True(t, errors.Is(err, ErrJournalEnd) || errors.Is(err, ErrImageVersion), "%v", err)
			return
		}
		ticks := r.Head().Tick
		for err == nil {
			var frame JournalFrame
			frame, err = r.Next()
			if err == nil {
				ticks++
				require.Equal(t, ticks, frame.Tick)
			}
		}
		end := errors.Is(err, ErrJournalEnd)
		require.Equal(t, !end, r.Offset() == int64(len(file)), "%v", err)
		require.True(t, end || errors.Is(err, io.EOF), "%v", err)
	})
}
