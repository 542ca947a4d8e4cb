//go:build unix

package server

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/replication/wire"
)

// limitDescriptors lets this process open more more files, until the end of the test.
func limitDescriptors(t *testing.T, more uint64) {
	t.Helper()
	var before syscall.Rlimit
	require.NoError(t, syscall.Getrlimit(syscall.RLIMIT_NOFILE, &before))
	var files []*os.File // they have the lowest free numbers, between which others may be in use
	for range more {
		files = append(files, must.Get(os.Open(os.DevNull)))
	}
	limit := before
	limit.Cur = uint64(files[more-1].Fd()) + 1
	closeFiles(t, files)
	require.NoError(t, syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit))
	t.Cleanup(func() { require.NoError(t, syscall.Setrlimit(syscall.RLIMIT_NOFILE, &before)) })
}

// openAll opens files up to the process's limit.
func openAll(t *testing.T) (files []*os.File) {
	for {
		file, err := os.Open(os.DevNull)
		if err != nil {
			require.True(t, isOutOfDescriptors(err), "%v", err)
			return files
		}
		files = append(files, file)
	}
}

func closeFiles(t *testing.T, files []*os.File) {
	for _, file := range files {
		require.NoError(t, file.Close())
	}
}

// Clients make rooms until the process may open no more files. Further clients are refused, the
// server and its operator learn why, and all rooms are saved, including their last saves.
func TestRoomsUseUpDescriptors(t *testing.T) {
	dir := t.TempDir()
	limitDescriptors(t, spareDescriptors+25)
	inBubble(t, func(c *RoomsConfig) {
		c.MaxRooms = 1000
		c.Images = RoomImages{Dir: dir, Every: time.Second}
	}, func(h *testRooms) {
		warned := h.logs.FilterMessageSnippet("open fewer files than its rooms need").All()
		require.Len(t, warned, 1)
		limit, _ := descriptorLimit()
		require.Equal(t, limit, warned[0].ContextMap()["limit"])
		var rooms []string
		for {
			name := fmt.Sprint("match/", len(rooms))
			if _, err := h.visit(name); err != nil {
				require.Equal(t, wire.ServerFull, wire.CodeOf(err))
				require.ErrorContains(t, err, "too many open files")
				break
			}
			rooms = append(rooms, name)
			time.Sleep(time.Second / creationsPerSecond)
		}
		require.Greater(t, len(rooms), 10)
		lines := h.logs.FilterMessage("the room cannot be made").All()
		require.Contains(t, lines[0].ContextMap()["error"], "raise the process's limit of open files")
		hogs := openAll(t) // other parts of a process
		defer func() { closeFiles(t, hogs) }()
		for range 5 {
			time.Sleep(2 * time.Second)
			_, _ = h.visit("match/more")
		}
		for _, name := range append(rooms, "lobby") {
			images := h.now(name).loop.saver.report()
			require.Zero(t, images.Failed, name)
			require.Greater(t, images.Saved, uint64(5), name)
		}
		require.Empty(t, h.logs.FilterMessageSnippet("replaced or removed").All())
		ticks := map[string]uint64{}
		for _, name := range rooms {
			ticks[name] = h.tick(name)
		}
		require.NoError(t, h.endRooms())
		closeFiles(t, hogs)
		hogs = nil
		for name, tick := range ticks {
			require.GreaterOrEqual(t, savedTickOf(t, h, filepath.Join(dir, name+imageSuffix)), tick)
		}
	})
}

// savedTickOf returns the tick of an image of the test's rooms.
func savedTickOf(t *testing.T, h *testRooms, path string) uint64 {
	g := must.Get(h.game(RoomRequest{Name: "match/reader", Generations: generationsOf(0)}))
	defer g.World.Close()
	file := must.Get(os.Open(path))
	defer file.Close()
	img := must.Get(g.World.ReadImage(file))
	return img.Tick()
}

// A single world is saved by a process at its limit of open files. A save that fails says why.
func TestSaveWithoutDescriptors(t *testing.T) {
	limitDescriptors(t, spareDescriptors+10)
	l, path, logs := savingLoop(t, func(*ImageConfig) {})
	l.saver.descriptors = newDescriptorReserve()
	defer l.saver.descriptors.close()
	require.NoError(t, l.saver.saveFirst())
	hogs := openAll(t)
	for range 3 {
		l.core.Step()
		require.NoError(t, l.saver.saveNow())
	}
	require.True(t, l.saver.descriptors.openMissing())
	require.Zero(t, logs.Len())

	own := l.saver.descriptors
	own.close()
	l.saver.descriptors = nil
	hogs = append(hogs, openAll(t)...)
	err := l.saver.saveNow()
	require.ErrorIs(t, err, syscall.EMFILE)
	require.ErrorContains(t, err, "raise the process's limit of open files")
	closeFiles(t, hogs)
	l.saver.descriptors = own
	require.NoError(t, l.saver.saveLast())
	require.Empty(t, logs.FilterMessageSnippet("replaced or removed").All(), "a failed save replaced nothing")
	require.Equal(t, l.core.World().Tick(), savedTick(t, path))
}

// The Go runtime has raised the soft limit, as descriptorLimit assumes.
func TestDescriptorLimit(t *testing.T) {
	var l syscall.Rlimit
	require.NoError(t, syscall.Getrlimit(syscall.RLIMIT_NOFILE, &l))
	limit := must.Have(descriptorLimit())
	require.EqualValues(t, l.Max, limit)
	few := RoomsConfig{MaxRooms: 10, Kinds: map[string]RoomKind{"a": {MaxRooms: 4}, "b": {MaxRooms: 10, Unsaved: true}}}
	base := few.descriptorsNeeded()
	few.Images.Dir = "x"
	require.Equal(t, base+4, few.descriptorsNeeded())
	few.FilesPerRoom = 2
	require.Equal(t, base+4+20, few.descriptorsNeeded())
}
