package imagefile

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/world"
)

func TestRemove(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a.image")
	w, img := newWorld(t), &world.Image{}
	s := must.Get(Open(path, 3))
	saveTicks(t, s, w, img, 4)
	for _, name := range []string{"a.image.damaged", "a.image.old-1.damaged", "a.image.old", "a.image2", "a.image.old-1.image", "b.image", "b.image.old-1"} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte("x"), 0o600))
	}
	require.ErrorIs(t, must.Fail(Open(path, 3)), ErrInUse)
	require.NoError(t, s.Remove())
	require.NoError(t, s.Close())
	require.Equal(t, []string{"a.image.old", "a.image.old-1.image", "a.image2", "b.image", "b.image.old-1"}, files(t, dir), "files of others")
}

func TestBaseName(t *testing.T) {
	for name, want := range map[string]string{
		"a": "a", "a.lock": "a", "a.damaged": "a", "a.old-3": "a", "a.old-12.damaged": "a", "a.run": "a", "a.old-1.skipped": "a", "a.worldd-0123456789abcdef.tmp": "a",
		"a.old-0": "a.old-0", "a.old-1.image": "a.old-1.image", "a.tmp": "a.tmp",
	} {
		require.Equal(t, want, BaseName(name), name)
	}
}

// Whenever a crash interrupts the removal of a world that has ended, no start finds a part of it (G14).
func TestEndedWorldStaysEnded(t *testing.T) {
	for removed := range 5 {
		dir := t.TempDir()
		path := filepath.Join(dir, "a.image")
		w, img := newWorld(t), &world.Image{}
		s := must.Get(Open(path, 3))
		saveTicks(t, s, w, img, 3)
		require.NoError(t, s.MarkEnded())
		require.NoError(t, s.unlock()) // the process dies
		require.Equal(t, []string{"a.image", "a.image.ended", "a.image.lock", "a.image.old-1", "a.image.old-2", "a.image.run"}, files(t, dir))
		for _, name := range []string{"a.image.old-1", "a.image.old-2", "a.image.run", "a.image"}[:removed] {
			require.NoError(t, os.Remove(filepath.Join(dir, name)))
		}
		s = must.Get(Open(path, 3))
		require.Nil(t, must.Get(s.Load(newWorld(t))).Image)
		require.Zero(t, s.NewestGeneration())
		require.NoError(t, s.Close())
		require.Empty(t, files(t, dir))
	}
}
