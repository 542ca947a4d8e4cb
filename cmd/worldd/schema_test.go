package main

import (
	"context"
	"encoding/json"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/internal/programtest"
	"github.com/worldd/worldd/internal/racetest"
	"github.com/worldd/worldd/replication/schema"
)

// worldd schema prints the schema that a server of the same world sends.
func TestSchemaCommand(t *testing.T) {
	racetest.SkipUnchecked(t)
	status, text, errs := worldd(t, "schema", "storm")
	require.Equal(t, exitOK, status, errs)
	s := must.Get(schema.Parse(text))
	require.Equal(t, 3, len(s.Kinds()))
	require.Equal(t, "crate", s.Kinds()[0].Name)
	must.Have(s.Motion())
	must.Have(s.CommandByName("poke"))

	status, byDefault, _ := worldd(t, "schema")
	require.Equal(t, exitOK, status)
	require.Equal(t, text, byDefault)

	status, out, errs := worldd(t, "schema", "--lang=json", "storm")
	require.Equal(t, exitOK, status, errs)
	require.JSONEq(t, string(must.Get(json.Marshal(s))), out)

	status, module, errs := worldd(t, "schema", "--lang=ts", "storm")
	require.Equal(t, exitOK, status, errs)
	const example = "client/ts/examples/canvas/schema.ts"
	written := must.Get(os.ReadFile("../../" + example))
	require.Equal(t, string(written), module, "write %s with worldd schema --lang ts storm", example)

	server := startServing(t)
	status, served, errs := worldd(t, "schema", server.addr, "--fingerprint="+server.fingerprint)
	require.Equal(t, exitOK, status, errs)
	require.Equal(t, text, served)
	server.end(syscall.SIGTERM)
}

// worldd watch shows entities by the names of the server's schema, until it is interrupted.
func TestWatch(t *testing.T) {
	server := startServing(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var errs programtest.Screen
	out := programtest.Screen{Words: "\navatar  ", Seen: cancel}
	status := run(ctx, []string{"watch", server.addr, "--fingerprint=" + server.fingerprint, "--rows=2"}, streams{strings.NewReader(""), &out, &errs})
	require.Equal(t, exitOK, status, "%s", errs.String())
	require.Regexp(t, `joined  schema [0-9a-f]{16}  session \d+  tick \d+ at 60 Hz  \d+ in view\n`, out.String())
	require.Regexp(t, `\navatar  1\n \*\d+v1  body\{Position\[0\]=\S+ .*\} identity\{Value=\d+ Mark=\d+\} name\{Text="worldd watch"\}\n`, out.String())
	require.NotContains(t, out.String(), "\x1b", "no terminal")
	server.end(syscall.SIGTERM)
}

// Mistakes that need no server.
func TestConnectFlags(t *testing.T) {
	for args, want := range map[string]string{
		"watch":                                  "expected",
		"watch nowhere":                          "want host:port",
		"watch 127.0.0.1:1 --rows=0":             "--rows is 0",
		"watch 127.0.0.1:1 --token-file=missing": "cannot read the token",
		"watch 127.0.0.1:1 --fingerprint=xyz":    "64 hex digits",
		"schema 127.0.0.1:1 --tables=missing":    "cannot read the tables",
		"schema storm --lang=latin":              `--lang must be one of "text","json","ts","c","cs","gd" but got "latin"`,
		"schema nowhere":                         "the embedded worlds are",
	} {
		status, out, errs := worldd(t, strings.Fields(args)...)
		require.Equal(t, exitUsage, status, args)
		require.Empty(t, out, args)
		require.Contains(t, errs, want, args)
	}
}
