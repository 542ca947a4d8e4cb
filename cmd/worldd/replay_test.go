package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/internal/scenes"
	"github.com/worldd/worldd/world"
)

// recording is a recording of a scene's first second and a half, whose tick 41 began late.
func recording(t *testing.T, name string, system func(*world.World)) []byte {
	t.Helper()
	file := must.Get(scenes.Named(name))
	scene := must.Get(scenes.Build(file))
	if system != nil {
		require.NoError(t, scene.World.AddSystem(world.After, "mod", system))
	}
	var b bytes.Buffer
	var before world.Image
	scene.World.TakeImage(&before)
	before.Extra = scene.Extra(nil)
	rec := must.Get(scene.World.Record(&b, &before, 1))
	for range 90 {
		if scene.World.Tick() == 30 {
			must.Get(scene.Join())
		}
		if scene.World.Tick() == 40 {
			scene.World.NoteLate(250 * time.Millisecond)
		}
		scene.World.Step()
	}
	require.NoError(t, rec.Close())
	return b.Bytes()
}

func TestReplayCommand(t *testing.T) {
	good := recording(t, "calm", nil)
	other := recording(t, "calm", func(w *world.World) {
		if w.Tick() == 70 {
			w.Impulse(w.Slots().Handle(3), world.Vec3{Y: 1})
		}
	})
	flipped := bytes.Clone(good)
	flipped[len(flipped)-100] ^= 4
	for _, c := range []struct {
		name   string
		file   []byte
		world  string
		status int
		out    string
		err    string
	}{
		{"good", good, "calm", exitOK, "ticks 0 to 90 replayed, 90 compared", ""},
		{"late ticks", good, "calm", exitOK, "late ticks: 1, worst 250ms at tick 41", ""},
		{"says what it repeats", good, "calm", exitOK, "commands and hooks were not called again", ""},
		{"other code", other, "calm", exitError, "ticks 0 to 70", "first after tick 70: in bodies"},
		{"cut", good[:len(good)-50], "calm", exitOK, "its server died", ""},
		{"damaged", flipped, "calm", exitError, "", "recording damaged"},
		{"other world", good, "storm", exitError, "differs from the recorded world: settings: Seed was 7", `since the rules differ, first after tick 2: in bodies; it was recorded by "", and this is "worldd v0.1.0+source"; if it is not a recording of the world "storm", set --world to the served file`},
		{"no recording", []byte("hello, world"), "calm", exitError, "", "not a recording"},
		{"no such world", good, "none", exitUsage, "", "embedded worlds"},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "a.recording")
			require.NoError(t, os.WriteFile(path, c.file, 0o600))
			status, out, err := worldd(t, "replay", "--world", c.world, path)
			require.Equal(t, c.status, status, err)
			require.Contains(t, out, c.out)
			require.Contains(t, err, c.err)
		})
	}
	status, _, err := worldd(t, "replay", filepath.Join(t.TempDir(), "none"))
	require.Equal(t, exitUsage, status)
	require.Contains(t, err, "cannot read")
}
