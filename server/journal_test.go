package server

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/worldd/worldd/internal/admin"
	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/internal/stage"
	"github.com/worldd/worldd/replication/schema"
	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/server/imagefile"
	"github.com/worldd/worldd/world"
)

// journaledRun is a run of a world of crates with a journal. Its game spawns a crate in some ticks, and counts
// them outside the world.
type journaledRun struct {
	*run
	t       *testing.T
	dir     string
	spawned uint64
	ticked  bool
	found   imagefile.Recovered
	logs    *observer.ObservedLogs
}

// openJournaled restores and begins a run from a folder, as another process does.
func openJournaled(t *testing.T, dir string, mode imagefile.JournalMode, changes ...func(*Config, *Restoring)) *journaledRun {
	r, c, err := restoreJournaled(t, dir, mode, changes...)
	require.NoError(t, err)
	r.run = must.Get(newRun(c.sessionConfig(), c.Image, c.Log, admin.NewTimings().Ticks(), nil, nil))
	require.NoError(t, r.begin())
	t.Cleanup(func() {
		r.loop.saver.saving.Wait()
		_ = r.loop.journal.end()
		r.core.Close()
	})
	return r
}

// restoreJournaled restores a run that has not begun.
func restoreJournaled(t *testing.T, dir string, mode imagefile.JournalMode, changes ...func(*Config, *Restoring)) (*journaledRun, *Config, error) {
	r := &journaledRun{t: t, dir: dir}
	log, logs := observer.New(zap.InfoLevel)
	r.logs = logs
	w := stage.NewCrates(world.Config{Seed: 1, MaxEntities: 200})
	require.NoError(t, w.AddSystem(world.Before, "rain", func(*world.World) {
		if w.Rand().IntN(4) == 0 {
			w.Put(100*w.Rand().Float32()-50, 0)
		}
	}))
	store := must.Get(imagefile.Open(filepath.Join(dir, "world.image"), 0))
	t.Cleanup(func() { _ = store.Close() })
	c := &Config{
		WorldConfig: WorldConfig{World: w.World, Schema: schema.NewWithBody(), Hooks: Hooks{
			Join: func(*Session) (world.Entity, error) {
				r.spawned++
				return w.Put(0, 0), nil
			},
			Leave:          func(s *Session) { w.Destroy(s.Entity()) },
			SaveSession:    func(_ *Session, b []byte) []byte { return append(b, "saved"...) },
			RestoreSession: func(_ *Session, saved []byte) error { return wantSaved(saved) },
		}},
		Image: ImageConfig{Store: store, Journal: mode, Every: time.Hour, Extra: func(b []byte) []byte { return append(b, byte(r.spawned)) }},
		Log:   zap.New(log), Random: rand.NewChaCha8(sha256.Sum256([]byte(dir))), // other epochs in other folders
	}
	how := Restoring{Log: c.Log, LoadExtra: func(extra []byte) error {
		r.spawned = uint64(extra[0])
		return nil
	}}
	for _, change := range changes {
		change(c, &how)
	}
	var err error
	r.found, err = c.Restore(how)
	return r, c, err
}

func wantSaved(b []byte) error {
	if string(b) != "saved" {
		return errors.New("not what SaveSession saved")
	}
	return nil
}

func (r *journaledRun) ticks(n int) {
	r.ticked = n > 0
	for range n {
		r.loop.runTick(time.Now().Add(time.Hour), false)
	}
}

// ends ends the run as a server that receives SIGTERM does.
func (r *journaledRun) ends(want error) {
	ctx, cancel := context.WithCancel(r.t.Context())
	cancel()
	refused := false
	require.ErrorIs(r.t, r.serveUntil(ctx, func() runEnd {
		refused = true
		return endServer
	}), want)
	require.True(r.t, refused)
}

// crash returns a folder as a process leaves it that is killed once its ticks are on the disk.
func (r *journaledRun) crash() string {
	r.loop.journal.file.Await()
	for r.ticked && r.loop.journal.file.Stats().Durable != r.core.World().Tick() {
		runtime.Gosched()
	}
	return copyOf(r.t, r.dir)
}

// copyOf returns a copy of a folder, as a process that is killed now leaves it.
func copyOf(t *testing.T, dir string) string {
	next := t.TempDir()
	for path, data := range filesIn(t, dir) {
		require.NoError(t, os.WriteFile(filepath.Join(next, filepath.Base(path)), []byte(data), 0o600))
	}
	return next
}

