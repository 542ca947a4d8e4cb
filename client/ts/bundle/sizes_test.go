package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/evanw/esbuild/pkg/api"
	"github.com/stretchr/testify/require"
)

// bundled describes the bundle of a game that imports names of the package.
type bundled struct {
	size, gzipped int // of the file that the page loads first
	sources       map[string]int
}

// bundleOf bundles a module that uses names of the package.
func bundleOf(t *testing.T, names string) bundled {
	root, err := filepath.Abs("..")
	require.NoError(t, err)
	modules := "import { " + strings.TrimSuffix(names, ", devtools") + " } from './src/index.ts'; import { devtools } from './src/devtools.ts'"
	result := api.Build(api.BuildOptions{
		Stdin:         &api.StdinOptions{Contents: modules + "; globalThis.game = [" + names + "]", ResolveDir: root, Sourcefile: "game.ts"},
		AbsWorkingDir: root, Outdir: "build", Bundle: true, Splitting: true, Metafile: true, Format: api.FormatESModule, Target: api.ES2022, Charset: api.CharsetUTF8,
		MinifySyntax: true, MinifyWhitespace: true, MinifyIdentifiers: true, LogLevel: api.LogLevelWarning,
	})
	require.Empty(t, result.Errors)
	for _, f := range result.OutputFiles {
		if filepath.Base(f.Path) != "stdin.js" {
			continue
		}
		parts, err := partsOf(result.Metafile)
		require.NoError(t, err)
		return bundled{len(f.Contents), gzipped(f.Contents), parts["build/stdin.js"]}
	}
	t.Fatal("no file of the entry point")
	return bundled{}
}

// TestSizes checks that a game bundles only what it imports, and bounds its size.
func TestSizes(t *testing.T) {
	for _, c := range []struct {
		names            string
		maxSize, maxGzip int
		without          []string // sources that cost less than 300 bytes
	}{
		{"Client", 110_620, 40_440, []string{"src/tables.data.ts", "src/field/", "src/motion/", "src/predict", "src/typed.ts", "src/devtools.ts"}},
		{"Client, devtools", 118_440, 43_820, []string{"src/tables.data.ts", "src/field/", "src/motion/", "src/predict", "src/typed.ts"}},
		{"Client, predict", 123_140, 44_840, []string{"src/tables.data.ts", "src/field/", "src/motion/"}},
		{"Client, simulation", 153_100, 55_980, []string{"src/tables.data.ts", "src/predict"}},
		{"Client, simulation, predict", 165_650, 60_390, []string{"src/tables.data.ts"}},
	} {
		b := bundleOf(t, c.names)
		t.Logf("%-28s %7d B %7d B gzipped", c.names, b.size, b.gzipped)
		require.Less(t, b.size, c.maxSize, c.names)
		require.Less(t, b.gzipped, c.maxGzip, c.names)
		for _, part := range c.without {
			bytes := 0
			for source, n := range b.sources {
				if strings.HasPrefix(source, part) {
					bytes += n
				}
			}
			require.Less(t, bytes, 300, "%s with %s", c.names, part)
		}
	}
}
