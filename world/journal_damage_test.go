package world_test

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/internal/racetest"
	"github.com/worldd/worldd/world"
)

// journalOf returns a scene's journal of two segments of 20 ticks each.
func journalOf(t testing.TB, run, seed uint64) *journaled {
	j := newJournaled(t, watched(t, seed, 10, 1, 1), world.JournalConfig{Run: run, Durable: true}, seed)
	for tick := range 40 {
		if tick%20 == 0 {
			j.begin(t)
		}
		j.step(t)
	}
	return j
}

// outcome is the number of frames that a reader yields, and why it stops.
type outcome struct {
	frames int
	offset int64
	err    error
}

func readSegment(from io.Reader) (o outcome) {
	r, err := world.NewJournalReader(from)
	if err != nil {
		return outcome{-1, 0, err}
	}
	for {
		frame, err := r.Next()
		if err != nil {
			_, again := r.Next()
			if !errors.Is(again, err) {
				return outcome{-2, 0, again}
			}
			return outcome{o.frames, r.Offset(), err}
		}
		o.frames++
		if frame.Tick != r.Head().Tick+uint64(o.frames) {
			return outcome{-2, 0, nil}
		}
	}
}

// requireEnd requires that a reader yields the whole frames before a byte of a segment, and then reports bytes that are
// torn or changed.
func requireEnd(t *testing.T, s segment, file []byte, at int, torn bool, what string) {
	t.Helper()
	whole := len(slices.DeleteFunc(slices.Clone(s.ends), func(end int) bool { return end > at })) - 1
	o := readSegment(bytes.NewReader(file))
	require.Equal(t, whole, o.frames, "%s at byte %d: %v", what, at, o.err)
	require.ErrorIs(t, o.err, world.ErrJournalEnd)
	require.Equal(t, torn, errors.Is(o.err, io.ErrUnexpectedEOF), "%s at byte %d: %v", what, at, o.err)
	if whole >= 0 {
		require.EqualValues(t, s.ends[whole], o.offset)
	}
}

// Every changed byte of a segment is found, and no frame behind it is read.
func TestChangedByteOfSegment(t *testing.T) {
	racetest.SkipSequential(t)
	s := journalOf(t, 5, 7).segments[1]
	require.Equal(t, outcome{20, int64(len(s.file)), io.EOF}, readSegment(bytes.NewReader(s.file)))
	require.Equal(t, outcome{20, int64(len(s.file)), io.EOF}, readSegment(iotest.OneByteReader(bytes.NewReader(s.file))))
	for at := range s.file {
		wrong := bytes.Clone(s.file)
		wrong[at] ^= 1 << (at % 8)
		requireEnd(t, s, wrong, at, false, "changed")
		wrong[at] = ^s.file[at]
		requireEnd(t, s, wrong, at, false, "inverted")
	}
}

// A segment that was not written completely ends cleanly between two frames, and in a torn frame otherwise, even
// if the file system has filled it with zeros.
func TestTornSegment(t *testing.T) {
	s := journalOf(t, 5, 7).segments[1]
	for at := range s.file {
		if i := slices.Index(s.ends, at); i >= 0 {
			require.Equal(t, outcome{i, int64(at), io.EOF}, readSegment(bytes.NewReader(s.file[:at])))
			zeros := append(bytes.Clone(s.file[:at]), make([]byte, 1+at%9000)...)
			requireEnd(t, s, zeros, at, true, "zeros")
			requireEnd(t, s, append(zeros, make([]byte, 16)...), at, true, "more zeros")
			requireEnd(t, s, append(zeros, append(make([]byte, 16), 2)...), at, false, "zeros and another byte")
			continue
		}
		requireEnd(t, s, s.file[:at], at, true, "cut")
	}
	requireEnd(t, s, make([]byte, 5000), 0, true, "zeros")
}