// With JournalAlways the same run comes back after each of five crashes: its epoch, handles, sessions and the game's
// own state, without a save in between. Both the lost process and the next one go on alike (J1, J2).
func TestRunComesBack(t *testing.T) {
	before := openJournaled(t, t.TempDir(), imagefile.JournalAlways)
	require.Nil(t, before.found.Image)
	c := &stage.Conn{}
	openClient(t, before.core, c, 0)
	before.ticks(10)
	for range 5 {
		before.ticks(100)
		next := openJournaled(t, before.crash(), imagefile.JournalAlways)
		require.True(t, next.found.SameRun)
		require.Equal(t, before.core.Config().Epoch, next.core.Config().Epoch)
		require.EqualValues(t, 1, next.spawned, "the game's state is restored")
		require.Equal(t, []int{0, 1}, []int{next.core.Active(), next.core.Away()})
		require.Len(t, next.logs.FilterMessageSnippet("the run continues").All(), 1)
		for s := range next.core.Sessions() {
			require.Equal(t, before.core.World().Status(s.Entity()), next.core.World().Status(s.Entity()))
		}
		require.Equal(t, before.core.World().StateHash(), next.core.World().StateHash())
		before.ticks(50)
		next.ticks(50)
		require.Equal(t, before.core.World().StateHash(), next.core.World().StateHash())
		before = next
	}
	require.NoError(t, before.core.World().CheckInvariants())
}

// Starts that end before their first tick lose neither the run nor its sessions, and nothing that changes the world
// between Restore and the first tick is missing later (J1, J6).
func TestStartsWithoutATick(t *testing.T) {
	r := openJournaled(t, t.TempDir(), imagefile.JournalAlways)
	openClient(t, r.core, &stage.Conn{}, 0)
	r.ticks(50)
	for range 3 {
		for range 5 {
			next := openJournaled(t, r.crash(), imagefile.JournalAlways)
			require.True(t, next.found.SameRun, next.found.Cut)
			require.Equal(t, 1, next.core.Away())
			r = next
		}
		must.Get(r.core.World().Spawn(0, world.Vec3{Y: 0.5}, world.Vec3{})) // by the program, before Serve
		r.ticks(20)
		require.NoError(t, r.loop.saver.saveNow())
	}
}

// A process that could not note that its ticks are missing does not continue a run (J1).
func TestRunNeedsAJournal(t *testing.T) {
	r := openJournaled(t, t.TempDir(), imagefile.JournalAlways)
	openClient(t, r.core, &stage.Conn{}, 0)
	r.ticks(50)
	next := openJournaled(t, r.crash(), imagefile.JournalOff)
	require.Len(t, next.logs.FilterMessageSnippet("its sessions end").FilterField(zap.Int("sessions", 1)).All(), 1)
	require.True(t, next.found.SameRun)
	require.NotEqual(t, r.core.Config().Epoch, next.core.Config().Epoch)

	next = openJournaled(t, r.crash(), imagefile.JournalEverySecond)
	require.Equal(t, r.core.Config().Epoch, next.core.Config().Epoch)
	next.ticks(1)
	after := openJournaled(t, copyOf(t, next.dir), imagefile.JournalEverySecond)
	require.False(t, after.found.SameRun, "the tick is lost, and the disk says so")
	require.NotEqual(t, r.core.Config().Epoch, after.core.Config().Epoch)
}

// Output that a broken journal holds never leaves (G11).
func TestBrokenJournalHolds(t *testing.T) {
	r := openJournaled(t, t.TempDir(), imagefile.JournalAlways)
	r.ticks(5)
	r.loop.journal.fail(imagefile.ErrJournalBroken)
	r.loop.saver.take = func(*world.Image) error { return errors.New("a fault") }
	require.NoError(t, r.loop.journal.end())
	c := &stage.Conn{}
	openClient(t, r.core, c, 0)
	r.ticks(5)
	require.Error(t, r.endAndSave())
	require.Empty(t, c.Snapshot().Welcomes)
}

