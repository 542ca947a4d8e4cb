package server

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/internal/stage"
	"github.com/worldd/worldd/replication"
	"github.com/worldd/worldd/server/imagefile"
	"github.com/worldd/worldd/world"
)

const (
	failingTick = 150
	gameFault   = "a fault of the game"
)

// failIf makes the world panic at a tick if the game's state says so.
func failIf(tick uint64, fails func(c *Config) bool) func(*Config, *Restoring) {
	return func(c *Config, _ *Restoring) {
		c.Image.program = 1
		must.Do(c.World.AddSystem(world.Before, "failing", func(w *world.World) {
			if w.Tick() == tick && fails(c) {
				panic(gameFault)
			}
		}))
	}
}

// failAt makes the world panic at a tick, whatever clients do.
func failAt(tick uint64) func(*Config, *Restoring) {
	return failIf(tick, func(*Config) bool { return true })
}

// failOnce makes the world panic with a text at a tick of the loop, but not while a journal is repeated.
func (r *journaledRun) failOnce(tick uint64, text string) {
	must.Do(r.core.World().AddSystem(world.Before, "failing once", func(w *world.World) {
		if w.Tick() == tick {
			panic(text)
		}
	}))
}

// live runs ticks as the loop does, with the saves between them.
func (r *journaledRun) live(ticks int) {
	defer r.notePanic()
	r.ticked = true
	for range ticks {
		now := time.Now()
		r.loop.runTick(now, false)
		r.loop.saver.afterTick(now)
		r.loop.saver.saving.Wait()
	}
}

// panicsAgain runs ticks until the world panics, and returns the folder that the process leaves.
func (r *journaledRun) panicsAgain() string { return r.panics(gameFault) }

// panics is panicsAgain with a text.
func (r *journaledRun) panics(text string) string {
	require.PanicsWithValue(r.t, text, func() { r.live(3 * failingTick) })
	return copyOf(r.t, r.dir)
}

// play plays a run with two images, at tick 0 and 100, and a client that joins in tick 121.
func (r *journaledRun) play() {
	r.ticks(100)
	require.NoError(r.t, r.loop.saver.saveNow())
	r.ticks(20)
	openClient(r.t, r.core, &stage.Conn{}, 0)
	r.ticks(20)
}

// imagesIn returns the generations in a folder, and what was set aside.
func imagesIn(t *testing.T, dir string) map[string]string {
	images := map[string]string{}
	for path, data := range filesIn(t, dir) {
		name := filepath.Base(path)
		if strings.HasSuffix(name, ".image") || strings.Contains(name, ".old-") || strings.Contains(name, ".skipped") {
			images[name] = data
		}
	}
	return images
}

// crashIn returns the note of the last panic in a folder.
func crashIn(t *testing.T, dir string) imagefile.Crash {
	store := must.Get(imagefile.Open(filepath.Join(copyOf(t, dir), "world.image"), 0))
	defer store.Close()
	return must.Get(store.ReadCrash())
}

// stops fails unless the next starts end with ErrCrashLoop and change nothing. It returns the folder that they leave.
func stops(t *testing.T, dir string, mode imagefile.JournalMode, change func(*Config, *Restoring)) string {
	for range 2 {
		before := contentsOf(t, dir)
		_, _, err := restoreJournaled(t, dir, mode, change)
		require.ErrorIs(t, err, ErrCrashLoop)
		require.ErrorContains(t, err, `at the same tick after each start, 1`)
		require.ErrorContains(t, err, `("a fault of the game`)
		require.ErrorContains(t, err, "nothing was changed")
		require.ErrorContains(t, err, "--image-generation N")
		require.ErrorContains(t, err, "--journal off")
		require.Equal(t, before, contentsOf(t, dir))
		dir = copyOf(t, dir)
	}
	return dir
}

// contentsOf returns the files of a folder, without locks, by name.
func contentsOf(t *testing.T, dir string) map[string]string {
	all := map[string]string{}
	for path, data := range filesIn(t, dir) {
		if name := filepath.Base(path); !strings.HasSuffix(name, ".lock") {
			all[name] = data
		}
	}
	return all
}

