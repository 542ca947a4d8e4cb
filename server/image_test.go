package server

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/worldd/worldd/internal/atomicfile"
	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/server/imagefile"
	"github.com/worldd/worldd/world"
)

// savingLoop returns a loop that saves its world every second, and the image's path.
func savingLoop(t *testing.T, change func(*ImageConfig)) (*loop, string, *observer.ObservedLogs) {
	l := newTestLoop(t, func(uint64) time.Duration { return 0 })
	logs, seen := observer.New(zap.InfoLevel)
	c := ImageConfig{Store: openStore(t, filepath.Join(t.TempDir(), "world.image")), Every: time.Second}
	change(&c)
	l.saver = newSaver(c, l.core.World(), zap.New(logs))
	return l, c.Store.Path(), seen
}

func openStore(t *testing.T, path string) *imagefile.Store {
	store := must.Get(imagefile.Open(path, 0))
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	return store
}

func savedTick(t *testing.T, path string) uint64 {
	w := must.Get(world.New(world.Config{TickHz: 50}))
	data := must.Get(os.ReadFile(path))
	img := must.Get(w.ReadImage(bytes.NewReader(data)))
	return img.Tick()
}

func TestWorldIsSavedAtTheBeginningInBetweenAndAtTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, path, _ := savingLoop(t, func(*ImageConfig) {})
		require.NoError(t, l.saver.saveFirst())
		require.Zero(t, savedTick(t, path))
		runFor(t, l, 2500*time.Millisecond)
		l.saver.saving.Wait()
		require.Equal(t, uint64(3), l.report().Images.Saved)
		require.InDelta(t, 102, savedTick(t, path), 2, "two seconds of 50 ticks, and one to prepare each")
		require.NoError(t, l.saver.saveLast())
		require.Equal(t, l.core.World().Tick(), savedTick(t, path))
		require.Equal(t, uint64(4), l.report().Images.Saved)
		require.Zero(t, l.report().Images.Failed)
	})
}

// The last save waits for the running one, and reuses its image.
func TestLastSaveIsAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		takes, under := 0, make(chan struct{})
		l, _, _ := savingLoop(t, func(*ImageConfig) {})
		l.saver.take = func(img *world.Image) error {
			takes++
			l.core.World().TakeImage(img)
			return nil
		}
		l.saver.saving.Go(func() { <-under })
		ended := make(chan error, 1)
		go func() { ended <- l.saver.saveLast() }()
		synctest.Wait()
		require.Zero(t, takes)
		close(under)
		require.NoError(t, <-ended)
		require.Equal(t, 1, takes)
	})
}

// Two servers that save to one file both log a warning, on file systems without locks.
func TestTwoSaveToOneFile(t *testing.T) {
	l, path, logs := savingLoop(t, func(*ImageConfig) {})
	require.NoError(t, l.saver.saveFirst())
	require.NoError(t, l.saver.saveNow())
	require.Zero(t, logs.Len(), "its own image")
	other, theirs, others := savingLoop(t, func(*ImageConfig) {})
	replace := func(path, by string) {
		data := must.Get(os.ReadFile(by))
		require.NoError(t, atomicfile.Write(path, data, 0o600))
	}
	replace(theirs, path)
	require.NoError(t, other.saver.saveFirst())
	require.Zero(t, others.Len(), "an image from before the start")
	replace(path, theirs)
	require.NoError(t, l.saver.saveNow())
	require.Equal(t, 1, logs.FilterMessageSnippet("its own file").Len())
	require.NoError(t, l.saver.saveNow())
	require.Equal(t, 1, logs.Len(), "once per replacement")
	replace(theirs, path)
	require.NoError(t, other.saver.saveLast())
	require.Equal(t, 1, others.FilterMessageSnippet("its own file").Len())
	require.NoError(t, os.Remove(path))
	require.NoError(t, l.saver.saveLast())
	require.Equal(t, 2, logs.Len())
	require.FileExists(t, path)
}

// A slow save delays no tick, only the next save.
func TestSlowSaveDelaysTheNext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, path, _ := savingLoop(t, func(*ImageConfig) {})
		require.NoError(t, l.saver.saveFirst())
		<-l.saver.idle // as if one were under way
		runFor(t, l, 3*time.Second)
		require.Greater(t, l.core.World().Tick(), uint64(140))
		require.Zero(t, savedTick(t, path))
		l.saver.idle <- struct{}{}
		runFor(t, l, 100*time.Millisecond)
		l.saver.saving.Wait()
		require.NotZero(t, savedTick(t, path))
	})
}

