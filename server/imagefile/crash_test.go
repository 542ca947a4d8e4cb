package imagefile

import (
	"bytes"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/disktest"
	"github.com/worldd/worldd/internal/must"
)

// Whenever the process or the machine dies while a note is saved, the note before or the new one is there; and the new one
// once SaveCrash has returned (G16).
func TestCrashNoteIsDurable(t *testing.T) {
	first := Crash{Tick: 7, Panics: 1, Image: 9, Returns: 6, Program: 5, Text: "a fault"}
	second := Crash{Tick: 8, Panics: 2, Image: 10, Returns: 7, Replaying: true, Program: 1<<64 - 1, Text: "line\n\"two\" \x1b[31m"}
	disks := func(d *disktest.Disk, seed uint64) map[string]*disktest.Disk {
		random := rand.New(rand.NewPCG(seed, 0))
		return map[string]*disktest.Disk{
			"kill": d.Kill(), "drop": d.PowerLoss(disktest.Drop, random), "keep": d.PowerLoss(disktest.Keep, random),
			"torn": d.PowerLoss(disktest.Torn, random), "reorder": d.PowerLoss(disktest.Reorder, random),
		}
	}
	done := false
	for at := 0; !done; at++ {
		d := disktest.New()
		s := &Store{path: simulatedImage, disk: d}
		require.NoError(t, s.SaveCrash(first))
		d.CrashAt(d.Ops() + at)
		err := s.SaveCrash(second)
		done = !d.Crashed()
		require.Equal(t, done, err == nil)
		for name, after := range disks(d, uint64(at)) {
			found := must.Get((&Store{path: simulatedImage, disk: after}).ReadCrash())
			if !done && found == first {
				continue
			}
			require.Equal(t, second, found, "%s at %d", name, at)
		}
	}
}

// Nothing but the text of a note is read, and a long text is cut.
func TestCrashNoteIsBounded(t *testing.T) {
	d := disktest.New()
	s := &Store{path: simulatedImage, disk: d}
	require.Equal(t, Crash{}, must.Get(s.ReadCrash()))
	for _, text := range []string{strings.Repeat("\x00", 1<<20), strings.Repeat("€", 200), strings.Repeat("\U000e0001", 100)} {
		require.NoError(t, s.SaveCrash(Crash{Tick: 1, Panics: 1, Text: text}))
		data := d.Data(s.crashPath())
		require.Less(t, len(data), maxCrashBytes)
		require.Equal(t, 8, bytes.Count(data, []byte("\n")))
		require.LessOrEqual(t, len(must.Get(s.ReadCrash()).Text), maxCrashText)
	}
	whole := string(d.Data(s.crashPath()))
	for _, wrong := range []string{
		"", "worldd-crash 1\n", strings.Replace(whole, "crash 1", "crash 2", 1), strings.Replace(whole, "panics 1", "panics -1", 1),
		strings.Replace(whole, "tick 1", "tick 18446744073709551616", 1), strings.Replace(whole, "tick 1", "tick 18446744073709551615", 1),
		strings.Replace(whole, "panics 1", "panics 9223372036854775807", 1), strings.Replace(whole, "returns 0", "returns 18446744073709551615", 1), whole[:len(whole)-3],
	} {
		d.Put(s.crashPath(), []byte(wrong))
		require.ErrorIs(t, must.Fail(s.ReadCrash()), ErrCrashNote, "%q", wrong)
	}
	d.SetFail(func(op disktest.Op, path string) error {
		if op == disktest.Sync {
			return filepath.ErrBadPattern
		}
		return nil
	})
	require.ErrorIs(t, s.SaveCrash(Crash{Tick: 1, Panics: 1}), filepath.ErrBadPattern)
	for _, name := range d.Names() {
		require.False(t, strings.HasSuffix(name, ".tmp"))
	}
}