// A world whose state alone leads to a panic is restored, then without the newest call of a client, then from the
// image before, and then no more, until the program is another (J6). Meanwhile the disk keeps the images as they were before
// the first panic.
func TestCrashLoopEnds(t *testing.T) {
	fails := failAt(failingTick)
	for _, mode := range []imagefile.JournalMode{imagefile.JournalAlways, imagefile.JournalEverySecond} {
		first := openJournaled(t, t.TempDir(), mode, fails)
		first.play()
		dir := first.panicsAgain()
		images := imagesIn(t, dir)
		require.Len(t, images, 2)
		c := crashIn(t, dir)
		require.Equal(t, imagefile.Crash{Tick: failingTick, Panics: 1, Image: c.Image, Returns: failingTick - 1, Program: 1, Text: gameFault}, c)

		again := openJournaled(t, dir, mode, fails)
		require.Equal(t, mode == imagefile.JournalAlways, again.found.SameRun)
		require.EqualValues(t, failingTick-1, again.core.World().Tick())
		dir = again.panicsAgain()
		require.Equal(t, images, imagesIn(t, dir))
		require.Equal(t, 2, crashIn(t, dir).Panics)

		shorter := openJournaled(t, dir, mode, fails)
		require.EqualValues(t, 120, shorter.core.World().Tick(), "the client's join and what followed is skipped")
		require.Zero(t, shorter.core.Away())
		require.Len(t, shorter.logs.FilterMessageSnippet("newest call of a client").All(), 1)
		dir = shorter.panicsAgain()
		require.Equal(t, images, imagesIn(t, dir))
		require.Equal(t, 3, crashIn(t, dir).Panics)

		oldest := openJournaled(t, dir, mode, fails)
		require.Equal(t, 1, oldest.found.Generation)
		require.EqualValues(t, 0, oldest.core.World().Tick())
		require.Len(t, oldest.logs.FilterMessageSnippet("the image before").All(), 1)
		dir = oldest.panicsAgain()
		require.Equal(t, images, imagesIn(t, dir))
		dir = stops(t, dir, mode, fails)

		mended := openJournaled(t, dir, mode, func(c *Config, _ *Restoring) { c.Image.program = 2 })
		require.Equal(t, mode == imagefile.JournalAlways, mended.found.SameRun)
		require.EqualValues(t, failingTick-1, mended.core.World().Tick())
		mended.live(failingTick)
	}
}

// Without a journal the newest image is restored twice more, and then the one before.
func TestCrashLoopOfImages(t *testing.T) {
	fails := failAt(failingTick)
	r := openJournaled(t, t.TempDir(), imagefile.JournalOff, fails)
	r.play()
	var ticks []uint64
	dir := r.panicsAgain()
	images := imagesIn(t, dir)
	for range 3 {
		r = openJournaled(t, dir, imagefile.JournalOff, fails)
		ticks = append(ticks, r.core.World().Tick())
		dir = r.panicsAgain()
		require.Equal(t, images, imagesIn(t, dir))
	}
	require.Equal(t, []uint64{100, 100, 0}, ticks)
	stops(t, dir, imagefile.JournalOff, fails)
}

// A call that made the world panic later is skipped. Once the world is beyond the tick, it is saved; the image before and the
// skipped ticks stay.
func TestCrashLoopSkipsACall(t *testing.T) {
	fails := func(c *Config, r *Restoring) {
		r.RestoreRun = func(img *world.Image) error { return errors.Join(r.LoadExtra(img.Extra), c.World.RestoreRun(img)) }
		failIf(failingTick, func(c *Config) bool { return c.Image.Extra(nil)[0] > 0 })(c, r) // somebody has joined
	}
	for _, mode := range []imagefile.JournalMode{imagefile.JournalAlways, imagefile.JournalEverySecond} {
		r := openJournaled(t, t.TempDir(), mode, fails)
		r.play()
		dir := openJournaled(t, r.panicsAgain(), mode, fails).panicsAgain()
		newest := imagesIn(t, dir)["world.image"]
		shorter := openJournaled(t, dir, mode, fails)
		shorter.live(29)
		require.Equal(t, newest, imagesIn(t, shorter.dir)["world.image"])
		shorter.live(30)
		images := imagesIn(t, shorter.dir)
		require.Equal(t, newest, images["world.image.old-1"])
		require.NotEqual(t, newest, images["world.image"])
		require.Equal(t, newest, images["world.image.skipped"])
		require.NotEmpty(t, shorter.found.SkippedSegments)
		for _, path := range shorter.found.SkippedSegments {
			require.FileExists(t, path)
		}
		next := openJournaled(t, copyOf(t, shorter.dir), mode, fails)
		require.Zero(t, next.loop.saver.crash.former.Panics)
		require.Greater(t, next.core.World().Tick(), uint64(failingTick))
	}
}