// A failed save is logged, the server keeps running, and the previous image is kept. At the start
// and the end it is an error.
func TestSaveThatFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var fault error
		l, path, logs := savingLoop(t, func(*ImageConfig) {})
		l.saver.take = func(img *world.Image) error {
			if img.Tick() == 0 {
				img.Extra = append(img.Extra[:0], "x"...)
			}
			return fault
		}
		l.core.World().TakeImage(&l.saver.image)
		require.NoError(t, l.saver.saveFirst())
		good := must.Get(os.ReadFile(path))
		require.NoError(t, (&run{loop: l}).checkHandOver())
		fault = errors.New("no image")
		runFor(t, l, 2500*time.Millisecond)
		require.Equal(t, uint64(2), l.report().Images.Failed)
		require.Equal(t, 2, logs.FilterMessage("the world was not saved").Len())
		require.ErrorContains(t, (&run{loop: l}).checkHandOver(), "could not be saved")
		require.Equal(t, good, must.Get(os.ReadFile(path)))
		require.ErrorIs(t, l.saver.saveLast(), fault)
	})
	dir := t.TempDir()
	l, _, _ := savingLoop(t, func(c *ImageConfig) { c.Store = openStore(t, filepath.Join(dir, "world.image")) })
	require.NoError(t, os.RemoveAll(dir))
	require.ErrorContains(t, l.saver.saveFirst(), "cannot save the world", "an unwritable path is an error at the start")
}

// A disk full at the start is logged, and the server starts.
func TestStartOnAFullDisk(t *testing.T) {
	for _, full := range []error{syscall.ENOSPC, syscall.EDQUOT, syscall.EFBIG} {
		synctest.Test(t, func(t *testing.T) {
			fault := error(&fs.PathError{Op: "write", Path: "x", Err: full})
			l, path, logs := savingLoop(t, func(*ImageConfig) {})
			l.saver.take = func(img *world.Image) error {
				l.core.World().TakeImage(img)
				return fault
			}
			require.NoError(t, l.saver.saveFirst())
			require.Equal(t, 1, logs.FilterMessage("the world was not saved").Len())
			require.Equal(t, uint64(1), l.report().Images.Failed)
			require.NoFileExists(t, path)
			fault = nil
			runFor(t, l, 1500*time.Millisecond)
			l.saver.saving.Wait()
			require.Equal(t, uint64(1), l.report().Images.Saved, "the disk has room again")
			require.FileExists(t, path)
			fault = full
			require.NoError(t, l.saver.saveFirst())
			require.ErrorIs(t, l.saver.saveLast(), full, "a failed last save is an error")
		})
	}
}

// Temporary files of killed saves of this image are removed; other images' and programs'
// files are not.
func TestBeginSweeps(t *testing.T) {
	l, path, seen := savingLoop(t, func(*ImageConfig) {})
	killed := must.Get(atomicfile.Create(path, 0o600))
	require.NoError(t, killed.Seal())
	writing := must.Get(atomicfile.Create(path+"1", 0o600))
	defer writing.Discard()
	foreign := filepath.Join(filepath.Dir(path), ".world.image987")
	require.NoError(t, os.WriteFile(foreign, nil, 0o600))

	require.NoError(t, l.saver.saveFirst())
	require.NoFileExists(t, killed.Name())
	require.FileExists(t, writing.Name())
	require.FileExists(t, foreign)
	require.Equal(t, 1, seen.FilterMessage("removed the temporary file of a killed save").Len())
}

func TestImageConfig(t *testing.T) {
	store := openStore(t, filepath.Join(t.TempDir(), "x"))
	require.NoError(t, ImageConfig{}.validate())
	require.NoError(t, ImageConfig{Store: store, Every: time.Hour}.validate())
	require.ErrorContains(t, ImageConfig{Store: store, Every: 2 * time.Hour}.validate(), "at most 1h")
	require.ErrorContains(t, ImageConfig{Store: store, Every: -1}.validate(), "at most 1h")
	require.ErrorContains(t, ImageConfig{Every: time.Second}.validate(), "without a Store")
}