// In the last frame, sectors of zeros that were never written are told from a changed bit, also if the frame has sectors of
// zeros of its own.
func TestUnwrittenSectors(t *testing.T) {
	racetest.SkipSequential(t)
	const sector = 512
	for _, size := range []int{0, 300, 460, 511, 512, 1500, 2100} {
		j := newJournaled(t, watched(t, 7, 10, 1, 1), world.JournalConfig{Run: 5, Durable: true}, 7)
		j.begin(t)
		file := bytes.Clone(j.segments[0].file)
		for range 3 {
			j.Step()
			file = append(file, must.Get(j.journal.Commit(nil))...)
		}
		last := len(file)
		j.Step()
		file = append(file, must.Get(j.journal.Commit(make([]byte, size)))...)
		require.Equal(t, outcome{4, int64(len(file)), io.EOF}, readSegment(bytes.NewReader(file)))
		requireLast := func(b []byte, torn bool, what string, at int) {
			o := readSegment(bytes.NewReader(b))
			require.Equal(t, 3, o.frames, "%s %d of %d to %d: %v", what, at, last, len(file), o.err)
			require.EqualValues(t, last, o.offset)
			require.Equal(t, torn, errors.Is(o.err, io.ErrUnexpectedEOF), "%s %d of %d to %d: %v", what, at, last, len(file), o.err)
		}
		for at := last; at < len(file); at++ {
			for bit := range 8 {
				b := bytes.Clone(file)
				b[at] ^= 1 << bit
				requireLast(b, false, "changed bit in byte", at)
			}
		}
		for first := last; first < len(file); first = first - first%sector + sector {
			b, end := bytes.Clone(file), min(first-first%sector+sector, len(file))
			clear(b[first:end])
			requireLast(b, first > last || end == len(b), "unwritten from byte", first) // else a header of zeros is before other bytes
			requireLast(append(bytes.Clone(b), 1), false, "unwritten, and a byte behind it, from byte", first)
			b[end-1] = 1
			requireLast(b, false, "zeros with a changed bit from byte", first)
			clear(b[first:])
			requireLast(b, true, "unwritten to the end from byte", first)
		}
	}
}

// Missing, repeated, reordered and foreign frames are found.
func TestFramesOutOfOrder(t *testing.T) {
	j, other := journalOf(t, 5, 7), journalOf(t, 6, 7)
	s := j.segments[1]
	frame := func(s segment, i int) []byte { return s.file[s.ends[i]:s.ends[i+1]] }
	require.Equal(t, frame(s, 3)[16:], frame(other.segments[1], 3)[16:], "another run with the same changes")
	replace := func(i, n int, frames ...[]byte) []byte {
		return slices.Concat(s.file[:s.ends[i]], bytes.Join(frames, nil), s.file[s.ends[i+n]:])
	}
	frames := len(s.ends) - 1
	for i := range frames {
		at := s.ends[i]
		for what, file := range map[string][]byte{
			"repeated":               replace(i, 0, frame(s, max(i-1, 0)), frame(s, max(i-1, 0))),
			"of another run":         replace(i, 1, frame(other.segments[1], i)),
			"of another segment":     replace(i, 1, frame(j.segments[0], i)),
			"a later frame":          replace(i, 0, frame(s, frames-1), frame(s, i)),
			"the head of another":    replace(i, 0, other.segments[1].file[:other.segments[1].ends[0]]),
			"followed by itself":     replace(i, 0, s.file),
			"followed by other data": replace(i, 0, []byte("other data, longer than a header")),
		} {
			if i == 0 && what == "repeated" || i == frames-1 && what == "a later frame" {
				continue // the right frame first
			}
			requireEnd(t, s, file, at, false, what)
		}
		if i+1 < frames {
			requireEnd(t, s, replace(i, 1), at, false, "missing")
			requireEnd(t, s, replace(i, 2, frame(s, i+1), frame(s, i)), at, false, "reordered")
		}
	}
}

// Several thousand segments with random damage: nothing behind the first damaged byte is read.
func TestMutatedSegments(t *testing.T) {
	j := journalOf(t, 5, 7)
	r := rand.New(rand.NewPCG(3, 4))
	for range 4000 {
		s := j.segments[r.IntN(2)]
		file := bytes.Clone(s.file)
		for range 1 + r.IntN(3) {
			at, n := r.IntN(len(file)), r.IntN(200)
			switch r.IntN(4) {
			case 0:
				file[at] = byte(r.Uint32())
			case 1:
				file = file[:at+1]
			case 2:
				file = slices.Delete(file, at, min(at+n, len(file)))
			case 3:
				file = slices.Insert(file, at, s.file[min(at, len(s.file)):min(at+n, len(s.file))]...)
			}
			if len(file) == 0 {
				break
			}
		}
		same := 0
		for same < min(len(file), len(s.file)) && file[same] == s.file[same] {
			same++
		}
		o := readSegment(bytes.NewReader(file))
		whole := len(slices.DeleteFunc(slices.Clone(s.ends), func(end int) bool { return end > same })) - 1
		require.Equal(t, whole, o.frames, "same up to byte %d: %v", same, o.err)
		clean := whole >= 0 && len(file) == s.ends[whole]
		require.Equal(t, clean, errors.Is(o.err, io.EOF) && !errors.Is(o.err, world.ErrJournalEnd), "%v", o.err)
	}
}

// An error of the disk is no end of the segment.
func TestSegmentOfFailingReader(t *testing.T) {
	s := journalOf(t, 5, 7).segments[1]
	for _, at := range []int{0, 5, s.ends[0], s.ends[0] + 5, s.ends[0] + 50, s.ends[1]} {
		o := readSegment(io.MultiReader(bytes.NewReader(s.file[:at]), iotest.ErrReader(errFull)))
		require.ErrorIs(t, o.err, errFull)
		require.NotErrorIs(t, o.err, world.ErrJournalEnd)
	}
}
