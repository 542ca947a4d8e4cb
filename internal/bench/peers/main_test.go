//go:build linux

package main

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/internal/shorttest"
)

// TestMain runs a child if a test starts its own program as one.
func TestMain(m *testing.M) {
	if slices.ContainsFunc(os.Args, func(a string) bool { return strings.HasPrefix(a, "-clock=") }) {
		main()
		return
	}
	os.Exit(m.Run())
}

// Each peer serves three clients, with about 200 entities in view; quic has none.
func TestPeers(t *testing.T) {
	shorttest.Skip(t, "some seconds")
	for _, p := range peers {
		t.Run(p.name, func(t *testing.T) {
			m := must.Get((&bench{}).measure(t.Context(), p, load{clients: 3, seconds: 1}))
			if m.client.Slowest == 0 || m.server.Allocs == 0 { // the machine is short of time
				m = must.Get((&bench{}).measure(t.Context(), p, load{clients: 3, seconds: 5}))
			}
			require.Positive(t, m.client.Updates)
			for _, c := range slices.Concat(costs, causes) {
				if !p.bare || c.name != "rows" && c.name != "known" {
					require.Positive(t, c.value(&m), c.name)
				}
			}
			if !p.bare {
				require.InDelta(t, 200, m.perUpdate(float64(m.client.Known)), 100)
			}
			require.Greater(t, m.traffic.bytes, int64(m.client.Payload))
		})
	}
}

// run10 is a measurement of 1,000 updates in 5 s to 10 clients.
func run10() measurement {
	ms := time.Millisecond
	return measurement{
		clients: 10,
		server:  serverResult{usage{CPU: 100 * ms, Switches: 1500, Allocs: 12_000}, 30e6},
		client: clientsResult{
			usage: usage{CPU: 40 * ms, Switches: 2500, Allocs: 7000}, Seconds: 5, Updates: 1000,
			Rows: 25_000, Known: 230_000, Payload: 200_000, Slowest: 19,
			Latency: [2]time.Duration{3 * ms, 8 * ms}, Age: [2]time.Duration{28 * ms, 57 * ms},
		},
		traffic: traffic{packets: 3000, bytes: 450_000},
	}
}

func TestTables(t *testing.T) {
	var b bytes.Buffer
	p := must.Get(peersNamed("delta, worldd"))
	require.NoError(t, writeTables(&b, load{clients: 10, seconds: 5, rounds: 1}, p, map[string][]measurement{"worldd": {run10()}}))
	words := strings.Fields(b.String())
	require.NotContains(t, words, "delta", "it was not measured")
	first := slices.Index(words, "worldd") + 1
	require.Equal(t, strings.Fields("100.0 40.0 4.00 9.00 60.0 3.0 8.0 28 57 30 20.00"), words[first:first+len(costs)])
	require.Equal(t, strings.Fields("12.0 7.0 1.50 2.50 25.0 230.0 19.00"), words[len(words)-len(causes):])
	require.ErrorContains(t, must.Fail(peersNamed("worldd,other")), "delta-tls")
}

func TestMedian(t *testing.T) {
	runs := []measurement{run10(), run10(), run10(), run10()}
	runs[0].server.CPU, runs[2].server.CPU = 900*time.Millisecond, 50*time.Millisecond
	require.EqualValues(t, 100, costs[0].median(runs[:3]))
	runs[3].server.CPU = 60 * time.Millisecond
	require.EqualValues(t, 80, costs[0].median(runs))
}

func TestLoadIsChecked(t *testing.T) {
	require.NoError(t, (&load{clients: 1, seconds: 1, rounds: 1}).validate())
	bad := load{loss: 100, rtt: -1}
	for _, flag := range []string{"-clients", "-seconds", "-rounds", "-loss", "-rtt"} {
		require.ErrorContains(t, bad.validate(), flag)
	}
}

// The newest state aged from 10 to 60 ms, and then from 20 to 70 ms. For 95 % of the time its
// age was below 65 ms.
func TestAge(t *testing.T) {
	ms := time.Millisecond
	m := meter{last: 100 * ms, newest: 90 * ms}
	m.grow(150 * ms)
	m.newest = 130 * ms
	m.grow(200 * ms)
	require.Equal(t, []span{{10 * ms, 60 * ms}, {20 * ms, 70 * ms}}, m.ages)
	require.InDelta(t, 65*ms, quantileOfSpans(m.ages, 0.95), float64(ms)/100)
	require.InDelta(t, 40*ms, quantileOfSpans(m.ages, 0.5), float64(ms)/100)
	require.Zero(t, quantileOfSpans(nil, 0.5))
}