// A save ends a segment and begins the next. Whichever images a crash finds damaged, the journal of an older one reaches
// the same tick.
func TestJournalOutlivesImages(t *testing.T) {
	r := openJournaled(t, t.TempDir(), imagefile.JournalAlways)
	for range 3 {
		r.ticks(40)
		require.NoError(t, r.loop.saver.saveNow())
	}
	r.ticks(40)
	dir := r.crash()
	path := filepath.Join(dir, "world.image")
	data := must.Get(os.ReadFile(path))
	data[len(data)/2] ^= 1
	require.NoError(t, os.WriteFile(path, data, 0o600))
	next := openJournaled(t, dir, imagefile.JournalAlways)
	require.Equal(t, 1, next.found.Generation)
	require.True(t, next.found.SameRun)
	require.Equal(t, r.core.World().StateHash(), next.core.World().StateHash())
	require.Len(t, next.logs.FilterMessageSnippet("restored an older image, and the journal after it").All(), 1)
}

// With JournalEverySecond, without the hooks, with edited files, in the last month of a run, and if the journal differs from what a replay computes, the world comes back
// in a new run: no handle of the old one lives.
func TestNewRunAfterACrash(t *testing.T) {
	unchanged := func(*Config, *Restoring) {}
	withoutHooks := func(c *Config, _ *Restoring) { c.Hooks.SaveSession, c.Hooks.RestoreSession = nil, nil }
	for name, c := range map[string]struct {
		mode   imagefile.JournalMode
		change func(*Config, *Restoring)
		next   func(*Config, *Restoring)
		ticks  uint64
	}{
		"every second":  {imagefile.JournalEverySecond, unchanged, unchanged, 90},
		"without hooks": {imagefile.JournalAlways, withoutHooks, withoutHooks, 90},
		"edited files": {imagefile.JournalAlways, unchanged, func(_ *Config, how *Restoring) {
			how.Edited = func(extra []byte) bool { return len(extra) == 1 }
		}, 90},
		"last month": {imagefile.JournalAlways, func(c *Config, _ *Restoring) {
			made := uint64(math.MaxUint32 - 1<<16 - 1000)
			c.Replication.TickBase = -made
		}, unchanged, 90},
		"other rules": {imagefile.JournalAlways, unchanged, func(c *Config, _ *Restoring) {
			require.NoError(t, c.World.AddSystem(world.After, "new", func(w *world.World) {
				if w.Tick() == 60 {
					w.Rand().Uint64()
				}
			}))
		}, 59},
	} {
		t.Run(name, func(t *testing.T) {
			r := openJournaled(t, t.TempDir(), c.mode, c.change)
			r.ticks(90)
			old := r.core.World().Slots().Handle(0)
			require.NotZero(t, old)
			if c.mode == imagefile.JournalEverySecond {
				require.NoError(t, r.loop.journal.file.Close())
			}
			next := openJournaled(t, r.crash(), c.mode, c.next)
			require.False(t, next.found.SameRun && c.mode == imagefile.JournalEverySecond)
			require.Equal(t, c.ticks, next.core.World().Tick())
			require.NotEqual(t, r.core.Config().Epoch, next.core.Config().Epoch)
			require.NotEqual(t, old, next.core.World().Slots().Handle(0))
			require.Equal(t, "stale", next.core.World().Status(old).String())
			require.Zero(t, next.core.Away())
		})
	}
}

// journaledRooms gives rooms a journal, whose sessions it saves.
func journaledRooms(dir string, mode imagefile.JournalMode) func(*RoomsConfig) {
	return func(c *RoomsConfig) {
		c.Images = RoomImages{Dir: dir, Every: time.Second, Journal: mode}
		changeGames(c, func(_ RoomRequest, g *RoomGame) {
			g.Hooks.SaveSession = func(_ *Session, b []byte) []byte { return append(b, "saved"...) }
			g.Hooks.RestoreSession = func(_ *Session, saved []byte) error { return wantSaved(saved) }
		})
	}
}

// away returns the number of sessions of a room that are away.
func (h *testRooms) away(room string) (n int) {
	now := h.now(room)
	require.NoError(h.t, now.loop.runBetweenTicks(context.Background(), func() { n = now.core.Away() }))
	return n
}

