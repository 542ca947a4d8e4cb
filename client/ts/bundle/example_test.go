//go:build unix

package main

import (
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/evanw/esbuild/pkg/api"
	"github.com/stretchr/testify/require"
)

// examplePage returns the site of a page of client/ts/examples, /game.html, with a script that watches it. define replaces expressions.
func examplePage(t *testing.T, name, entry, script string, define map[string]string) fstest.MapFS {
	folder, err := filepath.Abs(filepath.Join("../examples", name))
	require.NoError(t, err)
	built := api.Build(api.BuildOptions{
		AbsWorkingDir: folder, EntryPoints: []string{entry}, Bundle: true, Format: api.FormatESModule, Target: api.ES2022, LogLevel: api.LogLevelWarning, Define: define,
	})
	require.Empty(t, built.Errors, "client/ts/test.sh fetches what examples need from npm: run it first")
	document, err := os.ReadFile(filepath.Join(folder, "index.html"))
	require.NoError(t, err)
	return fstest.MapFS{
		"game.html": {Data: []byte(strings.Replace(string(document), "<title>", script+"<title>", 1))},
		"main.js":   {Data: built.OutputFiles[0].Contents},
	}
}

// link returns the query by which the pages of examples find the server.
func (o liveOptions) link(t *testing.T) url.Values {
	server, err := url.Parse(o.URL)
	require.NoError(t, err)
	return url.Values{"server": {server.Host}, "hash": o.Hashes}
}
