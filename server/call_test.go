package server

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/server/imagefile"
	"github.com/worldd/worldd/world"
)

// never is a function that must not run.
func never(*world.World) error { panic("it has run") }

// requireNotRun checks an error of Room.Do.
func requireNotRun(t *testing.T, want wire.Code, err error) {
	t.Helper()
	require.ErrorIs(t, err, ErrNotRun)
	require.Equal(t, want, wire.CodeOf(err), "%v", err)
}

// Do runs on the room's goroutine. A room that is stuck, drained, ended or failed refuses within 5 s.
func TestDo(t *testing.T) {
	inBubble(t, asIs, func(h *testRooms) {
		h.mustVisit("match/1")
		room := h.existingRoom("match/1")
		spawned, refused := world.Entity(0), errors.New("refused")
		require.Equal(t, refused, room.Do(h.t.Context(), func(w *world.World) (err error) {
			spawned = must.Get(w.Spawn(0, world.Vec3{}, world.Vec3{}))
			return refused
		}))
		require.NoError(t, room.Do(h.t.Context(), func(w *world.World) error {
			must.Have(w.KindOf(spawned))
			return nil
		}))

		resume := make(chan struct{})
		h.in("match/1", func(*world.World) { <-resume })
		time.Sleep(time.Second)
		began := time.Now()
		requireNotRun(t, wire.Timeout, room.Do(h.t.Context(), never))
		require.Equal(t, callTimeout, time.Since(began))
		ctx, cancel := context.WithTimeout(h.t.Context(), time.Second)
		defer cancel()
		err := room.Do(ctx, never)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.ErrorIs(t, err, ErrNotRun)
		h.in("match/1", nil)
		close(resume)
		time.Sleep(time.Second) // never does not run later

		hang := make(chan struct{})
		err = room.Do(h.t.Context(), func(*world.World) error {
			<-hang
			return nil
		})
		require.ErrorIs(t, err, ErrOutcomeUnknown)
		close(hang)

		require.NoError(t, h.drainRoom("match/1", 10*time.Second))
		require.NoError(t, room.Do(h.t.Context(), func(*world.World) error { return nil }), "its players play on")
		time.Sleep(12 * time.Second)
		requireNotRun(t, wire.NoRoom, room.Do(h.t.Context(), never))

		h.mustVisit("match/2")
		room = h.existingRoom("match/2")
		h.in("match/2", func(*world.World) { panic("a fault") })
		time.Sleep(time.Second)
		requireNotRun(t, wire.NoRoom, room.Do(h.t.Context(), never))
		requireNotRun(t, wire.NoRoom, (*Room)(nil).Do(h.t.Context(), never))
	})
}

// A call that waits while its room is closed does not run.
func TestDoInARoomThatCloses(t *testing.T) {
	inBubble(t, asIs, func(h *testRooms) {
		must.Get(h.joinRoom(h.t.Context(), "match/1", "", Admission{})) // a session would get a last tick
		room, resume := h.existingRoom("match/1"), make(chan struct{})
		h.in("match/1", func(*world.World) { <-resume })
		time.Sleep(time.Second)
		ended := make(chan error)
		go func() { ended <- room.Do(h.t.Context(), never) }()
		time.Sleep(time.Second)
		require.NoError(t, h.drainRoom("match/1", 0))
		h.in("match/1", nil)
		close(resume)
		requireNotRun(t, wire.RoomClosed, <-ended)
	})
}

// The effects of a Do that has returned survive a crash (J1), also in a room that no session has entered.
func TestDoIsDurable(t *testing.T) {
	dir := t.TempDir()
	images := func(c *RoomsConfig) {
		c.Images = RoomImages{Dir: dir, Every: time.Hour, Journal: imagefile.JournalAlways}
	}
	inBubble(t, images, func(h *testRooms) {
		must.Get(h.joinRoom(h.t.Context(), "match/1", "", Admission{})) // its client never comes
		room := h.existingRoom("match/1")
		for range 3 {
			require.NoError(t, room.Do(h.t.Context(), func(w *world.World) error {
				_, err := w.Spawn(0, world.Vec3{Y: 1}, world.Vec3{})
				return err
			}))
		}
		crashed := t.TempDir()
		require.NoError(t, os.Mkdir(filepath.Join(crashed, "match"), 0o700))
		for path, data := range filesIn(t, filepath.Join(dir, "match")) {
			require.NoError(t, os.WriteFile(filepath.Join(crashed, "match", filepath.Base(path)), []byte(data), 0o600))
		}
		next := newTestRooms(t, func(c *RoomsConfig) {
			images(c)
			c.Images.Dir = crashed
		})
		defer func() { require.NoError(t, next.endRooms()) }()
		must.Get(next.joinRoom(h.t.Context(), "match/1", "", Admission{}))
		require.NoError(t, next.existingRoom("match/1").Do(h.t.Context(), func(w *world.World) error {
			require.Equal(t, 3, w.Stats().Entities)
			return nil
		}))
	})
}

// A call whose tick the journal could not keep has an unknown outcome.
func TestDoOnABrokenDisk(t *testing.T) {
	r := openJournaled(t, t.TempDir(), imagefile.JournalAlways)
	r.ticks(5)
	r.loop.journal.fail(imagefile.ErrJournalBroken)
	r.loop.saver.take = func(*world.Image) error { return errors.New("a fault") }
	require.NoError(t, r.loop.journal.end())
	k := r.core.Post(t.Context(), func(*world.World) error { return nil })
	r.ticks(5)
	require.Error(t, r.endAndSave())
	require.ErrorIs(t, must.Fail(k.Await()), ErrOutcomeUnknown)
}

// A signal names an existing room, or means the default one.
func TestSignalsOfRooms(t *testing.T) {
	inBubble(t, func(c *RoomsConfig) {
		game := c.Kinds["match"].New
		c.Kinds["match"] = RoomKind{New: func(q RoomRequest) (*RoomGame, error) {
			g, err := game(q)
			if g != nil {
				g.Hooks.Signals = []Signal{OnSignal("name", func(*world.World, struct{}) (string, error) { return q.Name, nil })}
			}
			return g, err
		}}
	}, func(h *testRooms) {
		s := &Server{rooms: h.rooms}
		h.mustVisit("match/1")
		answer, err := s.Signal(h.t.Context(), "match/1", "name", nil)
		require.NoError(t, err)
		require.JSONEq(t, `"match/1"`, string(answer))
		for room, code := range map[string]wire.Code{"match/2": wire.NoRoom, "": wire.UnknownCommand} {
			_, err = s.Signal(h.t.Context(), room, "name", nil)
			requireNotRun(t, code, err)
		}
		require.Equal(t, []string{"lobby", "match/1"}, h.names(), "a signal makes no room")
	})
}