// After a skip images are held for two intervals at most, however old the newest call is.
func TestCrashLoopHoldsAfterASkip(t *testing.T) {
	fails := failAt(failingTick)
	r := openJournaled(t, t.TempDir(), imagefile.JournalAlways, fails)
	r.play() // the newest call is in tick 121
	dir := openJournaled(t, r.panicsAgain(), imagefile.JournalAlways, fails).panicsAgain()
	shorter := openJournaled(t, dir, imagefile.JournalAlways, fails, func(c *Config, _ *Restoring) { c.Image.Every = 100 * time.Millisecond })
	require.EqualValues(t, 120, shorter.core.World().Tick())
	most := uint64(2 * shorter.core.World().TickHz() / 10)
	require.EqualValues(t, 120+most, shorter.loop.saver.crash.held)
	require.Less(t, shorter.loop.saver.crash.held, uint64(failingTick))
}

// Processes that are killed at any moment between two panics neither count nor lose ticks.
func TestKillsAreNoCrashLoop(t *testing.T) {
	for _, mode := range []imagefile.JournalMode{imagefile.JournalAlways, imagefile.JournalEverySecond, imagefile.JournalOff} {
		healthy := true
		fails := failIf(failingTick, func(*Config) bool { return !healthy })
		r := openJournaled(t, t.TempDir(), mode, fails)
		r.play()
		healthy = false
		dir := r.panicsAgain()
		healthy = true
		for n := range 2 * panicsStop {
			r = openJournaled(t, dir, mode, fails)
			want := uint64(failingTick - 1)
			if mode == imagefile.JournalOff {
				want = 100
			}
			require.Equal(t, want, r.core.World().Tick(), "start %d", n)
			dir = copyOf(t, r.dir)
		}
		require.Equal(t, 1, crashIn(t, dir).Panics)
		for range panicsStop + 1 {
			r = openJournaled(t, dir, mode, fails)
			from := r.core.World().Tick()
			r.live(60)
			if r.loop.journal != nil {
				require.NoError(t, r.loop.journal.file.Close())
			}
			dir = copyOf(t, r.dir)
			r = openJournaled(t, dir, mode, fails)
			require.GreaterOrEqual(t, r.core.World().Tick(), from)
			require.True(t, mode == imagefile.JournalOff || r.core.World().Tick() > from)
			require.Zero(t, r.found.Generation)
			dir = copyOf(t, r.dir)
		}
	}
}

// A panic at another tick, another executable, edited files, a divergence and an orderly end begin to count again.
func TestCrashesCountAgain(t *testing.T) {
	fails, unchanged := failAt(failingTick), func(*Config, *Restoring) {}
	crashed := func() string {
		r := openJournaled(t, t.TempDir(), imagefile.JournalAlways, fails)
		r.play()
		return openJournaled(t, r.panicsAgain(), imagefile.JournalAlways, fails).panicsAgain()
	}
	for name, next := range map[string]func(*Config, *Restoring){
		"executable": func(c *Config, _ *Restoring) { c.Image.program = 2 },
		"edited":     func(_ *Config, r *Restoring) { r.Edited = func(extra []byte) bool { return len(extra) == 1 } },
		"divergence": func(c *Config, _ *Restoring) {
			must.Do(c.World.AddSystem(world.After, "new", func(w *world.World) {
				if w.Tick() == 140 {
					w.Rand().Uint64()
				}
			}))
		},
		"same": unchanged,
	} {
		t.Run(name, func(t *testing.T) {
			r := openJournaled(t, crashed(), imagefile.JournalAlways, fails, next)
			require.Equal(t, name == "same", r.core.World().Tick() == 120)
			if name != "same" {
				require.Equal(t, 1, crashIn(t, r.panicsAgain()).Panics)
			}
		})
	}
	t.Run("orderly end", func(t *testing.T) {
		r := openJournaled(t, crashed(), imagefile.JournalAlways, fails)
		r.live(3)
		require.NoError(t, r.endAndSave())
		next := openJournaled(t, copyOf(t, r.dir), imagefile.JournalAlways, fails)
		require.EqualValues(t, 123, next.core.World().Tick())
		require.Equal(t, 1, crashIn(t, next.panicsAgain()).Panics)
	})
	t.Run("another tick", func(t *testing.T) {
		dir := crashed()
		for n := range uint64(2 * panicsStop) { // commands of a client, for example
			r := openJournaled(t, dir, imagefile.JournalAlways, failAt(failingTick+10*n+10))
			if n > 0 {
				require.EqualValues(t, failingTick+10*n-1, r.core.World().Tick())
			}
			dir = r.panicsAgain()
			require.Equal(t, 1, crashIn(t, dir).Panics)
		}
	})
}

