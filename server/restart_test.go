package server

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"

	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/world"
)

// upgraded adds the items of a newer program to the worlds of testRooms.
func upgraded(c *RoomsConfig) {
	for name, k := range c.Kinds {
		build := k.New
		k.New = func(q RoomRequest) (*RoomGame, error) {
			g, err := build(q)
			if err != nil {
				return nil, err
			}
			_, err = world.Register[int32](g.World, "mana")
			return g, err
		}
		c.Kinds[name] = k
	}
}

// filesIn returns the contents of all files below a folder.
func filesIn(t *testing.T, dir string) map[string]string {
	all := map[string]string{}
	require.NoError(t, filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		all[path] = string(data)
		return err
	}))
	return all
}

// Rooms continue from their newest images in later processes, whether a process ended in order
// or was killed, and after an upgrade. After a rollback they leave all files unchanged.
func TestRoomsOverProcesses(t *testing.T) {
	dir := t.TempDir()
	images := func(c *RoomsConfig) { c.Images = RoomImages{Dir: dir, Every: time.Second} }
	last := map[string]uint64{}
	visit := func(h *testRooms, kill bool) map[string]string {
		for _, name := range []string{"lobby", "match/a"} {
			h.mustVisit(name)
			require.InDelta(t, last[name], h.tick(name), 60, "%s continues: at most a second is lost", name)
		}
		time.Sleep(3500 * time.Millisecond)
		var left map[string]string
		for _, name := range []string{"lobby", "match/a"} {
			last[name] = h.tick(name)
		}
		if kill {
			left = filesIn(t, dir)
		}
		for name, made := range h.times() {
			require.Equal(t, 1, made, "%s: its image names the range of generations before it is made", name)
		}
		require.Empty(t, h.logs.FilterLevelExact(zap.ErrorLevel).All())
		return left
	}
	for process := range 5 {
		inBubble(t, images, func(h *testRooms) { visit(h, false) })
		var left map[string]string
		inBubble(t, images, func(h *testRooms) { left = visit(h, true) })
		for path, data := range left { // as a killed process leaves them
			require.NoError(t, os.WriteFile(path, []byte(data), 0o600), "process %d", process)
		}
	}
	newer := func(c *RoomsConfig) {
		images(c)
		upgraded(c)
	}
	inBubble(t, newer, func(h *testRooms) { visit(h, false) })
	before := filesIn(t, dir)
	for path := range before {
		require.False(t, strings.HasSuffix(path, ".damaged"), path)
	}
	rolledBack := func(c *RoomsConfig) {
		images(c)
		c.Images.Strict = true
		c.Kinds["lobby"] = RoomKind{New: c.Kinds["lobby"].New} // or the server would not start
	}
	inBubble(t, rolledBack, func(h *testRooms) {
		for _, name := range []string{"lobby", "match/a"} {
			_, err := h.visit(name)
			require.Equal(t, wire.Internal, wire.CodeOf(err))
			lines := h.logs.FilterMessage("the room cannot be made").FilterField(zap.String("room", name)).All()
			require.NotEmpty(t, lines)
			for _, text := range []string{"image of another program", `component "mana": dropped: the world lacks it`, "start the program and the world that saved it"} {
				require.Contains(t, lines[0].ContextMap()["error"], text)
			}
		}
	})
	require.Equal(t, before, filesIn(t, dir))
	inBubble(t, images, func(h *testRooms) {
		visit(h, false)
		require.Len(t, h.logs.FilterMessage(`not as in the image: component "mana": dropped: the world lacks it`).All(), 2)
	})
	inBubble(t, newer, func(h *testRooms) { visit(h, false) })
}

// The operator starts one room from an older generation of its image. The newer generation is
// kept. Other rooms, and later runs of this room, continue from the newest.
func TestRoomFromAnOlderGeneration(t *testing.T) {
	dir := t.TempDir()
	images := func(c *RoomsConfig) { c.Images = RoomImages{Dir: dir, Every: 2 * time.Second} }
	inBubble(t, images, func(h *testRooms) {
		for _, name := range []string{"lobby", "match/a", "match/b"} {
			h.mustVisit(name)
		}
		time.Sleep(5 * time.Second)
	})
	path := filepath.Join(dir, "match", "a.image")
	newest := must.Get(os.ReadFile(path))
	older := func(c *RoomsConfig) {
		images(c)
		c.Images.Older = map[string]int{"match/a": 1}
	}
	inBubble(t, older, func(h *testRooms) {
		for _, name := range []string{"lobby", "match/a", "match/b"} {
			h.mustVisit(name)
		}
		require.Greater(t, h.tick("lobby"), uint64(240))
		require.Greater(t, h.tick("match/b"), uint64(240))
		require.InDelta(t, 100, h.tick("match/a"), 20)
		lines := h.logs.FilterMessageSnippet("restored an older image").All()
		require.Len(t, lines, 1)
		require.Equal(t, "match/a", lines[0].ContextMap()["room"])
		time.Sleep(5 * time.Second)
		require.Equal(t, newest, must.Get(os.ReadFile(path+".skipped")))
		require.NoError(t, h.drainRoom("match/a", 0))
		time.Sleep(time.Second)
		require.NoError(t, h.createRoom(context.Background(), "match/a"))
		require.Greater(t, h.tick("match/a"), uint64(240), "this process has begun it")
	})
	inBubble(t, older, func(h *testRooms) {
		_, err := h.visit("match/a")
		require.Equal(t, wire.Internal, wire.CodeOf(err), "skipped already")
	})
}

// H5: a run is killed after a session entered its room and before its first save. No later run
// issues the handles that it issued. A run that no session enters changes no image.
func TestRoomKilledBeforeItsFirstSave(t *testing.T) {
	dir := t.TempDir()
	images := func(c *RoomsConfig) { c.Images = RoomImages{Dir: dir, Every: time.Hour} }
	inBubble(t, images, func(h *testRooms) { h.mustVisit("match/a") })
	path := filepath.Join(dir, "match", "a.image")
	image := must.Get(os.ReadFile(path))
	var newest uint32
	for process := range 4 {
		var left map[string]string
		inBubble(t, images, func(h *testRooms) {
			must.Get(h.joinRoom(context.Background(), "match/a", "", Admission{}))
			if process%2 == 0 {
				h.mustVisit("match/a")
			}
			time.Sleep(time.Second)
			first := h.now("match/a").core.World().Config().FirstGeneration
			require.Greater(t, first, newest+world.RunGenerations/2, "process %d", process)
			newest = first
			left = filesIn(t, dir)
			require.Equal(t, string(image), left[path])
		})
		for path, data := range left {
			require.NoError(t, os.WriteFile(path, []byte(data), 0o600))
		}
	}
}