// A client that applies three updates at once has waited for each since its tick.
func TestUpdatesAtOnce(t *testing.T) {
	clock := must.Get(openClock(filepath.Join(t.TempDir(), "clock")))
	for i := range 10 {
		clock.ticks[i].Store(int64(i+1) * 1000)
	}
	m := &meter{clock: clock, step: 3}
	m.begin(now())
	m.update(9, 230, total{updates: 3, rows: 60})
	require.Len(t, m.latencies, 3)
	require.EqualValues(t, 3000, m.latencies[1]-m.latencies[0])
	require.EqualValues(t, 6000, m.latencies[2]-m.latencies[0])
	r := endAll([]*meter{m}, now()-time.Second)
	require.Equal(t, 3, r.Updates)
	require.Equal(t, 690, r.Known)
	require.EqualValues(t, 60, r.Rows)
	require.Len(t, m.ages, 1)
}

func TestQuantile(t *testing.T) {
	require.Zero(t, quantile(nil, 0.99))
	require.EqualValues(t, 3, quantile([]time.Duration{1, 2, 3, 4}, 0.5))
	require.EqualValues(t, 4, quantile([]time.Duration{1, 2, 3, 4}, 1))
}

func TestCounter(t *testing.T) {
	const text = "Ip: Forwarding InReceives\nIp: 1 42\nTcp: InSegs OutSegs\nTcp: 7 -8\n"
	n := must.Get(counter(text, "Tcp", "OutSegs"))
	require.EqualValues(t, -8, n)
	n = must.Get(counter(text, "Ip", "InReceives"))
	require.EqualValues(t, 42, n)
	require.ErrorContains(t, must.Fail(counter(text, "Udp", "InDatagrams")), "Udp.InDatagrams")
}

// A client of delta knows what its viewer in the game sees, with and without quantised fields.
func TestDelta(t *testing.T) {
	for name, quantised := range map[string]bool{"floats": false, "quantised": true} {
		t.Run(name, func(t *testing.T) {
			g := newGame(updateHz)
			v := g.join()
			seen := newDeltaView(quantised)
			precision := map[bool]float64{false: 0, true: positionUnit / 2}[quantised]
			for range 200 {
				require.NoError(t, g.step(encodeDelta(quantised)))
				u := must.Get(seen.decode(<-v.out))
				require.Equal(t, g.tick, u.tick)
				require.Len(t, seen.entities, len(v.known))
				for e := range v.known {
					got := seen.entities[e.id]
					require.NotNil(t, got)
					require.Equal(t, uint8(e.kind), got.kind)
					for i := range e.at {
						require.InDelta(t, e.at[i], got.at[i], precision)
					}
				}
			}
			require.Greater(t, int(g.newest)-resting-walkers, 1000, "sparks")
			require.Less(t, len(g.movers), walkers+2*sparkRate, "they end")
		})
	}
}

// A client that does not read misses nothing: the next update contains all changes since the
// last.
func TestDeltaToSlowClient(t *testing.T) {
	g := newGame(updateHz)
	v := g.join()
	for range maxUnsent + 20 {
		require.NoError(t, g.step(encodeDelta(false)))
	}
	seen := newDeltaView(false)
	for range maxUnsent {
		must.Get(seen.decode(<-v.out))
	}
	require.NoError(t, g.step(encodeDelta(false)))
	must.Get(seen.decode(<-v.out))
	for e := range v.known {
		require.Equal(t, e.at, seen.entities[e.id].at)
	}
}

func TestFull(t *testing.T) {
	g := newGame(updateHz)
	v := g.join()
	require.NoError(t, g.step(encodeFull))
	var seen fullView
	u := must.Get(seen.decode(<-v.out))
	in := 0
	for range g.near(v.avatar.at, enterRadius) {
		in++
	}
	require.Equal(t, update{tick: 1, rows: in, known: in}, u)
	g.leave(v)
	require.NoError(t, g.step(encodeFull))
	require.True(t, v.avatar.dead)
}
