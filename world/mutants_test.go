package world

import (
	"bytes"
	"errors"
	"flag"
	"io"
	"os"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/internal/mutate"
	"github.com/worldd/worldd/internal/racetest"
)

var mutantsFlag = flag.Int("mutants", 1_000, "how many mutants TestMutants makes of each kind of file")

// TestMutants mutates this package's images and recordings, with wrong and with correct
// checksums. Accepted input gives a valid world, all other input gives typed errors, and
// memory use is proportional to the actual bytes.
func TestMutants(t *testing.T) {
	var img Image
	fuzzWorld(t, true).TakeImage(&img)
	var file bytes.Buffer
	must.Get(img.WriteTo(&file))
	steps, head := recordedSteps(t), newRecordingHead(t)
	journal, calls := newFuzzedJournal(t)
	contents := [][]byte{unpacked(t, fuzzWorld(t, true)), unpacked(t, fuzzWorld(t, false))}
	old, images := formatContents(t), [][]byte{file.Bytes()}
	for _, name := range formatFiles {
		images = append(images, must.Get(os.ReadFile(name)))
	}
	for i, breed := range []struct {
		name string
		pool [][]byte
		new  func(testing.TB) *World
		read func(*World, []byte) error
		sums bool // most fail their checksums
	}{
		{"contents", contents, emptyFuzzWorld, restoreContents, false},
		{"contents of another version", contents, evolvedFuzzWorld, restoreContents, false},
		{"contents for a description", contents, emptyFuzzWorld, describeContents, false},
		{"image", images, emptyFuzzWorld, func(w *World, b []byte) error { return restoreFrom(w, w.ReadImage, b) }, true},
		{"steps", steps, emptyFuzzWorld, func(w *World, b []byte) error { return replayed(w, head.encode([][]byte{b, steps[1]})) }, false},
		{"steps of another version", steps, evolvedFuzzWorld, func(w *World, b []byte) error { return replayed(w, head.encode([][]byte{b, steps[1]})) }, false},
		{"recording", [][]byte{head.encode(steps)}, emptyFuzzWorld, replayed, true},
		{"recording for a description", [][]byte{head.encode(steps)}, emptyFuzzWorld, describeRecording, true},
		{"calls of a journal", calls, emptyFuzzWorld, func(w *World, b []byte) error { return journal.repeat(w, b, calls[1], nil) }, false},
		{"calls of a journal of another version", calls, evolvedFuzzWorld, func(w *World, b []byte) error { return journal.repeat(w, b, calls[1], nil) }, false},
		{"calls of a head", [][]byte{calls[1]}, emptyFuzzWorld, func(w *World, b []byte) error { return journal.repeat(w, calls[0], nil, b) }, false},
		{"segment", [][]byte{journal.segment(calls[0], calls[1])}, emptyFuzzWorld, func(w *World, b []byte) error { return journal.repeatFiles(w, b) }, true},
		{"contents of a later version", [][]byte{unpacked(t, laterFuzzWorld(t))}, emptyFuzzWorld, restoreContents, false},
		{"contents of format 1", old[:1], emptyFormatWorld, restoreFormat(1), false},
		{"contents of format 2", old[1:2], emptyFormatWorld, restoreFormat(2), false},
		{"contents of format 3", old[2:3], emptyFormatWorld, restoreFormat(3), false},
		{"contents of format 4", old[3:], emptyFormatWorld, restoreFormat(4), false},
		{"contents of format 4 for a description", old[3:], emptyFuzzWorld, describeFormat(4), false},
	} {
		t.Run(breed.name, func(t *testing.T) {
			racetest.SkipSequential(t)
			s, n, taken := mutate.NewSource(uint64(i), breed.pool...), mutate.Count(*mutantsFlag), 0
			for number := range n {
				b, w := s.Next(), breed.new(t)
				before := mutate.Allocated()
				err := breed.read(w, b)
				require.Less(t, mutate.Allocated()-before, uint64(32<<20), "mutant %d: bytes allocated for %d: %x", number, len(b), b)
				require.NoError(t, w.CheckInvariants(), "mutant %d: %x", number, b)
				var d *DivergenceError
				switch {
				case err == nil, errors.As(err, &d):
					taken++
				default:
					named := []error{ErrImage, ErrImageVersion, ErrImageWorld, ErrRecording, ErrJournalEnd}
					require.True(t, slices.ContainsFunc(named, func(e error) bool { return errors.Is(err, e) }), "mutant %d: %v: %x", number, err, b)
				}
			}
			t.Logf("%d of %d accepted", taken, n)
			require.True(t, taken > 0 || breed.sums, "all are rejected: later parts are not reached")
		})
	}
}

// formatFiles are images in the formats before this one, in their order.
var formatFiles = [imageVersion - 1]string{"testdata/format1.image", "testdata/format2.image", "testdata/format3.image", "testdata/format4.image"}

// formatContents returns the decompressed chunks of formatFiles.
func formatContents(t testing.TB) (contents [][]byte) {
	for _, name := range formatFiles {
		contents = append(contents, unpackedFile(t, must.Get(os.ReadFile(name))))
	}
	return contents
}

// emptyFormatWorld is set up for formatFiles, like a later version of their game.
func emptyFormatWorld(t testing.TB) *World {
	type purse struct {
		Gold  int64
		Owner Entity
		Level uint8
		Rank  uint8
	}
	w := must.Get(New(Config{MaxEntities: 200, HalfExtent: Vec3{X: 20, Y: 20, Z: 20}}))
	for _, k := range []Kind{{Name: "ghost"}, {Name: "stone", Body: &BodyDef{Mass: 2, Radius: 0.5, Solid: true}}} {
		must.Get(w.AddKind(k))
	}
	_ = must.Get(Register[purse](w, "purse"))
	require.NoError(t, must.Get(Register[Volume](w, "volume")).Was("zone"))
	return w
}

// restoreContents restores contents as if their checksums were correct.
func restoreContents(w *World, b []byte) error { return restoreFormat(imageVersion)(w, b) }

// describeContents describes contents as if their checksums were correct.
func describeContents(w *World, b []byte) error { return describeFormat(imageVersion)(w, b) }

// restoreFormat returns a function that restores contents in a format.
func restoreFormat(version uint32) func(*World, []byte) error {
	return func(w *World, b []byte) error {
		return restoreFrom(w, func(from io.Reader) (*Image, error) {
			img, _, err := w.decodeImage(version, readFull(from))
			return img, err
		}, b)
	}
}

// describeFormat returns a function that describes contents in a format.
func describeFormat(version uint32) func(*World, []byte) error {
	return func(_ *World, b []byte) error {
		_, err := decodeInfo(version, readFull(bytes.NewReader(b)))
		return err
	}
}

// readFull returns a function that fills its argument from contents.
func readFull(from io.Reader) func([]byte) error {
	return func(b []byte) error {
		if _, err := io.ReadFull(from, b); err != nil {
			return errors.Join(ErrImageWorld, err)
		}
		return nil
	}
}

func restoreFrom(w *World, read func(io.Reader) (*Image, error), b []byte) error {
	img, err := read(bytes.NewReader(b))
	if err != nil {
		return err
	}
	if err := w.Restore(img); err != nil {
		return err
	}
	w.Step()
	return nil
}

// replayed replays a recording as far as possible.
func replayed(w *World, b []byte) error {
	replay, err := w.Replay(bytes.NewReader(b))
	for err == nil {
		err = replay.Next()
	}
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// describeRecording describes a recording.
func describeRecording(_ *World, b []byte) error {
	_, err := ReadImageInfo(bytes.NewReader(b))
	return err
}
