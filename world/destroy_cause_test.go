package world_test

import (
	"bytes"
	"encoding/base64"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/world"
)

// destroyed returns the entities that the last step destroyed.
func destroyed(w *world.World) (all []world.Entity) {
	for e := range w.Destroyed() {
		all = append(all, e)
	}
	return all
}

// causes returns the entities that the last step destroyed, with their causes.
func causes(w *world.World) map[bulk.Handle]uint8 {
	all := map[bulk.Handle]uint8{}
	for e, cause := range w.Destroyed() {
		all[e] = cause
	}
	return all
}

func TestDestroyBecause(t *testing.T) {
	w := must.Get(world.New(world.Config{Seed: 1}))
	kind := addKind(t, w, world.Kind{Name: "thing"})
	spawn := func(life uint32) bulk.Handle {
		return must.Get(w.SpawnFor(kind, world.Vec3{}, world.Vec3{}, life))
	}
	plain, burnt, twice, expired, inSystem := spawn(0), spawn(0), spawn(0), spawn(1), spawn(0)
	require.NoError(t, w.AddSystem(world.After, "burn", func(w *world.World) { w.DestroyBecause(inSystem, 5) }))
	require.True(t, w.Destroy(plain))
	require.True(t, w.DestroyBecause(burnt, 7))
	require.True(t, w.DestroyBecause(twice, 255))
	require.False(t, w.DestroyBecause(twice, 3), "the first counts")
	require.Empty(t, causes(w))
	w.Step()
	require.Equal(t, map[bulk.Handle]uint8{plain: 0, burnt: 7, twice: 255, expired: 0, inSystem: 5}, causes(w))
	again := spawn(0)
	require.Equal(t, plain.Index(), again.Index())
	require.False(t, w.DestroyBecause(burnt, 1), "dead")
	last := spawn(0)
	require.Equal(t, burnt.Index(), last.Index())
	w.Destroy(last)
	w.Step()
	require.Equal(t, map[bulk.Handle]uint8{last: 0}, causes(w), "the slot's former cause is gone")
}

// Causes given before an image is taken are part of the image; later ones are part of the
// recording.
func TestDestroyCauseInImageAndRecording(t *testing.T) {
	newWorld := func() (*world.World, world.KindID) {
		w := must.Get(world.New(world.Config{Seed: 1}))
		return w, addKind(t, w, world.Kind{Name: "thing"})
	}
	w, kind := newWorld()
	var e [4]bulk.Handle
	for i := range e {
		e[i] = must.Get(w.Spawn(kind, world.Vec3{}, world.Vec3{}))
	}
	w.Step()
	before := w.StateHash()
	w.Destroy(e[1])
	doomed := w.StateHash()
	require.NotEqual(t, before, doomed)
	w.DestroyBecause(e[2], 9)
	require.NotEqual(t, doomed, w.StateHash())
	var img world.Image
	w.TakeImage(&img)
	var file bytes.Buffer
	recorder := must.Get(w.Record(&file, &img, 1))
	w.DestroyBecause(e[3], 200)
	w.Step()
	require.NoError(t, recorder.Close())
	want := map[bulk.Handle]uint8{e[1]: 0, e[2]: 9, e[3]: 200}
	require.Equal(t, want, causes(w))

	other, _ := newWorld()
	require.NoError(t, must.Get(other.Replay(&file)).Next())
	require.Equal(t, want, causes(other))
	require.Equal(t, w.StateHash(), other.StateHash())
}

// image1 is the world of TestImageOfVersion1 as version 1 of the format saved it.
const image1 = "d2ltZwEAAAArAQAAhQAAACi1L/1AACsA1QMAUkURHpAJEAAP4BAUiQMlrGQj5GQAASpJIgKg5OKoLP3zHVvHfLX6vtqUGBCHZAtN4nFB01goIgd8B4olcAaXCjpiMvoh3DdcFgDQZQoEwFwdMgaoAOyAHDU9qAzwkhVknooYyGwlE5S1Zo4O45hAgJoin0KAzHEYHBZcDtMFnoJdKgAAAAAAAAAA9zieyTa36bI="

// A world that was saved by version 1 is restored.
func TestImageOfVersion1(t *testing.T) {
	w := must.Get(world.New(world.Config{Seed: 1}))
	kind := addKind(t, w, world.Kind{Name: "thing"})
	var e [3]bulk.Handle
	for i := range e {
		e[i] = must.Get(w.Spawn(kind, world.Vec3{}, world.Vec3{}))
	}
	w.Step()
	w.Destroy(e[1])
	file := must.Get(base64.StdEncoding.DecodeString(image1))
	want := w.StateHash()
	require.NoError(t, w.Restore(read(t, w, file)))
	require.Equal(t, want, w.StateHash())
	w.Step()
	require.Equal(t, map[bulk.Handle]uint8{e[1]: 0}, causes(w))
}
