//go:build unix

package main

import (
	"bytes"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/internal/shorttest"
)

// TestMain runs the clients if a test starts its own program as the child process.
func TestMain(m *testing.M) {
	if slices.ContainsFunc(os.Args, func(a string) bool { return strings.HasPrefix(a, "-connect=") }) {
		main()
		return
	}
	os.Exit(m.Run())
}

func TestBareServer(t *testing.T) {
	shorttest.Skip(t, "some seconds")
	l := load{clients: 3, hz: 20, ticks: 60, bytes: 1500, answer: true, pad: "both", seconds: 1}
	began := time.Now()
	r := must.Get(measureBare(t.Context(), l))
	require.Positive(t, r.Snapshots)
	require.LessOrEqual(t, float64(r.Snapshots), 3*20*time.Since(began).Seconds()+3, "at most the configured rate")
	require.Positive(t, r.CPUMicrosPerSnap)
	require.Greater(t, r.PacketsPerSnapshot, 2.0, "two datagrams each, and the inputs")
}

func TestLoadIsChecked(t *testing.T) {
	good := load{clients: 1, hz: 20, ticks: 60, bytes: 1, pad: "none", seconds: 1}
	require.NoError(t, good.validate())
	bad := load{clients: 0, hz: 70, ticks: 60, bytes: 0, pad: "some", seconds: 0}
	for _, flag := range []string{"-clients", "-ticks", "-bytes", "-pad", "-seconds"} {
		require.ErrorContains(t, bad.validate(), flag)
	}
}

func TestSnapshotSizes(t *testing.T) {
	for bytes, want := range map[int][]int{1: {1}, 1200: {1200}, 1201: {1200, 1}, 2500: {1200, 1200, 100}} {
		require.Equal(t, want, (&load{bytes: bytes}).sizes())
	}
}

func TestParseReport(t *testing.T) {
	report := `{"cost":{"snapshots_sent":1000,"cpu_us_per_snapshot":50,"cores":0.05,"packets_per_snapshot":3,"bytes_per_snapshot":900.4,"resident_bytes":9000000}}`
	l := load{clients: 50, hz: 20}
	r := must.Get(parseReport([]byte(report), 4_000_000, &l))
	require.Equal(t, result{Snapshots: 1000, CPUMicrosPerSnap: 50, PacketsPerSnapshot: 3, KBPerClient: 100, Cores: 0.05}, r)
	require.Equal(t, 900, l.bytes)

	l.hz = 30
	require.ErrorContains(t, must.Fail(parseReport([]byte(report), 0, &l)), "20.0 snapshots per second")
	require.ErrorContains(t, must.Fail(parseReport([]byte(`{"cost":null}`), 0, &l)), "no costs")
}

func TestWrite(t *testing.T) {
	var b bytes.Buffer
	worldd := result{CPUMicrosPerSnap: 60}
	require.NoError(t, write(&b, load{clients: 5, hz: 20, bytes: 900}, result{CPUMicrosPerSnap: 50}, &worldd, false))
	require.Contains(t, b.String(), "worldd / bare: 1.20")
	b.Reset()
	require.NoError(t, write(&b, load{}, result{}, nil, true))
	require.Contains(t, b.String(), `"worldd":null`)
}
