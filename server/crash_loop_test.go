package server

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/stage"
	"github.com/worldd/worldd/server/imagefile"
	"github.com/worldd/worldd/world"
)

const failingTick = 150

// failAt makes the world fail at a tick, whatever clients do.
func failAt(tick uint64) func(*Config, *Restoring) {
	return func(c *Config, _ *Restoring) {
		c.Image.program = 1
		fails := func(w *world.World) {
			if w.Tick() == tick {
				panic("a fault of the game")
			}
		}
		if err := c.World.AddSystem(world.Before, "failing", fails); err != nil {
			panic(err)
		}
	}
}

// failAgain runs ticks until the world fails, and returns the folder that the process leaves.
func (r *journaledRun) failAgain() string {
	require.PanicsWithValue(r.t, "a fault of the game", func() {
		for range failingTick {
			r.loop.runTick(time.Now(), false) // no save is due
		}
	})
	require.NoError(r.t, r.loop.journal.file.Close()) // the kernel writes what the process has handed over
	return copyOf(r.t, r.dir)
}

// A world that fails at the same tick after each start is restored, then without the newest call of a client, then from the
// image before, and then no more, until the program is another (J6). No image is lost on the way.
func TestCrashLoopEnds(t *testing.T) {
	fails := failAt(failingTick)
	first := openJournaled(t, t.TempDir(), imagefile.JournalAlways, fails)
	first.ticks(40)
	require.NoError(t, first.loop.saver.saveNow())
	first.ticks(60)
	require.NoError(t, first.loop.saver.saveNow())
	first.ticks(20)
	openClient(t, first.core, &stage.Conn{}, 0)
	first.ticks(20)
	dir := first.failAgain()
	image := func(dir, suffix string) string {
		data, err := os.ReadFile(filepath.Join(dir, "world.image"+suffix))
		require.NoError(t, err)
		return string(data)
	}
	newest, older := image(dir, ""), image(dir, ".old-1")

	again := openJournaled(t, dir, imagefile.JournalAlways, fails)
	require.True(t, again.found.SameRun)
	require.EqualValues(t, failingTick-1, again.found.Tick)
	dir = again.failAgain()
	require.Equal(t, newest, image(dir, ""))

	shorter := openJournaled(t, dir, imagefile.JournalAlways, fails)
	require.False(t, shorter.found.SameRun)
	require.EqualValues(t, 120, shorter.found.Tick, "the client's join and what followed is skipped")
	require.Zero(t, shorter.core.Away())
	require.Len(t, shorter.logs.FilterMessageSnippet("newest call of a client").All(), 1)
	require.NotEmpty(t, shorter.found.SkippedSegments)
	dir = shorter.failAgain()
	for _, path := range shorter.found.SkippedSegments {
		require.FileExists(t, filepath.Join(dir, filepath.Base(path)))
	}
	require.Equal(t, older, image(dir, ".old-1"))
	newest = image(dir, "")

	oldest := openJournaled(t, dir, imagefile.JournalAlways, fails)
	require.Equal(t, 1, oldest.found.Generation)
	require.Zero(t, oldest.found.Run)
	require.Len(t, oldest.logs.FilterMessageSnippet("the image before").All(), 1)
	dir = oldest.failAgain()
	require.Equal(t, newest, image(dir, ".skipped"))
	require.Equal(t, older, image(dir, ".old-1"))

	for range 2 {
		before := filesIn(t, dir)
		_, _, err := restoreJournaled(t, dir, imagefile.JournalAlways, fails)
		require.ErrorIs(t, err, ErrCrashLoop)
		require.ErrorContains(t, err, "after each start, 150; nothing was changed")
		require.ErrorContains(t, err, "--image-generation N")
		require.Equal(t, before, filesIn(t, dir))
		dir = copyOf(t, dir)
	}

	mended := openJournaled(t, dir, imagefile.JournalAlways, func(c *Config, _ *Restoring) { c.Image.program = 2 })
	require.True(t, mended.found.SameRun)
	mended.ticks(2 * failingTick)
	next := openJournaled(t, mended.crash(), imagefile.JournalAlways, failAt(0))
	require.EqualValues(t, 3*failingTick-1, next.found.Tick)
	require.Equal(t, crashLoop{1, next.found.Tick, 1}, next.loop.journal.crashes, "the world is beyond the tick")
}

// With JournalEverySecond each start begins a new run from the disk's last tick, and saves it: without a call to skip, it is
// restored twice, and then the image before.
func TestCrashLoopOfNewRuns(t *testing.T) {
	fails := failAt(failingTick)
	r := openJournaled(t, t.TempDir(), imagefile.JournalEverySecond, fails)
	r.ticks(40)
	require.NoError(t, r.loop.saver.saveNow())
	var ticks []uint64
	for range 3 {
		r = openJournaled(t, r.failAgain(), imagefile.JournalEverySecond, fails)
		ticks = append(ticks, r.core.World().Tick())
	}
	require.Equal(t, []uint64{failingTick - 1, failingTick - 1, 0}, ticks)
	_, _, err := restoreJournaled(t, r.failAgain(), imagefile.JournalEverySecond, fails)
	require.ErrorIs(t, err, ErrCrashLoop)
}

// A clean end is no crash: the next start counts from the beginning.
func TestCleanEndForgetsCrashes(t *testing.T) {
	fails := failAt(failingTick)
	dir := openJournaled(t, t.TempDir(), imagefile.JournalAlways, fails).failAgain()
	for range 2 * startsNoWorld {
		r := openJournaled(t, dir, imagefile.JournalAlways, fails)
		require.Equal(t, crashLoop{1, failingTick - 1, 1}, r.loop.journal.crashes)
		require.NoError(t, r.endAndSave())
		dir = copyOf(t, r.dir)
	}
}
