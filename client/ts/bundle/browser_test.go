//go:build unix

package main

import (
	"encoding/json"
	"flag"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"testing/fstest"

	"github.com/evanw/esbuild/pkg/api"
	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/browsertest"
)

// repository is the directory of the files that the tests read.
const repository = "../../.."

// TestMain allows more parallel tests than there are processors: they wait for browsers.
func TestMain(m *testing.M) {
	flag.Parse()
	if err := flag.Set("test.parallel", "8"); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

// testPage bundles a page of test/browser, with test.ts in place of Node's modules.
func testPage(t *testing.T, name string) []byte {
	root, err := filepath.Abs("..")
	require.NoError(t, err)
	shim := filepath.Join(root, "test/browser/test.ts")
	result := api.Build(api.BuildOptions{
		AbsWorkingDir: root, EntryPoints: []string{"test/browser/" + name + ".ts"}, Bundle: true, Format: api.FormatESModule, Target: api.ES2022,
		Alias:    map[string]string{"node:test": shim, "node:assert/strict": shim, "node:fs": shim, "node:path": shim},
		LogLevel: api.LogLevelWarning,
	})
	require.Empty(t, result.Errors)
	return result.OutputFiles[0].Contents
}

// page returns a document that runs a script.
func page(script string) []byte {
	return []byte(`<!doctype html><meta charset="utf-8"><script src="/browsertest.js"></script><script type="module" src="/` + script + `"></script>`)
}

// TestVectors runs the tests in browsers, with the conformance vectors.
func TestVectors(t *testing.T) {
	files := fstest.MapFS{
		"index.html": {Data: page("page.js")},
		"page.js":    {Data: testPage(t, "page")},
	}
	var paths []string
	add := func(path string) {
		text, err := os.ReadFile(filepath.Join(repository, path))
		require.NoError(t, err)
		files[path] = &fstest.MapFile{Data: text}
		paths = append(paths, path)
	}
	for _, path := range []string{
		"internal/rowcodec/default.tables", "field/testdata/vectors.jsonl", "field/testdata/rejected.jsonl",
		"world/motion/testdata/motion.jsonl", "world/motion/testdata/programs.jsonl", "client/testdata/bodies.jsonl",
	} {
		add(path)
	}
	const vectors = "replication/wire/testdata/vectors"
	entries, err := os.ReadDir(filepath.Join(repository, vectors))
	require.NoError(t, err)
	for _, e := range entries {
		add(vectors + "/" + e.Name())
	}
	list, err := json.Marshal(paths)
	require.NoError(t, err)
	files["files.json"] = &fstest.MapFile{Data: list}
	browsertest.Each(t, func(t *testing.T, b browsertest.Browser) {
		site := browsertest.NewSite(t, http.FileServerFS(fs.FS(files)))
		var result struct {
			Tests, Failed []string
		}
		require.NoError(t, json.Unmarshal(b.Open(t, site, "/index.html").Next(), &result))
		require.Empty(t, result.Failed)
		for _, e := range entries {
			if filepath.Ext(e.Name()) == ".jsonl" && e.Name() != "clean.jsonl" && e.Name() != "plain.jsonl" { // for mutants.test.ts; for clients that ask for plain rows
				require.Contains(t, result.Tests, e.Name())
			}
		}
	})
}
