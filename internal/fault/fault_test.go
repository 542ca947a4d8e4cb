package fault

import (
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/must"
)

// Every fault still applies to the sources, changes them, and the result is valid Go.
func TestFaultsApply(t *testing.T) {
	faults := must.Get(All())
	require.GreaterOrEqual(t, len(faults), 49)
	seen := map[string]bool{}
	for _, f := range faults {
		require.False(t, seen[f.Name], "%s is there twice", f.Name)
		seen[f.Name] = true
		require.NotEmpty(t, f.hunks, f.Name)
		for _, h := range f.hunks {
			require.NotEqual(t, h.before, h.after, f.Name)
			require.Contains(t, lines(h.after), "fault."+f.Name, "the fault is conditional on its variable")
		}
	}
	sources := must.Get(Apply("../.."))
	for file, text := range sources {
		must.Get(parser.ParseFile(token.NewFileSet(), file, text, parser.SkipObjectResolution))
	}
	must.Get(parser.ParseFile(token.NewFileSet(), "injected.go", injected(faults), parser.SkipObjectResolution))
}

func TestMistakesAreNamed(t *testing.T) {
	for text, want := range map[string]string{
		"fault Nameless":                        "faults.diff:1: want fault Name: what it breaks",
		" a line":                               "faults.diff:1: \" a line\" before the first fault",
		"fault A: b\n+line":                     "faults.diff:2: \"+line\" before a file",
		"fault A: b\n--- client/cells.go\nline": "faults.diff:3: \"line\" begins with none of space, - and +",
	} {
		require.EqualError(t, must.Fail(parse(text)), want)
	}
	h := hunk{file: "a.go", before: []string{"x"}, after: []string{"y"}}
	require.ErrorContains(t, must.Fail(h.apply("package a\nx\nz\nx\n")), "a.go has 2 places")
	require.ErrorContains(t, must.Fail(h.apply("package a\nxx\n")), "a.go has 0 places", "whole lines only")
}

func TestOverlay(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, Overlay("../..", dir))
	for _, file := range []string{"overlay.json", "client/cells.go", "internal/fault/injected.go"} {
		require.NotEmpty(t, must.Get(os.ReadFile(filepath.Join(dir, file))))
	}
	require.Error(t, Overlay(dir, t.TempDir()), "no sources there")
}
