package world_test

import (
	"bytes"
	"io"
	"math"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/world"
)

// ghostWorld is the world of testdata/version5.recording: ghosts with purses, without bodies.
func ghostWorld(t *testing.T) (*world.World, *world.Component[int64]) {
	w := must.Get(world.New(world.Config{Seed: 5, MaxEntities: 200}))
	addKind(t, w, world.Kind{Name: "ghost"})
	return w, must.Get(world.Register[int64](w, "purse"))
}

// playGhosts makes ten steps, with changes before them.
func playGhosts(t *testing.T, w *world.World, purse *world.Component[int64]) {
	for w.Tick() < 10 {
		e := must.Get(w.SpawnFor(0, world.Vec3{X: 1}, world.Vec3{}, 4))
		require.True(t, purse.Set(e, int64(w.Rand().Uint32())))
		if w.Tick() == 7 {
			require.True(t, w.DestroyBecause(e, 3))
		}
		w.Step()
	}
}

// Recordings of version 5 replay. They do not say which ticks were late.
func TestRecordingOfVersion5(t *testing.T) {
	w, _ := ghostWorld(t)
	replay := must.Get(w.Replay(bytes.NewReader(must.Get(os.ReadFile("testdata/version5.recording")))))
	require.ErrorIs(t, replayToEnd(replay), io.EOF)
	require.EqualValues(t, 5, replay.Checked())
	_, known := replay.Late()
	require.False(t, known)
	again, purse := ghostWorld(t)
	playGhosts(t, again, purse)
	require.Equal(t, again.StateHash(), w.StateHash())
}

// A recording says how late each step began, in milliseconds, rounded up. The states are the same.
func TestRecordingOfLateSteps(t *testing.T) {
	noted := map[uint64]time.Duration{1: time.Nanosecond, 4: 20 * time.Millisecond, 5: 1<<63 - 1}
	want := map[uint64]time.Duration{1: time.Millisecond, 4: 20 * time.Millisecond, 5: math.MaxUint32 * time.Millisecond}
	w, _ := ghostWorld(t)
	var img world.Image
	w.TakeImage(&img)
	var file bytes.Buffer
	w.NoteLate(time.Second) // nothing records it
	rec := must.Get(w.Record(&file, &img, 1))
	for w.Tick() < 6 {
		if by := noted[w.Tick()+1]; by > 0 {
			w.NoteLate(by)
		}
		w.Step()
	}
	w.NoteLate(time.Second) // its step does not come
	require.NoError(t, rec.Close())
	w.NoteLate(time.Second)
	again, _ := ghostWorld(t)
	replay := must.Get(again.Replay(&file))
	got := map[uint64]time.Duration{}
	err := replay.Next()
	for ; err == nil; err = replay.Next() {
		by, known := replay.Late()
		require.True(t, known)
		if by > 0 {
			got[again.Tick()] = by
		}
	}
	require.ErrorIs(t, err, io.EOF)
	require.Equal(t, want, got)
	require.Equal(t, w.StateHash(), again.StateHash())
}