// Rooms keep their sessions over a restart of the server, in any mode of the journal. A room that ends by itself ends
// its sessions.
func TestRoomsOutlastARestart(t *testing.T) {
	for _, mode := range []imagefile.JournalMode{imagefile.JournalEverySecond, imagefile.JournalAlways} {
		dir := t.TempDir()
		var epoch uint64
		inBubble(t, journaledRooms(dir, mode), func(h *testRooms) {
			for _, room := range []string{"match/a", "match/a", "match/closed", "match/draining"} {
				h.mustVisit(room)
			}
			time.Sleep(3 * time.Second)
			require.NoError(t, h.drainRoom("match/draining", time.Hour))
			epoch = h.now("match/a").core.Config().Epoch
			require.NoError(t, h.drainRoom("match/closed", 0))
			time.Sleep(3 * time.Second)
		})
		for range 2 { // the second time without clients
			inBubble(t, journaledRooms(dir, mode), func(h *testRooms) {
				require.Equal(t, wire.OK, h.joinFrom("", "match/a"))
				require.Equal(t, wire.OK, h.joinFrom("", "match/closed"))
				require.Equal(t, epoch, h.now("match/a").core.Config().Epoch)
				require.Equal(t, 2, h.away("match/a"))
				require.Zero(t, h.away("match/closed"))
				require.Equal(t, wire.OK, h.joinFrom("", "match/draining"))
				require.Zero(t, h.away("match/draining"))
			})
		}
	}
}

// A room that ended by itself continues its run when it opens again, in any mode of the journal. A new run would take a new
// range of generations each time, and a world has a limited number.
func TestEndedRoomContinuesItsRun(t *testing.T) {
	for _, mode := range []imagefile.JournalMode{imagefile.JournalEverySecond, imagefile.JournalAlways} {
		journaled := journaledRooms(t.TempDir(), mode)
		idle := func(c *RoomsConfig) {
			journaled(c)
			match := c.Kinds["match"]
			match.IdleAfter = time.Second
			c.Kinds["match"] = match
		}
		inBubble(t, idle, func(h *testRooms) {
			var epoch uint64
			for n := range 3 {
				g := h.mustVisit("match/a")
				time.Sleep(2 * time.Second)
				if n == 0 {
					epoch = h.now("match/a").core.Config().Epoch
				}
				require.Equal(t, epoch, h.now("match/a").core.Config().Epoch)
				g.leave()
				time.Sleep(15 * time.Second)
				require.NotContains(t, h.names(), "match/a")
			}
		})
	}
}

// endedRoom leaves a room that has ended by itself, and whose run may continue. It returns the room's epoch.
func endedRoom(t *testing.T, config func(*RoomsConfig)) (epoch uint64) {
	inBubble(t, config, func(h *testRooms) {
		g := h.mustVisit("match/a")
		time.Sleep(time.Second)
		g.leave()
		time.Sleep(30 * time.Second)
		require.Zero(t, h.away("match/a"))
		epoch = h.now("match/a").core.Config().Epoch
	})
	return epoch
}

// A room in which no session is left, and that clients ask for without entering it, leaves the disk as it was, and comes
// back with the first session.
func TestUnenteredRoomLeavesNoSegment(t *testing.T) {
	for _, mode := range []imagefile.JournalMode{imagefile.JournalEverySecond, imagefile.JournalAlways} {
		dir := t.TempDir()
		config := journaledRooms(dir, mode)
		epoch := endedRoom(t, config)
		before := filesIn(t, filepath.Join(dir, "match"))
		for range 3 {
			inBubble(t, config, func(h *testRooms) {
				require.Equal(t, wire.OK, h.joinFrom("", "match/a"))
				require.Equal(t, epoch, h.now("match/a").core.Config().Epoch)
				time.Sleep(20 * time.Second)
			})
			require.Equal(t, before, filesIn(t, filepath.Join(dir, "match")))
		}
		inBubble(t, config, func(h *testRooms) {
			h.mustVisit("match/a")
			time.Sleep(2 * time.Second)
		})
		inBubble(t, config, func(h *testRooms) {
			require.Equal(t, wire.OK, h.joinFrom("", "match/a"))
			require.Equal(t, epoch, h.now("match/a").core.Config().Epoch)
			require.Equal(t, 1, h.away("match/a"))
		})
	}
}