// A panic of the game's code while ticks are repeated counts too: they are repeated up to the tick before.
func TestCrashLoopOfReplay(t *testing.T) {
	r := openJournaled(t, t.TempDir(), imagefile.JournalAlways)
	r.play()
	dir, fails := r.crash(), failAt(130)
	for n := range 2 {
		require.PanicsWithValue(t, gameFault, func() { _, _, _ = restoreJournaled(t, dir, imagefile.JournalAlways, fails) })
		dir = copyOf(t, dir)
		c := crashIn(t, dir)
		require.True(t, c.Replaying)
		require.Equal(t, []int{130, n + 1}, []int{int(c.Tick), c.Panics})
	}
	edited := openJournaled(t, copyOf(t, dir), imagefile.JournalAlways, func(c *Config, r *Restoring) {
		c.Image.program, r.Edited = 1, func([]byte) bool { return true }
	})
	require.EqualValues(t, 140, edited.core.World().Tick(), "the note does not count: nothing is skipped")
	require.Empty(t, edited.found.SkippedSegments)
	shorter := openJournaled(t, dir, imagefile.JournalAlways, fails)
	require.EqualValues(t, 129, shorter.core.World().Tick())
	require.NotEmpty(t, shorter.found.SkippedSegments)
	stops(t, shorter.panicsAgain(), imagefile.JournalAlways, failAt(130))
}

// A panic of each first tick after a start is no evidence against the image: a service may be missing. Neither is another
// panic once less is restored. The start stops instead, and everything comes back once the note is removed.
func TestCrashLoopKeepsTheImage(t *testing.T) {
	skips := func(mode imagefile.JournalMode) string {
		r := openJournaled(t, t.TempDir(), mode, failAt(failingTick))
		r.play()
		return openJournaled(t, r.panicsAgain(), mode, failAt(failingTick)).panicsAgain()
	}
	comesBack := func(dir string, mode imagefile.JournalMode) {
		require.NoError(t, os.Remove(filepath.Join(dir, "world.image.crash")))
		r := openJournaled(t, dir, mode)
		require.EqualValues(t, failingTick-1, r.core.World().Tick())
	}
	for _, mode := range []imagefile.JournalMode{imagefile.JournalAlways, imagefile.JournalEverySecond} {
		for name, next := range map[string]struct {
			tick uint64
			text string
		}{
			"first tick": {121, gameFault}, "another, earlier": {130, gameFault}, "another, later": {failingTick + 1, gameFault},
			"another text": {failingTick, "another fault"}, "another text, later": {failingTick + 1, "another fault"},
		} {
			t.Run(mode.String()+"/"+name, func(t *testing.T) {
				dir, unchanged := skips(mode), failAt(0)
				images := imagesIn(t, dir)
				shorter := openJournaled(t, dir, mode, unchanged)
				shorter.failOnce(next.tick, next.text)
				require.EqualValues(t, 120, shorter.core.World().Tick())
				dir = stops(t, shorter.panics(next.text), mode, unchanged)
				require.Equal(t, images, imagesIn(t, dir))
				comesBack(dir, mode)
			})
		}
	}
	t.Run("no call to skip", func(t *testing.T) {
		r := openJournaled(t, t.TempDir(), imagefile.JournalAlways, failAt(failingTick))
		r.ticks(100)
		require.NoError(t, r.loop.saver.saveNow())
		dir := r.panicsAgain()
		for range 2 {
			dir = openJournaled(t, dir, imagefile.JournalAlways, failAt(failingTick)).panicsAgain()
		}
		comesBack(stops(t, dir, imagefile.JournalAlways, failAt(failingTick)), imagefile.JournalAlways)
	})
	t.Run("another text", func(t *testing.T) {
		dir := skips(imagefile.JournalOff)
		r := openJournaled(t, dir, imagefile.JournalOff, failAt(0))
		r.failOnce(failingTick, "another fault")
		require.Equal(t, 1, crashIn(t, r.panics("another fault")).Panics)
	})
}

