package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/field"
	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/internal/racetest"
)

const (
	untidy = "effect  breeze # a light one\n\n\n\neverywhere\noutput+=(1,0,0)\n"
	tidy   = "effect breeze # a light one\n\neverywhere\noutput += (1, 0, 0)\n"
)

func TestEffectFmt(t *testing.T) {
	path := effectFile(t, "breeze.field", untidy)
	status, out, err := worldd(t, "effect", "fmt", path)
	require.Equal(t, exitOK, status)
	require.Equal(t, tidy, out)
	require.Empty(t, err)
	require.Equal(t, untidy, contents(t, path), "nothing is written without -w")

	require.NoError(t, os.Chmod(path, 0o640))
	link := filepath.Join(t.TempDir(), "link.field")
	require.NoError(t, os.Symlink(path, link))
	status, out, err = worldd(t, "effect", "fmt", "-w", link)
	require.Equal(t, exitOK, status)
	require.Equal(t, link+"\n", out)
	require.Empty(t, err)
	require.Equal(t, tidy, contents(t, path))
	require.Equal(t, os.FileMode(0o640), must.Get(os.Lstat(path)).Mode())
	entries, _ := os.ReadDir(filepath.Dir(path))
	require.Len(t, entries, 1, "nothing is left beside it")

	status, out, _ = worldd(t, "effect", "fmt", "-w", path)
	require.Equal(t, exitOK, status)
	require.Empty(t, out, "it is laid out already")
}

// TestEffectFmtKeepsWrongFiles: files with mistakes are not written.
func TestEffectFmtKeepsWrongFiles(t *testing.T) {
	wrong, right := effectFile(t, "wrong.field", "output+=(1,0\n"), effectFile(t, "right.field", untidy)
	status, out, err := worldd(t, "effect", "fmt", "-w", wrong, right)
	require.Equal(t, exitError, status)
	require.True(t, strings.HasPrefix(err, wrong+":1:13: "), "%s", err)
	require.Equal(t, "output+=(1,0\n", contents(t, wrong))
	require.Equal(t, right+"\n", out, "the others are laid out")
	require.Equal(t, tidy, contents(t, right))
}

func TestEffectExplain(t *testing.T) {
	status, out, err := worldd(t, "effect", "explain", effectFile(t, "breeze.field", tidy))
	require.Equal(t, exitOK, status)
	require.Empty(t, err)
	require.Equal(t, must.Get(field.Explain(tidy)), out)

	wrong := effectFile(t, "wrong.field", wrongEffect)
	status, out, err = worldd(t, "effect", "explain", wrong)
	require.Equal(t, exitError, status)
	require.Empty(t, out)
	require.True(t, strings.HasPrefix(err, wrong+":2:8: "), "%s", err)
}

// TestShippedEffects: every command accepts names of shipped effects.
func TestShippedEffects(t *testing.T) {
	racetest.SkipUnchecked(t)
	for _, name := range field.ShippedNames() {
		status, out, err := worldd(t, "effect", "check", name)
		require.Equal(t, exitOK, status, "%s", err)
		require.True(t, strings.HasPrefix(out, name+": ok: effect "+name+", "), "%s", out)
		text, _ := field.Shipped(name)
		_, out, _ = worldd(t, "effect", "fmt", name)
		require.Equal(t, text, out, "what comes with worldd is laid out")
	}
	status, _, err := worldd(t, "effect", "check", "whrl")
	require.Equal(t, exitError, status)
	require.Contains(t, err, "(the shipped effects are explosion, gust, ")
}

func contents(t *testing.T, path string) string {
	t.Helper()
	return string(must.Get(os.ReadFile(path)))
}
