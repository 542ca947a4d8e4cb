package server

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/server/imagefile"
)

// storeRooms writes files in place of images of the kind match, each last saved the given time
// ago.
func storeRooms(t *testing.T, dir string, ago map[string]time.Duration) {
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "match"), 0o700))
	for name, age := range ago {
		path := filepath.Join(dir, "match", name)
		require.NoError(t, os.WriteFile(path, make([]byte, 1000), 0o600))
		require.NoError(t, os.Chtimes(path, time.Time{}, time.Now().Add(-age)))
	}
}

// storedRooms returns the ids of the images of the kind match.
func storedRooms(t *testing.T, dir string) (ids []string) {
	all := must.Get(RoomImages{Dir: dir}.storedImages("match"))
	for _, img := range all {
		ids = append(ids, img.id)
	}
	return ids
}

const day = 24 * time.Hour

// New rooms displace images beyond a kind's maximum if no session has entered their rooms for
// long. A thousand names do not keep images for ever.
func TestOldImagesGiveWay(t *testing.T) {
	dir := t.TempDir()
	inBubble(t, func(c *RoomsConfig) {
		c.Images = RoomImages{Dir: dir}
		changeMatches(c, func(k *RoomKind) { k.MaxImages = 4 })
	}, func(h *testRooms) {
		storeRooms(t, dir, map[string]time.Duration{
			"oldest.image": 50 * day, "old.image": 40 * day, "old.image.old-1": 60 * day, "old.image.damaged": 70 * day, "young.image": 20 * day,
			"kept.image": 90 * day, "kept.image.old-1": 10 * day,
		})
		h.mustVisit("match/a")
		require.ElementsMatch(t, []string{"old", "young", "kept"}, storedRooms(t, dir))
		lines := h.logs.FilterMessageSnippet("removed the image").All()
		require.Len(t, lines, 1)
		require.Equal(t, "match/oldest", lines[0].ContextMap()["room"])
		h.mustVisit("match/b")
		require.NotContains(t, storedRooms(t, dir), "old")
		require.NoFileExists(t, filepath.Join(dir, "match", "old.image.old-1"))
		require.NoFileExists(t, filepath.Join(dir, "match", "old.image.damaged"))
		_, err := h.visit("match/c")
		require.Equal(t, wire.ServerFull, wire.CodeOf(err), "the others are too young: %v", err)
	})
}

// An existing room keeps its image at any age, even if another server prunes.
func TestImageOfAnOpenRoomStays(t *testing.T) {
	dir := t.TempDir()
	images := func(c *RoomsConfig) { c.Images = RoomImages{Dir: dir, PruneAfter: 10 * day, Every: 3 * time.Second} }
	inBubble(t, images, func(h *testRooms) {
		h.mustVisit("match/a")
		time.Sleep(8 * time.Second)
		storeRooms(t, dir, map[string]time.Duration{"b.image": 11 * day})
		old := time.Now().Add(-11 * day)
		for _, name := range []string{"a.image", "a.image.old-1"} {
			require.NoError(t, os.Chtimes(filepath.Join(dir, "match", name), old, old))
		}
		other := newTestRooms(t, images)
		for _, of := range []*testRooms{h, other} {
			of.images.mu.Lock()
			stored := must.Get(of.images.allImages())
			require.False(t, of.images.pruneImages(stored, 10*day, "a test", func(n int, _ int64) bool { return n == 0 }))
			of.images.mu.Unlock()
			require.Equal(t, []string{"a"}, storedRooms(t, dir))
		}
		require.Empty(t, h.logs.FilterMessageSnippet("cannot remove").All())
		require.Len(t, other.logs.FilterMessageSnippet("cannot remove").All(), 1, "in use")
	})
}

// PruneAfter removes old images at the start and then once an hour. Images without an id and
// images that the operator linked stay.
func TestPruneAfter(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		h := newTestRooms(t, func(c *RoomsConfig) {
			c.Images = RoomImages{Dir: dir, PruneAfter: 2 * day}
			unpinned(c)
		})
		storeRooms(t, dir, map[string]time.Duration{"a.image": 3 * day, "b.image": 2*day - 90*time.Minute, "c.image": day, "d.image": 3 * day})
		require.NoError(t, os.Rename(filepath.Join(dir, "match", "d.image"), filepath.Join(dir, "match.image")))
		require.NoError(t, os.Symlink(filepath.Join(dir, "match.image"), filepath.Join(dir, "match", "d.image")))
		require.NoError(t, os.Chtimes(filepath.Join(dir, "match.image"), time.Time{}, time.Now().Add(-3*day)))
		h.begin()
		synctest.Wait()
		require.ElementsMatch(t, []string{"b", "c", "d"}, storedRooms(t, dir))
		time.Sleep(pruneEvery + time.Minute)
		require.ElementsMatch(t, []string{"b", "c", "d"}, storedRooms(t, dir))
		time.Sleep(pruneEvery)
		require.ElementsMatch(t, []string{"c", "d"}, storedRooms(t, dir))
		require.FileExists(t, filepath.Join(dir, "match.image"))
		require.NoError(t, h.endRooms())
	})
}