// The image and the journal that a start has skipped stay, however many saves follow: the operator can return
// to the tick before the panic. While it is there, nothing else is skipped.
func TestCrashLoopKeepsWhatItSkips(t *testing.T) {
	for _, mode := range []imagefile.JournalMode{imagefile.JournalAlways, imagefile.JournalEverySecond} {
		fails := failAt(failingTick)
		r := openJournaled(t, t.TempDir(), mode, fails)
		r.play()
		dir := openJournaled(t, r.panicsAgain(), mode, fails).panicsAgain()
		twice, occupied := copyOf(t, dir), copyOf(t, dir)
		thrice := openJournaled(t, dir, mode, fails).panicsAgain()
		for n, dir := range []string{twice, thrice} {
			mended := openJournaled(t, dir, mode, failAt(0))
			require.EqualValues(t, []int{120, 0}[n], mended.core.World().Tick())
			mended.live(2 * failingTick)
			mended.loop.saver.config.Every = 0 // each save rotates
			for range 8 {
				mended.ticks(5)
				require.NoError(t, mended.loop.saver.saveNow())
			}
			require.NoError(t, mended.loop.journal.file.Close())
			left := copyOf(t, mended.dir)
			for name := range imagesIn(t, left) {
				if name != "world.image.skipped" {
					require.NoError(t, os.Remove(filepath.Join(left, name)))
				}
			}
			image := filepath.Join(left, "world.image")
			require.NoError(t, os.Rename(image+".skipped", image))
			require.NoError(t, os.Remove(image+".crash"))
			back := openJournaled(t, left, mode)
			require.EqualValues(t, failingTick-1, back.core.World().Tick())
		}
		require.NoError(t, os.WriteFile(filepath.Join(occupied, "world.image.skipped"), []byte("of an earlier loop"), 0o600))
		dir = stops(t, occupied, mode, fails)
		_, _, err := restoreJournaled(t, dir, mode, fails)
		require.ErrorIs(t, err, imagefile.ErrSkipped)
	}
}

// A panic of the game's code that restores an image ends in ErrCrashLoop too, and so does another panic of a shortened
// replay: without the note everything comes back.
func TestCrashLoopOfRestoring(t *testing.T) {
	r := openJournaled(t, t.TempDir(), imagefile.JournalAlways)
	r.play()
	played := r.crash()
	restoring := func(c *Config, r *Restoring) {
		c.Image.program, r.LoadExtra = 1, func([]byte) error { panic(gameFault) }
	}
	for name, changes := range map[string][]func(*Config, *Restoring){
		"LoadExtra": {restoring, restoring, restoring}, "earlier tick": {failAt(130), failAt(130), failAt(125)},
	} {
		t.Run(name, func(t *testing.T) {
			dir := copyOf(t, played)
			for _, change := range changes {
				require.PanicsWithValue(t, gameFault, func() { _, _, _ = restoreJournaled(t, dir, imagefile.JournalAlways, change) })
				dir = copyOf(t, dir)
			}
			before := contentsOf(t, dir)
			_, _, err := restoreJournaled(t, dir, imagefile.JournalAlways, changes[0])
			require.ErrorIs(t, err, ErrCrashLoop)
			require.Equal(t, before, contentsOf(t, dir))
			dir = copyOf(t, dir)
			require.NoError(t, os.Remove(filepath.Join(dir, "world.image.crash")))
			require.EqualValues(t, 140, openJournaled(t, dir, imagefile.JournalAlways).core.World().Tick())
		})
	}
}

// A save that takes longer than a panic waits for the disk does not lose the note.
func TestCrashDuringSlowSave(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := openJournaled(t, t.TempDir(), imagefile.JournalAlways, failAt(failingTick))
		r.ticks(failingTick - 1)
		r.loop.saver.saving.Add(1)
		require.PanicsWithValue(t, gameFault, func() {
			defer r.notePanic()
			r.ticks(1)
		})
		c := must.Get(r.store.ReadCrash())
		require.Equal(t, []uint64{failingTick, failingTick - 1, 1}, []uint64{c.Tick, c.Returns, uint64(c.Panics)})
		r.loop.saver.saving.Done()
		synctest.Wait()
	})
}

// A panic after a tick was committed is noted for the next: the journal returns to the state after the tick.
func TestCrashAfterCommit(t *testing.T) {
	fails := failAt(0)
	r := openJournaled(t, t.TempDir(), imagefile.JournalAlways, fails)
	r.play()
	r.loop.saver.take = func(*world.Image) error { panic(gameFault) }
	r.loop.saver.due = time.Time{}
	from := r.core.World().Tick()
	dir := r.panicsAgain()
	last := r.core.World().Tick()
	require.Greater(t, last, from)
	c := crashIn(t, dir)
	require.Equal(t, []uint64{last + 1, last}, []uint64{c.Tick, c.Returns})
	r = openJournaled(t, dir, imagefile.JournalAlways, fails)
	require.Equal(t, last, r.core.World().Tick())
	require.Equal(t, c, r.loop.saver.crash.former, "the note counts")
}

