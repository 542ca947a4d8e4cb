package server

import (
	"context"
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

// savesRarely is movable with an image at the start, and no other for long.
func savesRarely(t *testing.T, mode imagefile.JournalMode) func(*RoomsConfig) {
	config := movable(t, mode)
	return func(c *RoomsConfig) {
		config(c)
		c.Images.Every = time.Hour
	}
}

// The machine of a node is lost with its disk, five times in turn: the room continues on the other node with what it played until a
// second before, also if that node is killed before it has saved anything. No run continues: its last handles may be in no copy.
func TestJournalOutlastsItsMachine(t *testing.T) {
	for _, mode := range []imagefile.JournalMode{imagefile.JournalEverySecond, imagefile.JournalAlways} {
		config := savesRarely(t, mode)
		inTwoServers(t, config, func(x *twoServers) {
			t := x.t
			for loss := range 5 {
				ann := greetAs(x.b, "match/1", "ann")
				time.Sleep(9*time.Second + 300*time.Millisecond)
				was, tick, generation := ann.newestWelcome(), x.b.tick("match/1"), x.b.now("match/1").core.World().Config().FirstGeneration
				saved := x.nodeB.imageOf("match/1").Tick
				require.Greater(t, tick, saved+300, "the image is old")
				x.loseB("match/1", config)
				require.Equal(t, wire.EpochMismatch, resumeAt(x.a, "ann", was).code(), "loss %d", loss)
				require.NotEqual(t, generation, x.a.now("match/1").core.World().Config().FirstGeneration)
				require.InDelta(t, tick, x.a.tick("match/1"), 90, "loss %d: a second and a batch of frames are lost", loss)
				x.a, x.b, x.nodeA, x.nodeB = x.b, x.a, x.nodeB, x.nodeA
			}
		})
	}
}

// loseB ends the process of node b for ever, with its disk, and starts another with an empty one. The shared folder stays as it was.
func (x *twoServers) loseB(room string, change func(*RoomsConfig)) {
	shared, newest := filesIn(x.t, x.b.config.Images.Shared), x.nodeB.imageOf(room)
	require.NoError(x.t, x.b.endRooms()) // it shares more than the process did
	x.b.descriptors.close()
	crashTo(x.t, x.b.config.Images.Shared, shared)
	x.nodeB.setImage(room, newest)
	x.nodeB.giveNext(x.nodeB.next + 1)
	x.b = x.start(x.nodeB, change)
}

// Nothing of a journal remains once a newer image is the room's, and no copy is older than the image.
func TestCopiesOfJournalsArePruned(t *testing.T) {
	config := savesRarely(t, imagefile.JournalEverySecond)
	inTwoServers(t, func(c *RoomsConfig) { config(c); c.Images.Every = 3 * time.Second }, func(x *twoServers) {
		t := x.t
		greetAs(x.a, "match/1", "ann")
		copied := 0
		for range 20 {
			time.Sleep(500 * time.Millisecond)
			synctest.Wait()
			image := x.nodeA.imageOf("match/1")
			names := must.Get(filepath.Glob(filepath.Join(x.a.config.Images.Shared, "match", "1.images", "*-journal-*")))
			require.LessOrEqual(t, len(names), 2)
			for _, name := range names {
				require.False(t, image.IsOld(filepath.Base(name)), name)
				copied++
			}
		}
		require.Greater(t, copied, 10)
	})
}

// A copy that is damaged, cut off, of another journal or too long costs ticks, and never the room.
func TestDamagedCopyOfAJournal(t *testing.T) {
	for name, damage := range map[string]func(path string, content []byte) error{
		"a byte":   func(path string, b []byte) error { b[len(b)/2] ^= 1; return os.WriteFile(path, b, 0o600) },
		"cut off":  func(path string, b []byte) error { return os.Truncate(path, int64(len(b)/2)) },
		"empty":    func(path string, b []byte) error { return os.Truncate(path, 0) },
		"nonsense": func(path string, b []byte) error { return os.WriteFile(path, []byte("nonsense"), 0o600) },
		"too long": func(path string, b []byte) error { return os.Truncate(path, imagefile.MaxSegmentCopy+1) },
	} {
		t.Run(name, func(t *testing.T) {
			config := savesRarely(t, imagefile.JournalEverySecond)
			inTwoServers(t, config, func(x *twoServers) {
				t := x.t
				greetAs(x.b, "match/1", "ann")
				time.Sleep(9 * time.Second)
				saved := x.nodeB.imageOf("match/1").Tick
				x.loseB("match/1", config)
				paths := must.Get(filepath.Glob(filepath.Join(x.a.config.Images.Shared, "match", "1.images", "*-journal-*")))
				require.Len(t, paths, 1)
				require.NoError(t, damage(paths[0], must.Get(os.ReadFile(paths[0]))))
				require.Equal(t, wire.OK, greetAs(x.a, "match/1", "ann").code())
				require.GreaterOrEqual(t, x.a.tick("match/1"), saved)
				require.NoError(t, x.a.now("match/1").loop.runBetweenTicks(context.Background(), func() {}))
			})
		})
	}
}

// A node that has had the room, and knows its block, does not continue the run from the copy of its journal: clients may have heard of ticks that
// are in no copy, and of the handles in these (G11 of package imagefile).
func TestCopiedJournalContinuesNoRun(t *testing.T) {
	config := savesRarely(t, imagefile.JournalAlways)
	inTwoServers(t, config, func(x *twoServers) {
		t := x.t
		greetAs(x.a, "match/1", "ann")
		for _, to := range []string{"b:2", "a:1"} {
			time.Sleep(1500 * time.Millisecond)
			from := map[string]*testRooms{"b:2": x.a, "a:1": x.b}[to]
			require.NoError(t, from.moveRoom(context.Background(), "match/1", to))
		}
		time.Sleep(time.Second)
		ann := greetAs(x.a, "match/1", "ben")
		time.Sleep(5300 * time.Millisecond)
		was, tick, generation := ann.newestWelcome(), x.a.tick("match/1"), x.a.now("match/1").core.World().Config().FirstGeneration
		x.nodeA.lose("match/1", nil)
		require.Equal(t, wire.EpochMismatch, resumeAt(x.b, "ben", was).code())
		require.InDelta(t, tick, x.b.tick("match/1"), 90)
		require.NotEqual(t, generation, x.b.now("match/1").core.World().Config().FirstGeneration)
	})
}
