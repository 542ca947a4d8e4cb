package regularfile_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/internal/regularfile"
)

func TestReadIsBounded(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x")
	require.NoError(t, os.WriteFile(path, []byte("12345"), 0o600))
	require.Equal(t, "12345", string(must.Get(regularfile.Read(path, 5))))
	_, err := regularfile.Read(path, 4)
	require.ErrorIs(t, err, regularfile.ErrTooLong)
	require.EqualError(t, err, "open "+path+": file too long: more than 4 bytes")
}

func TestOpenFollowsLinks(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "x"), []byte("x"), 0o600))
	require.NoError(t, os.Symlink("x", filepath.Join(dir, "link")))
	require.Equal(t, "x", string(must.Get(regularfile.Read(filepath.Join(dir, "link"), 1))))
}

func TestCreate(t *testing.T) {
	dir := t.TempDir()
	path, link := filepath.Join(dir, "x"), filepath.Join(dir, "link")
	require.NoError(t, os.Symlink("x", link))
	for _, name := range []string{path, link} {
		for _, text := range []string{"first", "2nd"} {
			file := must.Get(regularfile.Create(name))
			must.Get(file.WriteString(text))
			require.NoError(t, file.Close())
			require.Equal(t, text, string(must.Get(os.ReadFile(path))))
		}
	}
	require.ErrorIs(t, must.Fail(regularfile.Create(filepath.Join(dir, "missing", "x"))), fs.ErrNotExist)
}

func TestOpenRefuses(t *testing.T) {
	dir := t.TempDir()
	for path, want := range map[string]error{
		dir:                          regularfile.ErrNotRegular,
		os.DevNull:                   regularfile.ErrNotRegular,
		filepath.Join(dir, "nobody"): fs.ErrNotExist,
	} {
		_, err := regularfile.Open(path)
		require.ErrorIs(t, err, want)
		require.ErrorAs(t, err, new(*fs.PathError))
		require.ErrorContains(t, err, path)
		require.ErrorIs(t, must.Fail(regularfile.Read(path, 1)), want)
	}
	require.EqualError(t, must.Fail(regularfile.Open(dir)), "open "+dir+": not a regular file: it is a directory")
}
