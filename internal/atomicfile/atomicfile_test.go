package atomicfile_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/atomicfile"
	"github.com/worldd/worldd/internal/must"
)

func names(t *testing.T, dir string) (all []string) {
	t.Helper()
	entries := must.Get(os.ReadDir(dir))
	for _, e := range entries {
		all = append(all, e.Name())
	}
	return all
}

func requireContent(t *testing.T, path, want string) {
	t.Helper()
	require.Equal(t, want, string(must.Get(os.ReadFile(path))))
}

func TestWriteReplaces(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "x")
	for _, text := range []string{"one", "two"} {
		require.NoError(t, atomicfile.Write(path, []byte(text), 0o600))
		requireContent(t, path, text)
		require.Equal(t, []string{"x"}, names(t, dir))
	}
}

// The path keeps the old content until Replace.
func TestPendingIsSeenWhenReplaced(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "x")
	require.NoError(t, os.WriteFile(path, []byte("old"), 0o600))
	p := must.Get(atomicfile.Create(path, 0o600))
	must.Get(p.Write([]byte("new")))
	require.NoError(t, p.Seal())
	requireContent(t, path, "old")
	requireContent(t, p.Name(), "new")
	require.NoError(t, atomicfile.Replace(p.Name(), path))
	p.Discard()
	requireContent(t, path, "new")
	require.Equal(t, []string{"x"}, names(t, dir))
}

func TestDiscard(t *testing.T) {
	dir := t.TempDir()
	for _, sealed := range []bool{false, true} {
		p := must.Get(atomicfile.Create(filepath.Join(dir, "x"), 0o600))
		if sealed {
			require.NoError(t, p.Seal())
		}
		p.Discard()
		require.Empty(t, names(t, dir))
	}
}

// Leftovers never returns another path's temporary files, with any names.
func TestLeftoversAreOfOnePath(t *testing.T) {
	dir := t.TempDir()
	paths := []string{"w", "w1", "w.worldd-0123456789abcdef.tmp", "other.w"}
	for _, path := range paths {
		p := must.Get(atomicfile.Create(filepath.Join(dir, path), 0o600))
		defer p.Discard()
		found := must.Get(atomicfile.Leftovers(filepath.Join(dir, path)))
		require.Equal(t, []string{p.Name()}, found, path)
	}
	for _, foreign := range []string{".w987", "w987", "w.tmp", "w.worldd-1.tmp", "w.worldd-0123456789abcdeg.tmp", "w.worldd-0123456789abcdef.tmp.gz"} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, foreign), nil, 0o600))
	}
	require.NoError(t, os.Mkdir(filepath.Join(dir, "w.worldd-0000000000000000.tmp"), 0o700))
	require.Len(t, must.Get(atomicfile.Leftovers(filepath.Join(dir, "w"))), 1)
}

func TestWriteFollowsLinks(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(dir, "real"), 0o700))
	require.NoError(t, os.Symlink("real", filepath.Join(dir, "way")))
	require.NoError(t, os.Symlink(filepath.Join("way", "second"), filepath.Join(dir, "first")))
	require.NoError(t, os.Symlink("file", filepath.Join(dir, "real", "second")))
	for _, text := range []string{"made", "replaced"} {
		require.NoError(t, atomicfile.Write(filepath.Join(dir, "first"), []byte(text), 0o600))
		requireContent(t, filepath.Join(dir, "real", "file"), text)
		require.Equal(t, []string{"file", "second"}, names(t, filepath.Join(dir, "real")))
	}
	for _, name := range []string{"first", "way/second", "real/second", "real/file", "way/file"} {
		path := must.Get(atomicfile.Resolve(filepath.Join(dir, name)))
		require.Equal(t, "file", filepath.Base(path))
		require.Equal(t, "real", filepath.Base(filepath.Dir(path)))
	}
	require.NoError(t, os.Symlink("loop", filepath.Join(dir, "loop")))
	require.ErrorContains(t, must.Fail(atomicfile.Resolve(filepath.Join(dir, "loop"))), "too many links")
	require.ErrorIs(t, must.Fail(atomicfile.Resolve(filepath.Join(dir, "nowhere", "x"))), os.ErrNotExist)
}

func TestWriteThatFailsLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "x", "full"), 0o700))
	require.Error(t, atomicfile.Write(filepath.Join(dir, "x"), nil, 0o600), "path is a directory")
	require.Equal(t, []string{"x"}, names(t, dir))
}