// A panic that leaves a further durable tick each time ends like one at the same tick: a panic between ticks, of the
// goroutine that saves, or of one that makes snapshots. The images stay.
func TestCrashLoopOfLaterTicks(t *testing.T) {
	fails := failAt(0)
	for name, panicking := range map[string]struct {
		begin func(*journaledRun)
		text  string
	}{
		"between ticks": {func(r *journaledRun) {
			r.loop.saver.take = func(*world.Image) error { panic(gameFault) }
		}, "after a tick: a fault of the game"},
		"while an image is saved": {func(r *journaledRun) {
			r.loop.saver.take = func(img *world.Image) error {
				img.Extra = make([]byte, world.MaxExtraBytes+1) // the goroutine that saves logs the error
				return nil
			}
			r.loop.saver.log = r.loop.saver.log.WithOptions(zap.Hooks(func(e zapcore.Entry) error {
				if e.Message == "the world was not saved" {
					panic(gameFault)
				}
				return nil
			}))
		}, "while an image was saved: a fault of the game"},
		"in a worker": {func(r *journaledRun) {
			r.loop.saver.take = func(*world.Image) error { panic(&replication.WorkerPanic{Value: gameFault, Stack: []byte(r.dir)}) }
		}, "after a tick: a fault of the game"},
	} {
		for _, mode := range []imagefile.JournalMode{imagefile.JournalAlways, imagefile.JournalEverySecond} {
			t.Run(name+" "+mode.String(), func(t *testing.T) {
				r := openJournaled(t, t.TempDir(), mode, fails)
				r.play()
				images := imagesIn(t, r.dir)
				dir, ticks, counted := "", []uint64{}, []int{}
				for {
					panicking.begin(r)
					r.loop.saver.due = time.Time{}
					require.Panics(t, func() { r.live(300) })
					dir = copyOf(t, r.dir)
					c := crashIn(t, dir)
					require.Equal(t, panicking.text, c.Text)
					ticks, counted = append(ticks, c.Tick), append(counted, c.Panics)
					if c.Panics == panicsStop {
						break
					}
					r = openJournaled(t, dir, mode, fails)
				}
				require.Equal(t, []int{1, 2, 3, 4}, counted, ticks)
				require.Less(t, ticks[0], ticks[1], "a further tick was durable")
				_, _, err := restoreJournaled(t, dir, mode, fails)
				require.ErrorIs(t, err, ErrCrashLoop)
				for _, data := range images {
					require.Contains(t, slices.Collect(maps.Values(imagesIn(t, dir))), data)
				}
			})
		}
	}
}

// A client may enter a world that is held. If the server is then killed, the same run comes back with its session, or a new
// run in which the client's handle names no other entity.
func TestKillWhileHeld(t *testing.T) {
	enter := func(r *journaledRun, before int) world.Entity {
		used := false
		r.loop.saver.unused = func() bool { return !used }
		for range before {
			require.True(r.t, r.loop.saver.isHeld())
			r.live(1)
		}
		told := &stage.Conn{}
		used = true
		openClient(r.t, r.core, told, 0)
		require.True(r.t, r.loop.saver.isHeld())
		r.live(1)
		for range 2 { // the second waits for the output of the first's batch
			r.loop.journal.file.Await()
		}
		require.Len(r.t, told.Welcomes, 1)
		entity := r.core.Session(told.Welcome().Session).Entity()
		require.Equal(r.t, bulk.Live, r.core.World().Status(entity))
		return entity
	}
	t.Run("same run", func(t *testing.T) {
		fails := true
		once := failIf(120, func(*Config) bool { return fails })
		first := openJournaled(t, t.TempDir(), imagefile.JournalAlways, once)
		dir := first.panicsAgain()
		fails = false
		same := openJournaled(t, dir, imagefile.JournalAlways, once)
		require.True(t, same.found.SameRun)
		entity := enter(same, 0)
		again := openJournaled(t, same.crash(), imagefile.JournalAlways, once)
		require.True(t, again.found.SameRun)
		require.Equal(t, bulk.Live, again.core.World().Status(entity))
		require.Equal(t, 1, again.core.Away())
	})
	t.Run("new run", func(t *testing.T) {
		first := openJournaled(t, t.TempDir(), imagefile.JournalAlways, failAt(failingTick))
		first.play()
		dir := openJournaled(t, first.panicsAgain(), imagefile.JournalAlways, failAt(failingTick)).panicsAgain()
		images := imagesIn(t, dir)
		shorter := openJournaled(t, dir, imagefile.JournalAlways, failAt(0))
		require.False(t, shorter.found.SameRun)
		entity := enter(shorter, 3)
		require.Equal(t, images, imagesIn(t, dir))
		again := openJournaled(t, copyOf(t, dir), imagefile.JournalAlways, failAt(0))
		require.False(t, again.found.SameRun)
		require.Zero(t, again.core.Away())
		for range 50 {
			require.NotEqual(t, bulk.Live, again.core.World().Status(entity))
			openClient(t, again.core, &stage.Conn{}, 0)
			again.ticks(1)
		}
	})
}

