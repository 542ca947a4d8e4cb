package world

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"slices"
	"testing"

	"github.com/cespare/xxhash/v2"
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
	must.Get(img.WriteTo(&file))
	j := must.Get(w.StartJournal(JournalConfig{Run: 3}))
	segment := bytes.Clone(must.Get(j.BeginSegment([]byte("notes"))))
	makeFuzzedSteps(w, func() {
		w.Step()
		segment = append(segment, must.Get(j.Commit(nil))...)
	})
	r := must.Get(NewJournalReader(bytes.NewReader(segment)))
	for frame, err := r.Next(); err == nil; frame, err = r.Next() {
		calls = append(calls, bytes.Clone(frame.calls))
	}
	require.Len(t, calls, 2)
	return &fuzzedJournal{file.Bytes(), r.head}, calls
}

// encode returns a segment of frames with these calls and without hashes, and its sum.
func (f *fuzzedJournal) encode(head JournalHead, calls ...[]byte) (file []byte, sum uint64) {
	var frames []JournalFrame
	for i, c := range calls {
		frames = append(frames, JournalFrame{Tick: head.Tick + uint64(i) + 1, calls: c, hashes: make([]byte, 4*journalHashes)})
	}
	return encodeSegment(journalVersion, head, frames)
}

// encodeSegment returns a segment of a version, and its sum.
func encodeSegment(version uint32, head JournalHead, frames []JournalFrame) (file []byte, sum uint64) {
	b, _ := head.append(nil)
	binary.LittleEndian.PutUint32(b[4:], version)
	binary.LittleEndian.PutUint32(b[12:], uint32(xxhash.Sum64(b[:12])))
	sum = xxhash.Sum64(b[:len(b)-sumBytes])
	binary.LittleEndian.PutUint64(b[len(b)-sumBytes:], sum)
	headEnd := len(b)
	for _, f := range frames {
		body := binary.LittleEndian.AppendUint64(nil, f.Tick)
		body = binary.LittleEndian.AppendUint32(body, uint32(len(f.Notes)))
		body = slices.Concat(body, f.hashes, f.calls, f.Notes)
		if version > 1 {
			body = append(body, frameMark)
		}
		length := uint32(len(body))
		b = binary.LittleEndian.AppendUint32(b, length)
		b = binary.LittleEndian.AppendUint32(b, lengthCheck(sum, length))
		sum = chainSum(sum, body)
		b = append(binary.LittleEndian.AppendUint64(b, sum), body...)
	}
	if version == 1 {
		return b, sum
	}
	return appendMarked(b[:headEnd:headEnd], b[headEnd:], int64(headEnd)), sum
}

// segment returns a segment of two frames.
func (f *fuzzedJournal) segment(first, second []byte) []byte {
	file, _ := f.encode(f.head, first, second)
	return file
}

// Programs that know version 1 alone compare the sum of a head with the bytes of the file, and then its version.
func TestHeadInVersion1(t *testing.T) {
	w := fuzzWorld(t, true)
	j := must.Get(w.StartJournal(JournalConfig{Run: 3}))
	file := bytes.Clone(must.Get(j.BeginSegment(make([]byte, 5*sectorBytes))))
	end := headHeaderBytes + int(binary.LittleEndian.Uint32(file[8:]))
	require.Len(t, file, end+sumBytes)
	require.Equal(t, xxhash.Sum64(file[:end]), binary.LittleEndian.Uint64(file[end:]))
	require.EqualValues(t, journalVersion, binary.LittleEndian.Uint32(file[4:]))

	newer := file[:headHeaderBytes]
	binary.LittleEndian.PutUint32(newer[4:], journalVersion+1)
	binary.LittleEndian.PutUint32(newer[12:], uint32(xxhash.Sum64(newer[:12])))
	_, err := NewJournalReader(bytes.NewReader(append(newer, "in another form"...)))
	require.ErrorIs(t, err, ErrImageVersion)
	require.NotErrorIs(t, err, ErrJournalEnd)
}

// A segment of version 1 has no marks, and hashes of windows of 1,024 slots.
func TestSegmentOfVersion1(t *testing.T) {
	for _, wrong := range []uint32{0, 1} {
		w := fuzzWorld(t, true)
		var img Image
		w.TakeImage(&img)
		j := must.Get(w.StartJournal(JournalConfig{Run: 3}))
		head := must.Get(NewJournalReader(bytes.NewReader(must.Get(j.BeginSegment([]byte("notes")))))).head
		var frames []JournalFrame
		step := func() {
			w.Step()
			must.Get(j.Commit(nil))
			f := JournalFrame{Tick: w.tick, calls: bytes.Clone(j.frame[callsAt : len(j.frame)-1]), Notes: make([]byte, w.tick)}
			for _, h := range w.windowHashes(1) {
				f.hashes = binary.LittleEndian.AppendUint32(f.hashes, h^wrong)
			}
			frames = append(frames, f)
		}
		makeFuzzedSteps(w, step)
		for range 40 { // longer than several sectors
			step()
		}
		file, sum := encodeSegment(1, head, frames)
		again := emptyFuzzWorld(t)
		require.NoError(t, again.Restore(&img))
		replay, r := must.Get(again.ReplayJournal(&img)), must.Get(NewJournalReader(bytes.NewReader(file)))
		require.NoError(t, replay.Follow(r))
		for i := range frames {
			f := must.Get(r.Next())
			require.Equal(t, frames[i].Notes, f.Notes)
			err := replay.Apply(f)
			if wrong != 0 {
				var d *DivergenceError
				require.ErrorAs(t, err, &d)
				break
			}
			require.NoError(t, err)
		}
		if wrong != 0 {
			continue
		}
		_, err := r.Next()
		require.Equal(t, io.EOF, err)
		require.Equal(t, sum, replay.Sum())
		require.Equal(t, w.StateHash(), again.StateHash())
		require.EqualValues(t, len(file), r.Offset())
	}
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
	old, _ := encodeSegment(1, journal.head, []JournalFrame{{Tick: journal.head.Tick + 1, calls: calls[0], hashes: make([]byte, 4*journalHashes), Notes: make([]byte, 600)}})
	f.Add(old)
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
