package server

import (
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/server/imagefile"
)

// ownImages configures a node's own folder, and one that the nodes share, or "".
func ownImages(own, shared string) func(*RoomsConfig) {
	return func(c *RoomsConfig) {
		withoutPinned(c)
		c.Images = RoomImages{Dir: own, Shared: shared, Every: time.Second}
	}
}

// playMatch lets a client play match/a for a time, and returns the ticks at its begin and its end.
func playMatch(h *testRooms, d time.Duration) (first, last uint64) {
	c := h.mustVisit("match/a")
	time.Sleep(20 * time.Millisecond)
	first = h.tick("match/a")
	time.Sleep(d)
	last = h.tick("match/a")
	require.Equal(h.t, wire.OK, c.code())
	return first, last
}

// imagesOfMatch lists the images of match/a in a shared folder.
func imagesOfMatch(t *testing.T, shared string) (names []string) {
	files, err := os.ReadDir(filepath.Join(shared, "match", "a.images"))
	if !errors.Is(err, os.ErrNotExist) {
		require.NoError(t, err)
	}
	for _, f := range files {
		names = append(names, f.Name())
	}
	return names
}

// A room continues on each node from its newest image, also on a node that has an older one. The shared folder holds
// that image alone.
func TestRoomBeginsWithItsNewestImage(t *testing.T) {
	d, shared := newDirectory(), t.TempDir()
	dirs := map[string]string{"a:1": t.TempDir(), "b:2": t.TempDir()}
	last := uint64(0)
	for _, node := range []string{"a:1", "b:2", "a:1", "a:1", "b:2"} {
		onNode(t, d, node, ownImages(dirs[node], shared), func(h *testRooms, _ *testNode) {
			first, end := playMatch(h, 3*time.Second)
			require.GreaterOrEqual(t, first, last, node)
			require.InDelta(t, last, first, 10, node)
			last = end
		})
		newest := d.imageOf("match/a")
		require.Equal(t, []string{newest.Name()}, imagesOfMatch(t, shared))
		require.Equal(t, []string{node}, newest.Nodes)
		note := must.Get(imagefile.ReadConfirmed(filepath.Join(dirs[node], "match", "a.image")))
		require.Equal(t, "directory "+newest.Name(), note)
	}
}

// A node without the newest image makes no other world: clients are sent to a node that has it, with their tokens, or are refused while none
// lives. An operator may let the room begin without it.
func TestImageElsewhere(t *testing.T) {
	d := newDirectory()
	onNode(t, d, "a:1", ownImages(t.TempDir(), ""), func(h *testRooms, _ *testNode) { playMatch(h, 2*time.Second) })
	own := t.TempDir()
	onNode(t, d, "b:2", ownImages(own, ""), func(h *testRooms, _ *testNode) {
		c := h.greet(func(m *wire.Hello) { m.Room, m.Token = "match/a", []byte("ann") })
		require.Equal(t, wire.Error{Code: wire.Moved, Detail: wire.RoomIs + "match/a", Address: "a:1", Token: []byte("ann")}, c.Snapshot().Ended)
		d.dead = map[string]bool{"a:1": true}
		_, err := h.visit("match/a")
		require.Equal(t, wire.Internal, wire.CodeOf(err))
		require.Empty(t, h.times(), "no world is made")
		require.NoDirExists(t, filepath.Join(own, "match"))
		logged := h.logs.FilterMessage("the room cannot be made").All()
		require.Len(t, logged, 1)
		require.Contains(t, logged[0].ContextMap()["error"], "start one of the nodes that have it (a:1)")

		time.Sleep(2 * brokenFor)
		begun := *d.imageOf("match/a")
		begun.Any = true
		d.setImage("match/a", &begun)
		first, _ := playMatch(h, 2*time.Second)
		require.Less(t, first, uint64(50), "a new world")
	})
	require.Equal(t, []string{"b:2"}, d.imageOf("match/a").Nodes)
}

// A node that has lost a room while it saved it leaves the newest image, and its own older one, as they are.
func TestLateSaveIsNotTheNewest(t *testing.T) {
	d, own := newDirectory(), t.TempDir()
	onNode(t, d, "a:1", ownImages(own, ""), func(h *testRooms, n *testNode) {
		playMatch(h, 2500*time.Millisecond)
		now, g := h.now("match/a"), n.grant("match/a")
		require.NoError(t, now.loop.runBetweenTicks(context.Background(), func() {
			now.loop.saver.saving.Wait()
			theirs := &RoomImage{Epoch: 99, Tick: 1, Sum: "theirs", Nodes: []string{"b:2"}}
			d.setImage("match/a", theirs)
			d.mu.Lock()
			d.grants["match/a"] = &testGrant{node: &testNode{sharedDirectory: d, address: "b:2"}, room: "match/a"}
			d.mu.Unlock()
			before := savedTick(t, filepath.Join(own, "match", "a.image"))
			require.ErrorIs(t, now.loop.saver.saveNow(), ErrNotOwner)
			require.Equal(t, before, savedTick(t, filepath.Join(own, "match", "a.image")))
			require.Equal(t, theirs, d.imageOf("match/a"))
			require.EqualValues(t, 1, h.clusterReport().LateSaves)
			g.runs.Store(false)
			close(g.lost)
		}))
		time.Sleep(time.Second)
	})
}