// A panic in the first tick after each start is not of the state, before its frame was written or after: the third ends the loop.
func TestPanicsInTheFirstTick(t *testing.T) {
	for _, framed := range []bool{false, true} {
		l := crashLoop{program: 1, former: imagefile.Crash{Tick: 1000, Panics: panicsSkip, Text: panicText(gameFault, framed)}}
		l.begin(999, 60)
		first := uint64(1000)
		if framed {
			first++
		}
		require.Equal(t, panicsStop, l.next(first, l.former.Text).Panics)
		l.former.Tick = first + 1
		require.Equal(t, panicsOlder, l.next(first+1, l.former.Text).Panics)
	}
}

// A panic while an image is written counts alike on the goroutine that saves and on the one that ticks.
func TestPanicsOfSaves(t *testing.T) {
	r := openJournaled(t, t.TempDir(), imagefile.JournalAlways, failAt(0))
	r.play()
	s := r.loop.saver
	s.log = s.log.WithOptions(zap.Hooks(func(zapcore.Entry) error { panic(gameFault) }))
	require.NoError(t, os.Remove(s.config.Store.Path())) // which is logged
	texts := map[string]bool{}
	for _, save := range []func() error{s.saveNow, s.saveLast, func() error {
		s.due, s.ready = time.Time{}, true
		s.afterTick(time.Now())
		s.saving.Wait()
		s.raisePanic()
		return nil
	}} {
		func() {
			defer func() { texts[panicText(recover(), true)] = true }()
			_ = save()
		}()
	}
	require.Equal(t, map[string]bool{"while an image was saved: a fault of the game": true}, texts)
}

// A panic of the goroutine that writes the journal ends the world in the next tick, and is counted at whichever tick.
func TestPanicsOfTheJournal(t *testing.T) {
	dir, program := t.TempDir(), failAt(0)
	const text = "while the journal was written: a fault of the game"
	for n := range 3 {
		r := openJournaled(t, dir, imagefile.JournalAlways, program)
		r.ticks(3 + n)
		r.loop.journal.keepPanic(gameFault, []byte("its stack"))
		func() {
			defer func() { require.ErrorContains(t, recover().(error), text+"\n\nits stack") }()
			r.live(1)
		}()
		dir = copyOf(t, r.dir)
		require.Equal(t, text, crashIn(t, dir).Text)
		require.Equal(t, n+1, crashIn(t, dir).Panics)
	}
}

// A panic of one of the Config.Workers is counted by its text, not by its stack.
func TestPanicsOfWorldWorkers(t *testing.T) {
	require.Equal(t, gameFault, panicText(&world.WorkerPanic{Value: gameFault, Stack: []byte("0xc000")}, false))
}

// Off Linux a program is known by its file.
func TestIdentifyFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "program")
	require.EqualValues(t, 1, identifyFile(path))
	require.NoError(t, os.WriteFile(path, []byte("one"), 0o700))
	one := identifyFile(path)
	require.Equal(t, one, identifyFile(path))
	require.NoError(t, os.WriteFile(path, []byte("another"), 0o700))
	require.NotEqual(t, one, identifyFile(path))
}