// MaxBytes counts all generations of all rooms with ids.
func TestMaxBytesOfImages(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		h := newTestRooms(t, func(c *RoomsConfig) { c.Images = RoomImages{Dir: dir, MaxBytes: 3500} })
		storeRooms(t, dir, map[string]time.Duration{"a.image": 40 * day, "a.image.old-1": 41 * day, "b.image": 35 * day, "c.image": 1, "d.image": 2})
		h.begin()
		synctest.Wait()
		require.ElementsMatch(t, []string{"b", "c", "d"}, storedRooms(t, dir))
		h.mustVisit("match/new")
		storeRooms(t, dir, map[string]time.Duration{"e.image": 1, "f.image": 2})
		_, err := h.visit("match/more")
		require.Equal(t, wire.ServerFull, wire.CodeOf(err))
		require.ElementsMatch(t, []string{"c", "d", "e", "f"}, storedRooms(t, dir))
		require.NoError(t, h.createRoom(context.Background(), "match/operators"))
		require.NoError(t, h.endRooms())
	})
}

// Nine addresses that create rooms until they are refused do not take all images of a kind.
func TestFewAddressesLeaveImages(t *testing.T) {
	dir := t.TempDir()
	inBubble(t, func(c *RoomsConfig) {
		c.Images = RoomImages{Dir: dir}
		k := c.Kinds["match"]
		c.Kinds["match"] = RoomKind{New: k.New, MaxImages: 120, IdleAfter: time.Second}
	}, func(h *testRooms) {
		enter := func(address, room string) wire.Code {
			now, err := h.joinRoom(context.Background(), room, address, Admission{})
			if err != nil {
				return wire.CodeOf(err)
			}
			ctx, end := context.WithCancel(context.Background())
			g := &roomClient{end: end}
			g.peer = now.core.Open(ctx, address, g)
			require.NoError(t, g.peer.ReceiveStream(wire.AppendFrame(nil, wire.TypeHello, wire.Hello{Protocol: wire.Version, Tables: now.core.Config().Replication.Tables.Version()}.Append(nil))))
			time.Sleep(100 * time.Millisecond)
			g.leave()
			time.Sleep(4 * time.Second) // it ends, and is stored
			return wire.OK
		}
		for i := range 9 {
			address := fmt.Sprintf("192.0.2.%d/32", i)
			for n := 0; enter(address, fmt.Sprintf("match/%d-%d", i, n)) == wire.OK; n++ {
				require.Less(t, n, 60)
			}
		}
		require.Less(t, len(storedRooms(t, dir)), 118)
		require.Equal(t, wire.OK, enter("198.51.100.1/32", "match/player"))
		require.Contains(t, storedRooms(t, dir), "player")
	})
}

// A run that no session enters leaves the image unchanged, so that its age counts from the last
// session.
func TestUnenteredRunLeavesTheImage(t *testing.T) {
	dir := t.TempDir()
	inBubble(t, func(c *RoomsConfig) {
		c.Images = RoomImages{Dir: dir, Every: time.Second}
		c.Kinds["match"] = RoomKind{New: c.Kinds["match"].New, IdleAfter: 3 * time.Second}
	}, func(h *testRooms) {
		g := h.mustVisit("match/a")
		time.Sleep(time.Second)
		g.leave()
		time.Sleep(20 * time.Second)
		require.Equal(t, []string{"lobby"}, h.names())
		file := filepath.Join(dir, "match", "a"+imageSuffix)
		before := must.Get(os.Stat(file))
		stored := must.Get(os.ReadFile(file))
		require.Equal(t, wire.OK, h.joinFrom("", "match/a"))
		tick := h.tick("match/a")
		time.Sleep(20 * time.Second)
		after := must.Get(os.Stat(file))
		require.True(t, os.SameFile(before, after))
		require.Equal(t, before.ModTime(), after.ModTime())
		h.mustVisit("match/a")
		require.LessOrEqual(t, h.tick("match/a"), tick+100, "from the image")
		time.Sleep(3 * time.Second)
		require.NotEqual(t, stored, must.Get(os.ReadFile(file)))
	})
}

// Rooms of everysec that clients open and nobody enters use up no generations.
func TestUnenteredRoomsTakeNoGenerations(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "match", "a.image")
	inBubble(t, journaledRooms(dir, imagefile.JournalEverySecond), func(h *testRooms) {
		h.mustVisit("match/a")
		time.Sleep(3 * time.Second)
	})
	before := must.Get(imagefile.ReadNewestGeneration(path))
	for range 3 {
		inBubble(t, journaledRooms(dir, imagefile.JournalEverySecond), func(h *testRooms) {
			r := must.Get(h.findRoom("match/a", byClient, ""))
			_ = must.Get(h.awaitOpen(h.t.Context(), r))
			time.Sleep(3 * time.Second)
		})
		require.Equal(t, before, must.Get(imagefile.ReadNewestGeneration(path)))
	}
}