// The first session comes long after the room has opened again. If the newest image is then damaged, the journal of the image
// before leads to the same tick.
func TestLateSessionOutlivesItsImage(t *testing.T) {
	dir := t.TempDir()
	config := journaledRooms(dir, imagefile.JournalAlways)
	epoch := endedRoom(t, config)
	var tick uint64
	left := killInBubble(t, config, dir, func(h *testRooms) {
		require.Equal(t, wire.OK, h.joinFrom("", "match/a"))
		time.Sleep(10 * time.Second)
		h.mustVisit("match/a")
		for h.now("match/a").loop.saver.report().Saved == 0 {
			time.Sleep(20 * time.Millisecond)
		}
		tick = h.tick("match/a")
	})
	newest := filepath.Join(dir, "match", "a.image")
	data := []byte(left[newest])
	data[len(data)/2] ^= 1
	left[newest] = string(data)
	crashTo(t, dir, left)
	inBubble(t, config, func(h *testRooms) {
		require.Equal(t, wire.OK, h.joinFrom("", "match/a"))
		require.Equal(t, epoch, h.now("match/a").core.Config().Epoch)
		require.InDelta(t, tick, h.tick("match/a"), 5)
		require.Equal(t, 1, h.away("match/a"))
	})
}

// The first session comes long after the room has opened again, and no journal and no image can be written then. The disk lacks
// the ticks that its client sees: after a crash another run begins.
func TestLateSessionOnAFullDisk(t *testing.T) {
	dir := t.TempDir()
	config := journaledRooms(dir, imagefile.JournalAlways)
	epoch := endedRoom(t, config)
	var left map[string]string
	inBubble(t, config, func(h *testRooms) {
		require.Equal(t, wire.OK, h.joinFrom("", "match/a"))
		time.Sleep(10 * time.Second)
		now := h.now("match/a")
		require.Equal(t, epoch, now.core.Config().Epoch)
		require.NoError(t, now.loop.runBetweenTicks(context.Background(), func() {
			now.loop.saver.take = func(*world.Image) error { return syscall.ENOSPC }
			now.loop.journal.suspend(syscall.ENOSPC)
		}))
		g := h.mustVisit("match/a")
		time.Sleep(2 * time.Second)
		require.NotEmpty(t, g.Snapshot().Welcomes)
		left = filesIn(t, dir)
		require.NoError(t, now.loop.runBetweenTicks(context.Background(), func() { now.loop.saver.take = now.loop.saver.takeWorld }))
	})
	crashTo(t, dir, left)
	inBubble(t, config, func(h *testRooms) {
		h.mustVisit("match/a")
		require.NotEqual(t, epoch, h.now("match/a").core.Config().Epoch)
	})
}

// Sessions that the game does not restore end once, though nobody enters the room.
func TestRefusedRestoreEndsSessionsOnce(t *testing.T) {
	dir := t.TempDir()
	left := 0
	refusing := func(c *RoomsConfig) {
		journaledRooms(dir, imagefile.JournalAlways)(c)
		changeGames(c, func(_ RoomRequest, g *RoomGame) {
			g.Hooks.RestoreSession = func(*Session, []byte) error { return errors.New("of an older release") }
			g.Hooks.Leave = func(*Session) { left++ }
		})
	}
	inBubble(t, journaledRooms(dir, imagefile.JournalAlways), func(h *testRooms) {
		h.mustVisit("match/a")
		time.Sleep(2 * time.Second)
	})
	for range 3 {
		inBubble(t, refusing, func(h *testRooms) {
			require.Equal(t, wire.OK, h.joinFrom("", "match/a"))
			require.Zero(t, h.away("match/a"))
			time.Sleep(20 * time.Second)
		})
		require.Equal(t, 1, left)
	}
}

// A room comes back with its sessions, in the range of generations of its run. If another room has taken the range
// meanwhile, it begins a new run.
func TestRoomComesBack(t *testing.T) {
	dir := t.TempDir()
	config := journaledRooms(dir, imagefile.JournalAlways)
	var epoch, tick uint64
	var block int
	left := killInBubble(t, config, dir, func(h *testRooms) {
		h.mustVisit("match/a")
		h.mustVisit("match/a")
		time.Sleep(5 * time.Second)
		epoch, tick, block = h.now("match/a").core.Config().Epoch, h.tick("match/a"), h.now("match/a").block
	})
	inBubble(t, config, func(h *testRooms) {
		h.mustVisit("match/a")
		require.InDelta(t, tick, h.tick("match/a"), 5)
		require.Equal(t, epoch, h.now("match/a").core.Config().Epoch)
		require.Equal(t, 2, h.away("match/a"))
		time.Sleep(20 * time.Second)
		require.LessOrEqual(t, h.away("match/a"), 1, "nobody has resumed them")
	})
	crashTo(t, dir, left)
	inBubble(t, config, func(h *testRooms) {
		h.rooms.mu.Lock()
		require.True(t, h.ranges.takeExactly(block))
		h.rooms.mu.Unlock()
		h.mustVisit("match/a")
		require.NotEqual(t, epoch, h.now("match/a").core.Config().Epoch)
		require.Zero(t, h.away("match/a"))
		require.InDelta(t, tick, h.tick("match/a"), 5, "its world is not lost")
	})
}