// An image that cannot be shared is not the newest, and leaves nothing.
func TestSharedFolderIsGone(t *testing.T) {
	d, own, shared := newDirectory(), t.TempDir(), t.TempDir()
	onNode(t, d, "a:1", ownImages(own, shared), func(h *testRooms, _ *testNode) {
		playMatch(h, 2500*time.Millisecond)
		newest := d.imageOf("match/a")
		require.NoError(t, os.RemoveAll(shared))
		require.NoError(t, os.WriteFile(shared, nil, 0o600))
		time.Sleep(3 * time.Second)
		require.Equal(t, newest, d.imageOf("match/a"))
		require.NotZero(t, h.now("match/a").loop.saver.report().Failed)
		require.Empty(t, must.Get(filepath.Glob(filepath.Join(own, "match", "*.pending-*"))))
		require.NoError(t, os.Remove(shared))
		require.NoError(t, os.Mkdir(shared, 0o700))
		time.Sleep(2 * time.Second)
		require.NotEqual(t, newest, d.imageOf("match/a"))
	})
}

// A room that ends for good has no image on any node. A node that has an older one sets it aside when the room is made again.
func TestEndedRoomHasNoImage(t *testing.T) {
	d, shared := newDirectory(), t.TempDir()
	dirs := map[string]string{"a:1": t.TempDir(), "b:2": t.TempDir()}
	onNode(t, d, "a:1", ownImages(dirs["a:1"], shared), func(h *testRooms, _ *testNode) { playMatch(h, 2*time.Second) })
	onNode(t, d, "b:2", ownImages(dirs["b:2"], shared), func(h *testRooms, _ *testNode) {
		playMatch(h, 2*time.Second)
		require.NoError(t, h.existingRoom("match/a").End("blue wins"))
		time.Sleep(time.Second)
	})
	require.Nil(t, d.imageOf("match/a"))
	require.Empty(t, imagesOfMatch(t, shared))
	onNode(t, d, "a:1", ownImages(dirs["a:1"], shared), func(h *testRooms, _ *testNode) {
		first, _ := playMatch(h, time.Second)
		require.Less(t, first, uint64(50), "a new world")
		require.FileExists(t, filepath.Join(dirs["a:1"], "match", "a.image.stale"))
	})
}

// The image of a room that nobody has entered for long is removed from the cluster, unless another node runs the room. A node's older image
// is removed alone.
func TestOldImageIsRemovedFromTheCluster(t *testing.T) {
	d, shared := newDirectory(), t.TempDir()
	dirs := map[string]string{"a:1": t.TempDir(), "b:2": t.TempDir()}
	prune := func(h *testRooms) bool {
		stored := must.Get(h.config.Images.storedImages("match"))
		h.images.mu.Lock()
		defer h.images.mu.Unlock()
		return h.images.pruneImages(stored, math.MinInt64, "a test", func(n int, _ int64) bool { return n == 0 })
	}
	for _, node := range []string{"a:1", "b:2"} {
		onNode(t, d, node, ownImages(dirs[node], shared), func(h *testRooms, _ *testNode) { playMatch(h, 2*time.Second) })
	}
	newest := d.imageOf("match/a")
	onNode(t, d, "a:1", ownImages(dirs["a:1"], shared), func(h *testRooms, _ *testNode) {
		require.True(t, prune(h))
		require.Equal(t, newest, d.imageOf("match/a"))
	})
	onNode(t, d, "b:2", ownImages(dirs["b:2"], shared), func(h *testRooms, n *testNode) {
		d.grants["match/a"] = &testGrant{node: &testNode{sharedDirectory: d, address: "a:1"}, room: "match/a"}
		require.False(t, prune(h))
		require.Equal(t, newest, d.imageOf("match/a"))
		delete(d.grants, "match/a")
		require.True(t, prune(h))
		require.Nil(t, d.imageOf("match/a"))
		require.Empty(t, imagesOfMatch(t, shared))
		require.Empty(t, d.grants)
	})
}