// A panic long after another one with the same text is another one.
func TestPanicsFarApart(t *testing.T) {
	l := crashLoop{program: 1, former: imagefile.Crash{Tick: 1000, Panics: 1, Text: gameFault}}
	l.begin(900, 60)
	for tick, panics := range map[uint64]int{901: 2, 960: 2, 961: 1, 999: 1, 1000: 2, 1060: 2, 1061: 1} {
		l.former.Text = panicText(gameFault, true)
		require.Equal(t, panics, l.next(tick, panicText(gameFault, true)).Panics, tick)
		require.Equal(t, 1, l.next(tick, panicText("another", true)).Panics, tick)
		l.former.Text = panicText(&diskPanic{gameFault, nil, inSave}, false)
		require.Equal(t, 2, l.next(tick, l.former.Text).Panics, tick)
		l.former.Text = gameFault
		require.Equal(t, tick == 1000, l.next(tick, gameFault).Panics == 2, tick)
		require.Equal(t, 1, l.next(tick, panicText(gameFault, true)).Panics, tick)
	}
}

// A note that is damaged or cannot be written is a line of the log, and counts nothing.
func TestCrashNoteFails(t *testing.T) {
	fails := failAt(failingTick)
	r := openJournaled(t, t.TempDir(), imagefile.JournalAlways, fails)
	r.play()
	require.NoError(t, os.Mkdir(filepath.Join(r.dir, "world.image.crash"), 0o700))
	require.PanicsWithValue(t, gameFault, func() { r.live(failingTick) })
	require.Len(t, r.logs.FilterMessageSnippet("the panic is not noted").All(), 1)
	dir := copyOf(t, r.dir)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "world.image.crash"), []byte("worldd-crash 2\n"), 0o600))
	next := openJournaled(t, dir, imagefile.JournalAlways, fails)
	require.True(t, next.found.SameRun)
	require.Len(t, next.logs.FilterMessageSnippet("the note of the last panic").All(), 1)
}

// A room that panics at the same tick after each start is restored like a world, and then refused to all clients. Its
// images stay.
func TestCrashLoopOfARoom(t *testing.T) {
	for mode, failing := range map[imagefile.JournalMode]uint64{imagefile.JournalAlways: 450, imagefile.JournalEverySecond: 450, imagefile.JournalOff: 600} {
		dir := t.TempDir()
		config := func(c *RoomsConfig) {
			unpinned(c)
			c.Images = RoomImages{Dir: dir, Every: 5 * time.Second, Journal: mode}
		}
		var images map[string]string
		inBubble(t, config, func(h *testRooms) {
			h.in("match/a", func(w *world.World) {
				if w.Tick() == failing {
					if images == nil {
						images = imagesIn(t, filepath.Join(dir, "match"))
					}
					panic(gameFault)
				}
			})
			h.mustVisit("match/a")
			for range 12 {
				time.Sleep(10 * time.Second)
				_, _ = h.visit("match/a")
			}
			older := 0
			if mode == imagefile.JournalOff { // the others panic in the first tick of each restored run
				older = 1
			}
			require.Len(t, h.logs.FilterMessage("the room panicked: its sessions end").All(), 3+older)
			require.Len(t, h.logs.FilterMessageSnippet("the image before is restored").All(), older)
			require.Error(t, must.Fail(h.visit("match/a")))
			last := h.logs.FilterMessage("the room cannot be made").All()
			require.ErrorContains(t, last[len(last)-1].Context[1].Interface.(error), ErrCrashLoop.Error())
			require.Equal(t, images, imagesIn(t, filepath.Join(dir, "match")))
			require.GreaterOrEqual(t, len(images), 2)
			h.mustVisit("match/b")
		})
	}
}

// A pinned room in a crash loop is refused to clients, and tried once a minute. The server starts, and its other rooms serve.
func TestCrashLoopOfAPinnedRoom(t *testing.T) {
	dir := t.TempDir()
	config := func(c *RoomsConfig) {
		c.Images = RoomImages{Dir: dir, Every: 5 * time.Second, Journal: imagefile.JournalAlways}
	}
	failed := func(h *testRooms) int { return h.logs.FilterMessage("the room cannot be made").Len() }
	inBubble(t, config, func(h *testRooms) {
		h.in("lobby", func(w *world.World) {
			if w.Tick() == 450 {
				panic(gameFault)
			}
		})
		time.Sleep(3 * time.Minute)
		require.NotZero(t, failed(h))
	})
	inBubble(t, config, func(h *testRooms) { // which fails unless the pinned rooms begin
		h.mustVisit("match/a")
		require.Error(t, must.Fail(h.visit("lobby")))
		time.Sleep(5*failedFor + time.Second)
		require.Equal(t, 6, failed(h))
		require.ErrorIs(t, h.createRoom(h.t.Context(), "lobby"), ErrCrashLoop)
	})
}