// A journal that stops suspends: output leaves, the server reports it, and the next image begins the journal again.
// One that cannot even note that ticks are missing ends the run.
func TestJournalFails(t *testing.T) {
	r := openJournaled(t, t.TempDir(), imagefile.JournalAlways)
	c := &stage.Conn{}
	openClient(t, r.core, c, 0)
	r.ticks(5)
	r.loop.journal.suspend(errors.New("a fault"))
	r.ticks(1)
	for len(c.Snapshot().Welcomes) == 0 || r.loop.report().Journal.Failed == 0 {
		runtime.Gosched()
	}
	require.EqualValues(t, 1, r.loop.report().Journal.Failed)
	require.EqualValues(t, 1, r.loop.report().Journal.Suspended)
	require.NoError(t, r.loop.saver.saveNow())
	r.ticks(5)
	next := openJournaled(t, r.crash(), imagefile.JournalAlways)
	require.True(t, next.found.SameRun, "the new image has all that left before")
	require.Zero(t, r.loop.report().Journal.Suspended)

	r.loop.journal.fail(imagefile.ErrJournalBroken)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	require.ErrorIs(t, r.loop.tickUntil(ctx), imagefile.ErrJournalBroken)
}

// A server that ends keeps its sessions, in any mode of the journal: no Leave is called, clients reconnect, and the next
// start continues the run. A kicked session has ended.
func TestSessionsOutlastARestart(t *testing.T) {
	for _, mode := range []imagefile.JournalMode{imagefile.JournalEverySecond, imagefile.JournalAlways} {
		before := openJournaled(t, t.TempDir(), mode)
		var clients [3]stage.Conn
		for i := range clients {
			openClient(t, before.core, &clients[i], 0)
		}
		before.ticks(50)
		ids := []uint64{}
		for s := range before.core.Sessions() {
			ids = append(ids, s.ID())
		}
		before.core.Kick(ids[2], "enough")
		before.ends(nil)
		require.Len(t, before.logs.FilterMessage("left").All(), 1)
		for i, code := range []wire.Code{wire.Draining, wire.Draining, wire.Kicked} {
			require.Equal(t, []wire.Code{code}, clients[i].Snapshot().Closed)
		}
		require.True(t, wire.Draining.Info().Retry)

		for range 2 { // the second time without clients
			next := openJournaled(t, before.crash(), mode)
			require.True(t, next.found.SameRun)
			require.Equal(t, before.core.Config().Epoch, next.core.Config().Epoch)
			require.Equal(t, before.core.World().StateHash(), next.core.World().StateHash())
			require.EqualValues(t, 3, next.spawned)
			require.Equal(t, 2, next.core.Away())
			for i, s := range slices.Collect(next.core.Sessions()) {
				require.Equal(t, ids[i], s.ID())
				require.Equal(t, "live", next.core.World().Status(s.Entity()).String())
			}
			next.ticks(10)
			next.ends(nil)
			before = next
		}
	}
}

// Without a journal, without the hooks, and if the last image or segment cannot be saved, the sessions end with the
// server.
func TestSessionsEndWithTheServer(t *testing.T) {
	errDisk := errors.New("a faulty disk")
	unchanged := func(*Config, *Restoring) {}
	for name, c := range map[string]struct {
		mode   imagefile.JournalMode
		change func(*Config, *Restoring)
		before func(*journaledRun)
		want   error
	}{
		"without a journal": {imagefile.JournalOff, unchanged, func(*journaledRun) {}, nil},
		"without hooks": {imagefile.JournalEverySecond, func(c *Config, _ *Restoring) {
			c.Hooks.SaveSession, c.Hooks.RestoreSession = nil, nil
		}, func(*journaledRun) {}, nil},
		"without the last image": {imagefile.JournalAlways, unchanged, func(r *journaledRun) {
			r.loop.saver.take = func(*world.Image) error { return errDisk }
		}, errDisk},
		"without the last segment": {imagefile.JournalEverySecond, unchanged, func(r *journaledRun) {
			last := fmt.Sprintf("world.image.journal-%016x-%016x", r.core.Config().Epoch, r.core.World().Tick()+1)
			require.NoError(r.t, os.Mkdir(filepath.Join(r.dir, last), 0o700))
		}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			r := openJournaled(t, t.TempDir(), c.mode, c.change)
			client := &stage.Conn{}
			openClient(t, r.core, client, 0)
			r.ticks(50)
			c.before(r)
			r.ends(c.want)
			require.Equal(t, []wire.Code{wire.Draining}, client.Snapshot().Closed)
			require.Len(t, r.logs.FilterMessage("left").All(), 1)
		})
	}
}

// Notes of another version or of nobody are refused, and read no further than their end.
func FuzzNotes(f *testing.F) {
	r := restoredRun{}
	f.Add([]byte{noteSegment | noteExtra, 1, 2, 3, 4, 5, 6, 7, 8, 0, 'x'})
	f.Add([]byte{noteExtra, 0})
	f.Add([]byte{noteExtraChange, 0, 0, 0, 'x'})
	f.Add([]byte{0, 200})
	f.Add([]byte{4, 0})
	f.Fuzz(func(t *testing.T, b []byte) {
		given := bytes.Clone(b)
		_ = r.addNotes(b)
		require.Equal(t, given, b)
	})
	require.Error(f, (&restoredRun{}).addNotes(nil))
	require.Error(f, (&restoredRun{}).addNotes([]byte{noteSegment, 1}))
	require.Error(f, (&restoredRun{}).addNotes([]byte{0, 9, 1}))
	require.NoError(f, (&restoredRun{}).addNotes([]byte{noteExtra, 0, 'x'}))
	require.Error(f, (&restoredRun{}).addNotes([]byte{noteExtra | noteExtraChange, 0, 0, 0}))
	for _, change := range []string{"", "\x01", "\x03\x00", "\x01\x02", "\x00\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"} {
		require.Error(f, (&restoredRun{extra: []byte("ab")}).addNotes(append([]byte{noteExtraChange, 0}, change...)))
	}
}

// The change of a state leads from the old one to the new one, and is as long as the part that differs.
func TestExtraChange(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	text := func(most int) (b []byte) {
		for range r.IntN(most + 1) {
			b = append(b, byte('a'+r.IntN(2))) // repetitions, whose beginning and end overlap
		}
		return b
	}
	for range 10_000 {
		head, old, now, tail := text(9), text(5), text(5), text(9)
		before, after := slices.Concat(head, old, tail), slices.Concat(head, now, tail)
		change := appendChange(nil, before, after)
		require.LessOrEqual(t, len(change), 2+len(now))
		require.Equal(t, string(after), string(must.Get(applyChange(before, change))))
	}
}

// Leave is called for the sessions of a run that does not continue, once, in its world and with the game's state; the avatars that it
// removes are not in the next run.
func TestLeaveOfSessionsThatCannotContinue(t *testing.T) {
	var left []string
	var avatar uint32
	watch := func(c *Config, _ *Restoring) {
		leave := c.Hooks.Leave
		c.Hooks.Leave = func(s *Session) {
			left, avatar = append(left, c.World.Status(s.Entity()).String()), s.Entity().Index()
			leave(s)
		}
	}
	r := openJournaled(t, t.TempDir(), imagefile.JournalEverySecond, watch)
	r.ticks(5)
	openClient(t, r.core, &stage.Conn{}, 0)
	r.ticks(5)
	require.NoError(t, r.loop.journal.file.Close())
	dir := copyOf(t, r.dir)
	for n := range 3 {
		next := openJournaled(t, dir, imagefile.JournalEverySecond, watch)
		require.Equal(t, []string{"live"}, left)
		require.Zero(t, next.core.Len())
		require.EqualValues(t, 1, next.spawned)
		if n == 0 { // later another entity may be in the slot
			next.ticks(1)
			require.NotContains(t, slices.Collect(next.core.World().Live().All()), avatar)
		}
		require.NoError(t, next.loop.journal.file.Close())
		dir = copyOf(t, next.dir)
	}
}
